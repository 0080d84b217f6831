"""``show``: one session's chain of calls as text."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import click

from loopguard_console.commands.sessions import session_json
from loopguard_console.guards import guard_of
from loopguard_console.liveness import liveness
from loopguard_console.output import emit, json_option, say
from loopguard_console.render import clock, pad, preview, safe, span, tier_letter
from loopguard_console.stores import Options, find_session, reading
from loopguard_core.calls import Row, StoreEvents
from loopguard_core.events import Event
from loopguard_core.replay import Recording
from loopguard_core.store.contract import Session, Store

_HUMAN = {
    "user_message": "you: ",
    "turn_start": "turn: ",
    "grant": "granted ",
    "revoke": "revoked ",
    "reset": "reset ",
    "halt": "halted ",
    "resume": "resumed",
    "gap": "events lost: ",
    "note": "note: ",
    "session_end": "session ended ",
}
_SAYS = {
    "grant": ("scope", "key"),
    "revoke": ("grant",),
    "reset": ("scope", "key"),
    "halt": ("scope", "note"),
    "gap": ("count", "reason"),
    "turn_start": ("reason",),
    "session_end": ("reason",),
}


@click.command()
@click.argument("session", metavar="SESSION")
@click.option("--last", type=click.IntRange(min=1), help="Only the last N calls.")
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
        recording = recording_of(store, found.session)
        first = 0 if last is None else max(0, len(recording) - last)
        if as_json:
            for index in range(first, len(recording)):
                emit(_call_json(recording, index))
            return
        _head(found, recording)
        for line in _lines(recording, first, unfold):
            say(line)


def recording_of(store: Store, session: str) -> Recording:
    """A stored session, folded."""
    events = store.read(session)
    opening = next((e for e in events if e.type == "session_start"), None)
    recording = Recording(guard_of(opening, unique=True), StoreEvents(store, session))
    recording.append(events)
    return recording


def _head(session: Session, recording: Recording) -> None:
    facts = session_json(session, liveness(session, time.time(), os.uname().nodename))
    start = recording.start.data if recording.start is not None else {}
    guard = f"{start.get('policy') or recording.guard.policy.name}, {recording.guard.mode}"
    say(f"{session.name or session.session}  {session.agent}  {facts['state']}  {session.cwd}")
    waits = f"  {session.waiting} waiting" if session.waiting else ""
    lost = f"  {recording.lost} events lost" if recording.lost else ""
    say(f"{len(recording)} calls  worst {recording.worst.word}  guard {guard}{waits}{lost}")


def _lines(recording: Recording, first: int, unfold: bool) -> Iterator[str]:
    marks = iter([m for m in recording.marks if m.event.type in _HUMAN and m.row >= first])
    mark = next(marks, None)
    index = first
    while index < len(recording) or mark is not None:
        if mark is not None and mark.row <= index:
            yield f"      {_mark(mark.event)}"
            mark = next(marks, None)
            continue
        stop = len(recording) if mark is None else mark.row
        end = index + 1
        while not unfold and end < stop and recording.keys[end] == recording.keys[index]:
            end += 1
        yield _run(recording, index, end)
        index = end


def _run(recording: Recording, first: int, end: int) -> str:
    rows = [recording.row(index) for index in range(first, end)]
    number = str(rows[0].number) if len(rows) == 1 else f"{rows[0].number}-{rows[-1].number}"
    call = f"{safe(rows[0].tool, 24) or '(no name)'}({preview(recording.args(first), 40)})"
    times = f"x{len(rows)}" if len(rows) > 1 else ""
    outcomes = "/".join(dict.fromkeys(row.outcome for row in rows))
    return "  ".join(
        (
            pad(number, 9, right=True),
            clock(rows[-1].ts),
            pad(f"{call} {times}".rstrip(), 58),
            pad(outcomes, 8),
            pad(span(rows[-1].duration), 6, right=True),
            _tiers(rows),
        )
    ).rstrip()


def _tiers(rows: list[Row]) -> str:
    letters = "".join(tier_letter(row.tier) for row in rows)
    if len(letters) > 12:
        letters = f"{letters[:3]}…{letters[-8:]}"
    released = sum(row.released for row in rows)
    return f"{letters.strip('·')}{f' {released} released' if released else ''}"


def _mark(event: Event) -> str:
    fields = _SAYS.get(event.type, ("text",))
    said = " ".join(safe(event.data[f], 60) for f in fields if event.data.get(f))
    return f"{_HUMAN[event.type]}{said}"


def _call_json(recording: Recording, index: int) -> dict[str, Any]:
    row = recording.row(index)
    start, end = recording.events_of(index)
    before, after = recording.verdicts(index)
    return {
        "number": row.number,
        "seq": row.start_seq,
        "ts": row.ts,
        "call": start.text("call") if start else "",
        "tool": row.tool,
        "args": start.data.get("args") if start else None,
        "message": start.text("message") if start else "",
        "outcome": row.outcome,
        "result": end.data.get("result") if end else None,
        "duration": row.duration,
        "turn": row.turn,
        "in_window": row.count,
        "before": before.to_json() if before else None,
        "after": after.to_json() if after else None,
        "cause": row.cause,
        "released": row.released,
    }
