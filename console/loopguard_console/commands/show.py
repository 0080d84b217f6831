"""``show``: one session's chain of calls as text."""

from __future__ import annotations

import os
import time

import click

from loopguard_console.chains import call_json, chain_lines, stored_recording
from loopguard_console.commands.sessions import session_json
from loopguard_console.liveness import liveness
from loopguard_console.output import emit, json_option, room, say
from loopguard_console.parameters import Whole
from loopguard_console.render import counted
from loopguard_console.stores import Options, find_session, reading
from loopguard_core.recording.replay import Recording
from loopguard_core.store.contract import Session, whose


@click.command()
@click.argument("session", metavar="SESSION")
@click.option("--last", metavar="N", type=Whole(min=1), help="Only the last N calls.")
@click.option("--unfold", is_flag=True, help="Every call on a line of its own.")
@json_option
@click.pass_obj
def show(options: Options, session: str, last: int | None, unfold: bool, as_json: bool) -> None:
    """Show the calls of a session: what was called, how it ended, what the guard said.

    SESSION is a session's id, its name, or the beginning of one. Equal calls in a row are one line
    with their number; W, B and H mark a warning, a block and a halt.
    """
    with reading(options) as store:
        found = find_session(store, session)
        assert store is not None  # an empty store has no session to find
        recording = stored_recording(store, found.session)
        first = 0 if last is None else max(0, len(recording) - last)
        if as_json:
            for index in range(first, len(recording)):
                emit(call_json(recording, index))
            return
        _head(found, recording)
        for line in chain_lines(recording, first, unfold=unfold, room=room()):
            say(line)


def _head(session: Session, recording: Recording) -> None:
    facts = session_json(session, liveness(session, time.time(), os.uname().nodename))
    start = recording.start.data if recording.start is not None else {}
    guard = f"{start.get('policy') or recording.guard.policy.name}, {recording.guard.mode}"
    name = session.name or session.session
    parts = (name, session.agent, facts["state"], whose(session), session.cwd)
    say("  ".join(part for part in parts if part))
    waits = f"  {session.waiting} waiting" if session.waiting else ""
    lost = f"  {counted(recording.lost, 'event')} missing" if recording.lost else ""
    odd = f"  {counted(recording.odd, 'event')} without sense" if recording.odd else ""
    say(
        f"{counted(len(recording), 'call')}  worst {recording.worst.word}  guard {guard}{waits}{lost}{odd}"
    )
