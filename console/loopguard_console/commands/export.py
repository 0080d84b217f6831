"""``export``: sessions of the store as JSON Lines."""

from __future__ import annotations

from pathlib import Path

import click

from loopguard_console.errors import Failure
from loopguard_console.files import write_new
from loopguard_console.output import emit, json_option, say
from loopguard_console.progress import watched
from loopguard_console.stores import Options, find_session, reading
from loopguard_core.store.export import export_lines


@click.command()
@click.argument("sessions", metavar="[SESSION...]", nargs=-1)
@click.option("--out", "-o", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option("--force", is_flag=True, help="Replace FILE where it exists.")
@json_option
@click.pass_obj
def export(
    options: Options, sessions: tuple[str, ...], out: str | None, force: bool, as_json: bool
) -> None:
    """Write sessions as JSON Lines, one event a line; all sessions where none is named.

    open, judge, compare and import read it again without loss. What was redacted stays redacted.
    """
    with reading(options) as store:
        named = [find_session(store, name).session for name in sessions]
        if store is None:
            raise Failure("nothing was recorded yet, so there is nothing to export")
        lines = watched(export_lines(store, named), "export")
        if out is None:
            for line in lines:
                click.echo(line, nl=False)
            return
        events = write_new(Path(out), lines, force=force)
    if as_json:
        emit({"file": out, "events": events})
    else:
        say(f"{events} events written to {out}")
