"""``run``: start an agent that is connected for this one run."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from loopguard_console.errors import Failure
from loopguard_console.install.base import Place
from loopguard_console.output import remark
from loopguard_console.stores import Options, place_of
from loopguard_console.wiring import wire
from loopguard_core.config import load_or_default
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import ENVIRONMENT
from loopguard_core.urls import has_secret, in_full


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument(
    "command", metavar="-- AGENT COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED
)
@click.option("--quiet", is_flag=True, help="Say nothing of one's own.")
@click.pass_obj
def run(options: Options, command: tuple[str, ...], quiet: bool) -> None:
    """Start an agent in this terminal, connected for this one run.

    AGENT COMMAND is what you would type: claude, codex, copilot or opencode with their options, or a program
    that uses the shim. Gemini CLI and Hermes Agent need install instead. The agent's configuration stays as
    it is. Open loopguard-console in another terminal.
    """
    if shutil.which(command[0]) is None:
        raise Failure(f"{command[0]} cannot be started: No such file or directory")
    named = options.get("store") or ""
    config = load_or_default("", lambda line: remark(f"loopguard: {line}"))
    place = place_of({"store": named or config.store})
    # A password goes by the environment alone, never by a command line.
    wired = wire(command, Place.here("user", place if named and not has_secret(place) else ""))
    open_store(place).close()
    if wired.left_out:
        remark(f"loopguard: {wired.left_out}")
    elif not quiet:
        store = f" --store {place}" if named else ""
        remark(f"loopguard: {wired.agent} is guarded; watch it with: loopguard-console{store}")
    env = {**os.environ, **wired.env}
    if named:
        env[ENVIRONMENT] = in_full(place)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvpe(wired.argv[0], wired.argv, env)
    except OSError as error:
        raise Failure(f"{Path(wired.argv[0])} cannot be started: {error.strerror}") from None
