"""A session's chain of calls as text and as JSON, from a store or from a recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from loopguard_console.guards import guard_of
from loopguard_console.inspector.marks import gap_words, grant_words, reset_words
from loopguard_console.render import clock, cut, in_lines, pad, preview, safe, span, tier_letter
from loopguard_core.config import Config
from loopguard_core.events import Event, expand
from loopguard_core.recording.calls import Asked, Row, StoreEvents
from loopguard_core.recording.replay import Recording
from loopguard_core.store.contract import Store

if TYPE_CHECKING:
    from loopguard_core.policies.options import Tell

_LATE = {"grant": "approved late", "revoke": "denied late"}
_HUMAN = {
    "user_message": "you: ",
    "turn_start": "turn: ",
    "grant": "granted ",
    "revoke": "revoked ",
    "reset": "reset ",
    "halt": "halted ",
    "resume": "resumed",
    "gap": "",
    "note": "note: ",
    "session_end": "session ended: ",
}
#: cells for how a call stands, where that takes no more
_STANDS = 10
#: cells for a call, and what stands beside it in a line, a run's tiers included
_WIDEST, _NARROWEST, _BESIDE = 58, 24, 55
#: where a call stands in its line, and below it what did not fit
_BELOW = 21
_WORDS = {"grant": grant_words, "reset": reset_words}
_SAYS = {
    "revoke": ("grant",),
    "halt": ("scope",),
    "turn_start": ("reason",),
    "session_end": ("reason",),
}


def stored_recording(store: Store, session: str) -> Recording:
    """A stored session, folded."""
    lean = store.read_all(session, payloads=False)
    opening = next((e for e in lean if e.type == "session_start"), None)
    recording = Recording(guard_of(opening), StoreEvents(store, session))
    recording.append(store.read_all(session))
    return recording


def chain_lines(
    recording: Recording, first: int = 0, *, unfold: bool = False, room: int = 0
) -> Iterator[str]:
    """The chain from call *first* on, one line a call or run; equal calls in a row fold.

    A call that waits for a person, or about which one decided, stands alone, and calls that an override let
    run stand apart from others. A line fits into *room* cells, where that is given: the call is cut, and who
    decided stands below.
    """
    marks = iter([m for m in recording.marks if m.event.type in _HUMAN and m.row >= first])
    mark = next(marks, None)
    waits = {asked.row: asked.request for asked in recording.pending_at(recording.seq)}
    apart = recording.decided.keys() | waits.keys()
    index = first
    while index < len(recording) or mark is not None:
        if mark is not None and mark.row <= index:
            yield from in_lines(f"      {_mark(mark.event)}", room, indent=8)
            mark = next(marks, None)
            continue
        stop = len(recording) if mark is None else mark.row
        end = index + 1
        while not unfold and end < stop and recording.keys[end] == recording.keys[index]:
            if {index, end} & apart or recording.released(end) != recording.released(index):
                break
            end += 1
        yield from _run(recording, index, end, waits, room)
        index = end


def _run(
    recording: Recording, first: int, end: int, waits: Mapping[int, str], room: int
) -> Iterator[str]:
    rows = [recording.row(index) for index in range(first, end)]
    number = str(rows[0].number) if len(rows) == 1 else f"{rows[0].number}-{rows[-1].number}"
    times = f" x{len(rows)}" if len(rows) > 1 else ""
    wide = max(_NARROWEST, min(_WIDEST, room - _BESIDE)) if room else _WIDEST
    call = f"{safe(rows[0].tool, 24) or '(no name)'}({preview(recording.args(first), 40)})"
    stands = safe(
        f"waits {waits[first]}"
        if first in waits
        else "/".join(dict.fromkeys(r.outcome for r in rows))
    )
    wide = max(_NARROWEST, wide - max(0, cell_len(stands) - _STANDS))
    took = span(rows[0].duration) if len(rows) == 1 else ""
    line = "  ".join(
        (
            pad(number, 9, right=True),
            clock(rows[0].ts),
            pad(f"{cut(call, wide - len(times))}{times}", wide),
            pad(stands, max(_STANDS, cell_len(stands))),
            pad(took, 6, right=True),
            _tiers(rows),
        )
    ).rstrip()
    let = sum(row.released for row in rows)
    more = [f"{let} released"] if let else []
    more += [said] if (said := _decision(recording.asked_at.get(first))) else []
    if room and more and cell_len("  ".join((line, *more))) > room:
        yield line
        yield f"{' ' * _BELOW}{'  '.join(more)}"
    else:
        yield "  ".join((line, *more))


def _tiers(rows: list[Row]) -> str:
    letters = "".join(tier_letter(row.tier) for row in rows)
    if len(letters) > 12:
        letters = f"{letters[:3]}…{letters[-8:]}"
    return letters.strip("·")


def _decision(asked: Asked | None) -> str:
    """What a person decided about a call: which request, how, who and from where; empty where nobody did."""
    if asked is None or (word := asked.word) is None:
        return ""
    how = _LATE.get(word.type) or safe(word.text("resolution"), 20)
    return f"{safe(asked.request, 60)} {how} by {safe(word.text('by'), 60)}"


def _mark(event: Event) -> str:
    if event.type == "gap" and not event.data.get("count"):
        return f"what follows arrived later: {safe(event.text('reason'), 120)}"
    if event.type == "gap":
        return safe(gap_words(event), 160)
    if event.type in _WORDS:
        said = safe(_WORDS[event.type](event), 160)
    else:
        fields = _SAYS.get(event.type, ("text",))
        said = " ".join(safe(event.data[f], 60) for f in fields if event.data.get(f))
    by = f" by {safe(event.text('by'), 60)}" if event.text("by") else ""
    if event.type == "session_end":
        by = by and f", said{by}" if said else by
    note = f": {safe(event.text('note'), 120)}" if event.text("note") else ""
    if event.type == "revoke" and event.text("request"):
        return f"{safe(event.text('request'), 60)} {_LATE['revoke']}{by}{note}"
    head = _HUMAN[event.type] if said else _HUMAN[event.type].rstrip(": ")
    return f"{head}{said}{by}".rstrip() + note


def call_json(recording: Recording, index: int) -> dict[str, Any]:
    """One call for programs."""
    row = recording.row(index)
    start, end = recording.events_of(index)
    before, after = recording.verdicts(index)
    return {
        "number": row.number,
        "seq": row.start_seq,
        "ts": start.ts if start else row.ts,
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
        "request": _request_json(recording.asked_at.get(index)),
    }


def _request_json(asked: Asked | None) -> dict[str, Any] | None:
    """How the last request about a call ended; who decided it and from where."""
    if asked is None:
        return None
    answer = asked.resolved.data if asked.resolved is not None else {}
    said = {name: answer.get(name) for name in ("resolution", "by", "note")}
    late = {"approved_late": _late_json(asked, "grant"), "denied_late": _late_json(asked, "revoke")}
    return {"request": asked.request, **said, **late}


def _late_json(asked: Asked, type: str) -> dict[str, Any] | None:
    """Who said so of a request after its end, and with which note; None where the last word is another."""
    if asked.later is None or asked.later.type != type:
        return None
    return {name: asked.later.data.get(name) for name in ("by", "note")}


def recordings_of(
    events: Iterable[Event], config: Config | None = None, tell: Tell | None = None
) -> list[Recording]:
    """The sessions in a recording, each folded, in the order in which they begin.

    *tell* hears of a match function of *config* that fails.
    """
    sessions: dict[str, list[Event]] = {}
    for _, event in expand(events):
        sessions.setdefault(event.session, []).append(event)
    found = []
    for session, its in sessions.items():
        opening = next((e for e in its if e.type == "session_start"), None)
        recording = Recording(guard_of(opening, config, tell))
        recording.session = session
        recording.append(its)
        found.append(recording)
    return found
