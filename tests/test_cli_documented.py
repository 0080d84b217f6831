"""Every command has help, stands in the manual with all of its options, and speaks JSON."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from commands import command
from loopguard_console.cli import COMMANDS, cli

MANUAL = (Path(__file__).parents[1] / "docs" / "cli.md").read_text()
#: what runs something else, or writes another program's files
SPEAKS_ITS_OWN = {"install", "uninstall", "run", "watch", "mcp-proxy", "sidecar"}


def loaded(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    assert isinstance(found, click.Command)
    return found


def section(name: str) -> str:
    """The part of the manual about a command."""
    heads = [part for part in MANUAL.split("\n### ") if f"`{name}" in part.partition("\n")[0]]
    assert len(heads) == 1, f"docs/cli.md has no section on {name}"
    return heads[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    done = command(None, name, "--help")
    assert done.code == 0
    first = (loaded(name).help or "").strip().partition("\n")[0]
    assert first.endswith(".") and len(first) < 100
    for parameter in loaded(name).params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name}: {parameter.name} has no help"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_stands_in_the_manual(name: str) -> None:
    text = section(name)
    for parameter in loaded(name).params:
        if isinstance(parameter, click.Option) and parameter.name != "as_json":
            longest = max(parameter.opts, key=len)
            assert longest in text, f"docs/cli.md does not say what {name} {longest} does"


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - SPEAKS_ITS_OWN))
def test_every_command_speaks_json(name: str) -> None:
    assert any("--json" in p.opts for p in loaded(name).params if isinstance(p, click.Option))


def test_the_manual_names_no_command_that_is_not_there() -> None:
    import re

    named = {
        w
        for line in re.findall(r"^### (.+)$", MANUAL, re.M)
        for w in re.findall(r"`([a-z-]+)", line)
    }
    assert named == set(COMMANDS)


def test_a_wrong_command_is_said_with_what_to_do() -> None:
    done = command(None, "aprove", "R1")
    assert done.code == 2
    assert "did you mean approve?" in done.err
    assert (done.out, done.err.count("\n")) == ("", 1)
    for args in (["judge"], ["judge", "-", "--wrong"], ["override", "R1", "--calls", "none"]):
        done = command(None, *args)
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert f"see loopguard-console {args[0]} --help" in done.err
