"""``install`` and ``uninstall``: connect a command-line agent, or let it go."""

from __future__ import annotations

import contextlib
import dataclasses

import click

from loopguard_console.errors import Refused
from loopguard_console.install import INSTALLERS, installer
from loopguard_console.install.base import Installer, Place
from loopguard_console.install.files import Change, carry_out
from loopguard_console.render import safe


def _scope(function: click.decorators.FC) -> click.decorators.FC:
    for scope, help_text in (
        ("local", "In this folder, in the agent's file that is not shared."),
        ("project", "In this folder, for everyone who works in it."),
        ("user", "For all of your projects (the default)."),
    ):
        function = click.option(
            f"--{scope}", "scopes", flag_value=scope, multiple=True, help=help_text
        )(function)
    return function


def _find(agent: str, scopes: tuple[str, ...], store: str | None) -> tuple[Installer, Place]:
    if agent not in INSTALLERS:
        near = [name for name in INSTALLERS if agent and name.startswith(agent)]
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(INSTALLERS)}"
        raise Refused(f"no agent is called {safe(agent, 40)}: {hint}")
    if len(set(scopes)) > 1:
        raise Refused("only one of --user, --project and --local")
    return installer(agent), Place.here(scopes[0] if scopes else "user", store or "")


def _carried_out(changes: list[Change], dry_run: bool, nothing: str) -> bool:
    """Do what was planned, or show it; whether anything was done. *nothing* is said where nothing is to do."""
    if dry_run:
        for change in changes:
            click.echo(safe(change.diff(), lines=True))
    elif not changes:
        click.echo(nothing)
    else:
        for change in changes:
            carry_out(change)
        return True
    return False


@click.command()
@click.argument("agent", metavar="AGENT")
@_scope
@click.option("--dry-run", is_flag=True, help="Show what would change and change nothing.")
@click.pass_obj
def install(obj: dict[str, str | None], agent: str, scopes: tuple[str, ...], dry_run: bool) -> None:
    """Connect AGENT: write our hook into its own configuration, keeping everything else in it.

    AGENT is claude-code, codex, gemini, copilot, opencode or hermes. An agent that you write yourself needs
    no installing: it imports the shim, or a framework's adapter (docs/agents.md).
    """
    found, place = _find(agent, scopes, obj.get("store"))
    changes = found.install(place)
    if _carried_out(changes, dry_run, f"{agent} is connected already."):
        click.echo(f"{agent} is connected: {safe(str(changes[-1].path))}")
        for hint in found.hints:
            click.echo(hint)


@click.command()
@click.argument("agent", metavar="AGENT")
@_scope
@click.option("--dry-run", is_flag=True, help="Show what would change and change nothing.")
@click.pass_obj
def uninstall(
    obj: dict[str, str | None], agent: str, scopes: tuple[str, ...], dry_run: bool
) -> None:
    """Let AGENT go: take our hook out of its configuration and leave the rest as it was.

    AGENT is claude-code, codex, gemini, copilot, opencode or hermes. Say --project or --local where you did
    so when you installed it.
    """
    found, place = _find(agent, scopes, obj.get("store"))
    changes = found.uninstall(place)
    if _carried_out(changes, dry_run, f"{agent} is not connected there (--{place.scope})."):
        click.echo(f"{agent} is not connected any more: {safe(str(changes[0].path))}")
    for scope in _connected_elsewhere(found, place):
        again = f"loopguard-console uninstall {agent} --{scope}"
        click.echo(f"{agent} is still connected with --{scope}: {again} lets it go there, too")


def _connected_elsewhere(found: Installer, place: Place) -> list[str]:
    """The other scopes in which the agent starts our hook, seen from this folder."""
    connected = []
    for scope in found.scopes:
        with contextlib.suppress(
            Refused, OSError
        ):  # what is wrong with that file is not asked about
            if scope != place.scope and found.check(dataclasses.replace(place, scope=scope)):
                connected.append(scope)
    return connected
