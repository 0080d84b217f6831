"""``export``: sessions of the store as JSON Lines, reports or tests."""

from __future__ import annotations

from pathlib import Path

import click

from loopguard_console.errors import Failure, Refused
from loopguard_console.exporting import KINDS, ExportError
from loopguard_console.exporting import export as write_out
from loopguard_console.files import write_new
from loopguard_console.output import emit, json_option, say
from loopguard_console.progress import watched
from loopguard_console.render import safe
from loopguard_console.stores import Options, find_session, reading
from loopguard_core.store.export import export_lines


@click.command()
@click.argument("sessions", metavar="[SESSION...]", nargs=-1)
@click.option("--out", "-o", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option("--force", is_flag=True, help="Replace FILE where it exists.")
@click.option(
    "--as",
    "kind",
    type=click.Choice(KINDS),
    default="jsonl",
    show_default=True,
    help="What to write of each session; all but jsonl go into the folder --out.",
)
@json_option
@click.pass_obj
def export(
    options: Options,
    sessions: tuple[str, ...],
    out: str | None,
    force: bool,
    kind: str,
    as_json: bool,
) -> None:
    """Write sessions as JSON Lines, one event a line; all sessions where none is named.

    open, judge, compare and import read it again without loss. What was redacted stays redacted. Reports
    (html, markdown) are for people; a test is a pytest file with a small recording that fails while
    the guard does not catch this loop.
    """
    if kind != "jsonl":
        _reports(options, sessions, kind, Path(out or "."), as_json)
        return
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


def _reports(
    options: Options, sessions: tuple[str, ...], kind: str, folder: Path, as_json: bool
) -> None:
    """One report or test for each session."""
    from loopguard_console.chains import stored_recording

    if not folder.is_dir():
        raise Refused(f"{folder}: no such folder to write to")
    with reading(options) as store:
        if store is None:
            raise Failure("nothing was recorded yet, so there is nothing to export")
        names = sessions or tuple(s.session for s in store.sessions())
        for name in names:
            recording = stored_recording(store, find_session(store, name).session)
            try:
                files = write_out(recording, kind, folder)
            except ExportError as error:
                raise Failure(str(error)) from None
            if as_json:
                emit({"session": recording.session, "files": [str(f) for f in files]})
            else:
                say(f"written: {safe(str(files[0]))}")
