"""``report``: a session for people who were not there, or as a test."""

from __future__ import annotations

from pathlib import Path

import click

from loopguard_console.chains import recordings_of
from loopguard_console.errors import Refused
from loopguard_console.files import write_new
from loopguard_console.output import emit, json_option, say
from loopguard_console.policies import choose
from loopguard_console.reports.incident import Incident, incident
from loopguard_console.reports.markdown import markdown
from loopguard_console.reports.page import page
from loopguard_console.reports.regression import regression
from loopguard_console.stores import Options
from loopguard_console.targets import target_events, unjudged
from loopguard_core.events import Event, expand
from loopguard_core.replay import Recording

_KINDS = ("markdown", "html", "test")


@click.command()
@click.argument("target", metavar="PATH|SESSION")
@click.option(
    "--as",
    "kind",
    type=click.Choice(_KINDS),
    default="markdown",
    show_default=True,
    help="Text for an issue, a page of its own, or a test that the loop is caught.",
)
@click.option("--call", type=int, help="The call to tell of (default: where it is worst).")
@click.option("--session", "named", default="", help="Which session, where the file holds several.")
@click.option("--policy", "name", default="", help="Judge every call anew with this policy.")
@click.option("--out", "-o", metavar="FILE|FOLDER", help="Where to write; a test needs a folder.")
@click.option("--force", is_flag=True, help="Replace what is there.")
@json_option
@click.pass_obj
def report(
    options: Options,
    target: str,
    kind: str,
    call: int | None,
    named: str,
    name: str,
    out: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Tell what went wrong in a session: the chain, the window, the call and why it was stopped.

    As a test, a pytest file and a small recording are written to a folder: the test fails while the guard
    does not stop this loop by the call that you name. Look at the recording before you share it: the
    arguments and results in it are the agent's.
    """
    events = [event for _, event in expand(target_events(options, target))]
    settings = choose(name) if name else None
    judged = map(unjudged, events) if settings is not None else events
    recording = _pick(recordings_of(judged, settings), named)
    found = incident(recording, call)
    files = _files(found, kind, out, events)
    if out is None:
        click.echo(next(iter(files.values())), nl=False)
        return
    for path, text in files.items():
        write_new(path, [text], force=force)
        emit({"file": str(path), "call": found.number}) if as_json else say(f"written: {path}")


def _files(found: Incident, kind: str, out: str | None, events: list[Event]) -> dict[Path, str]:
    """What is to be written where."""
    if kind == "test":
        if out is None:
            raise Refused("a test is two files: say which folder with --out FOLDER")
        folder = Path(out)
        if not folder.is_dir():
            raise Refused(f"{out}: no such folder")
        return {folder / name: text for name, text in regression(found, events).items()}
    return {Path(out or "-"): markdown(found) if kind == "markdown" else page(found)}


def _pick(recordings: list[Recording], named: str) -> Recording:
    """The session that is meant: the named one, else the one with the strongest verdict."""
    for recording in recordings:
        if named and recording.session == named:
            return recording
    if named:
        known = ", ".join(r.session for r in recordings[:5])
        raise Refused(f"there is no session {named} in it; there are {known}")
    if not recordings:
        raise Refused("there is no session in it")
    return max(recordings, key=lambda r: (int(r.worst), len(r)))
