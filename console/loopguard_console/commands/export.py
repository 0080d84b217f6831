"""``export``: sessions as JSON Lines, reports or tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from loopguard_console.chains import recordings_of, stored_recording
from loopguard_console.errors import Failure, Refused
from loopguard_console.exporting import KINDS, ExportError
from loopguard_console.exporting import export as write_out
from loopguard_console.files import write_new
from loopguard_console.output import emit, json_option, say
from loopguard_console.progress import watched
from loopguard_console.render import counted
from loopguard_console.stores import Options, find_session, reading
from loopguard_console.targets import is_session, target_events
from loopguard_core.events import encode
from loopguard_core.recording.replay import Recording
from loopguard_core.store.export import export_lines


@click.command()
@click.argument("targets", metavar="[SESSION|PATH...]", nargs=-1)
@click.option(
    "--out", "-o", metavar="FILE|FOLDER", help="Where to write; a folder for all but jsonl."
)
@click.option("--force", is_flag=True, help="Replace FILE where it exists.")
@click.option(
    "--as",
    "kind",
    type=click.Choice(KINDS),
    default="jsonl",
    show_default=True,
    help="Our events, a report for people, or a test.",
)
@json_option
@click.pass_obj
def export(
    options: Options,
    targets: tuple[str, ...],
    out: str | None,
    force: bool,
    kind: str,
    as_json: bool,
) -> None:
    """Write sessions as JSON Lines, one event a line; all of the store where none is named.

    A recording or transcript can be named as well. open, judge, compare and import read the lines again
    without loss; what was redacted stays redacted. Reports (html, markdown) are for people. A test is a
    pytest file with a small recording that fails while the guard does not catch this loop.
    """
    targets = tuple(dict.fromkeys(targets))
    if kind != "jsonl":
        _reports(options, targets, kind, Path(out or "."), as_json)
        return
    lines = watched(_lines(options, targets), "export")
    if out is None:
        for line in lines:
            click.echo(line, nl=False)
        return
    events = write_new(Path(out), lines, force=force)
    if as_json:
        emit({"file": out, "events": events})
    else:
        say(f"{counted(events, 'event')} written to {out}")


def _lines(options: Options, targets: tuple[str, ...]) -> Iterator[str]:
    if not targets:
        with reading(options) as store:
            if store is None:
                raise Failure("nothing was recorded yet, so there is nothing to export")
            yield from export_lines(store)
    for target in targets:
        if is_session(options, target):
            with reading(options) as store:
                session = find_session(store, target).session
                if store is not None:
                    yield from export_lines(store, [session])
        else:
            yield from (encode(event) + "\n" for event in target_events(options, target))


def _reports(
    options: Options, targets: tuple[str, ...], kind: str, folder: Path, as_json: bool
) -> None:
    """One report or test for each session."""
    if not folder.is_dir():
        wrong = (
            "a file; name a folder"
            if folder.exists()
            else "no such folder; make it, or name another one"
        )
        raise Refused(f"{folder}: {wrong}")
    for recording in _recordings(options, targets):
        try:
            files = write_out(recording, kind, folder)
        except ExportError as error:
            raise Failure(str(error)) from None
        if as_json:
            emit({"session": recording.session, "files": [str(f) for f in files]})
        else:
            odd = counted(recording.odd, "event") if kind == "test" and recording.odd else ""
            say(f"written: {files[0]}" + f"; {odd} without sense left out" * bool(odd))


def _recordings(options: Options, targets: tuple[str, ...]) -> Iterator[Recording]:
    for target in targets:
        if not is_session(options, target):
            yield from recordings_of(target_events(options, target))
    named = [target for target in targets if is_session(options, target)]
    if targets and not named:
        return
    with reading(options) as store:
        if store is None:
            raise Failure("nothing was recorded yet, so there is nothing to export")
        for name in named or [s.session for s in store.sessions()]:
            yield stored_recording(store, find_session(store, name).session)
