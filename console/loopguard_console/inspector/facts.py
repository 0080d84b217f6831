"""Facts of the card about one call: count, detector, what repeated, what was ignored, the first error."""

from __future__ import annotations

import textwrap

from textual.content import Content

from loopguard_console.inspector.costs import spent
from loopguard_console.inspector.grounds import grounds
from loopguard_console.inspector.marks import reset_words
from loopguard_console.render import clock, counted, pretty, safe, signature_label, span
from loopguard_console.viewing.view import View
from loopguard_core.events import Event
from loopguard_core.recording.calls import Row
from loopguard_core.verdict import Tier, Verdict

#: Lines of one fact; what is longer ends with an ellipsis, and stands in full in the pager.
FACT_LINES = 8
TIER_WORDS = (
    "allowed",
    "warned: the call ran, advice was appended to its result",
    "blocked: the call does not run unless you let it",
    "halted: every further call of this turn is refused",
)


#: The same where the guard had no say: it only watched, or judges a recording after the fact.
WOULD_WORDS = {
    Tier.WARN: "the call ran; the guard would have given advice with its result",
    Tier.BLOCK: "the guard would not have let the call run",
    Tier.HALT: "the guard would have ended the turn here",
}


#: What an identical call would meet by a person's word (a ruling's cause).
_PERSONS = {
    "grant": "runs under a grant",
    "deny": "is refused: a human denied it for this turn",
    "halt": "is refused: a human halted the agent",
    "breakpoint": "waits: it meets a breakpoint",
}


def only_would(view: View, verdict: Verdict) -> bool:
    """Whether a verdict says what the guard would have done, since it had no say in the run."""
    recording = view.recording
    return not verdict.source and (recording.guard.mode == "observe" or recording.judges)


def _meaning(view: View, row: Row, verdict: Verdict) -> str:
    if only_would(view, verdict):
        return WOULD_WORDS[verdict.tier]
    if verdict.tier is Tier.BLOCK and let_run(view, view.cursor):
        return "stopped, then let run by a human"
    nobody_waits = _answer(view, view.cursor) in ("cancelled", "orphaned")
    if verdict.tier is Tier.BLOCK and (nobody_waits or row.outcome in ("blocked", "denied")):
        return "the call did not run"
    return TIER_WORDS[verdict.tier].partition(": ")[2]


def let_run(view: View, index: int) -> bool:
    """Whether a call ran because a person let it: by an answer to its request, or by an override."""
    return _answer(view, index) in ("approved", "modified") or view.recording.released(index)


def _answer(view: View, index: int) -> str:
    """How the request about a call ended; empty where there is none, or none yet."""
    asked = view.recording.asked_at.get(index)
    return asked.resolved.text("resolution") if asked is not None and asked.resolved else ""


def _approved_late(view: View) -> bool:
    """Whether a person said after the call's end what happens at the next one."""
    later = view.asked.later if view.asked is not None else None
    return later is not None and later.type == "grant"


def of_limit(count: object, threshold: object) -> str:
    """A count against the threshold that fired."""
    if not isinstance(count, int) or not isinstance(threshold, int) or not threshold:
        return str(count)
    return f"{count} of {threshold}" if count <= threshold else f"{count}, limit {threshold}"


def facts(view: View, row: Row, verdict: Verdict | None, width: int) -> Content:
    if verdict is None or verdict.tier is Tier.ALLOW:
        return Content("")
    recording = view.recording
    room = max(10, width - 11)
    next_tier = _next(view, row, verdict)
    count = of_limit(verdict.count, verdict.threshold)
    tool, compared = grounds(verdict.traits)
    facts: list[tuple[str, str]] = [
        ("meaning", _meaning(view, row, verdict)),
        ("repeated", _repeated(view, row)),
        ("used up", _used(view)),
        ("count", f"{count}{next_tier}" if verdict.count else ""),
        ("detector", " · ".join(p for p in (verdict.detector, verdict.policy) if p)),
        ("signature", signature_label(row.tool, recording.args(view.cursor), room)),
        ("ignored", _ignored(view)),
        ("1st error", _first_error(view)),
        ("next time", "" if verdict.source or _approved_late(view) else next_time(view)),
        ("the tool", tool),
        ("compared", compared),
        ("from", verdict.source),
        (_heard(view, row, verdict), verdict.reason),
    ]
    lines = [Content.assemble(("IN DETAIL", "bold $text-primary"))]
    lines += [fact(name, value, room) for name, value in facts if name and value]
    return Content("\n").join(lines)


def _heard(view: View, row: Row, verdict: Verdict) -> str:
    """Whether the model reads the reason of a verdict; empty where a person's word stood in its place."""
    if only_would(view, verdict):
        return "advice"
    if verdict.tier is Tier.WARN:
        return "told"
    answer = _answer(view, view.cursor)
    by_person = answer in ("approved", "modified", "denied", "halted")
    if by_person or row.released or row.cause in ("deny", "halt"):
        return ""
    return "refusal" if row.outcome == "running" else "told"


def counted_afresh(view: View, row: Row) -> str:
    """That a person set back the count of this call, who and when; empty where that explains nothing here."""
    at = view.cursor
    mark = view.recording.reset_before(at)
    if mark is None or (row.tier is Tier.ALLOW and at - mark.row >= view.recording.window):
        return ""
    event = mark.event
    when = f" at {clock(event.ts)}" if event.ts is not None else ""
    note = f": {event.text('note')}" if event.text("note") else ""
    since = "this call" if mark.row == at else f"call {mark.row + 1}"
    by = event.text("by") or "a human"
    return f"Counted afresh from {since} on: {by} reset {reset_words(event)}{when}{note}"


def _ignored(view: View) -> str:
    """Fields in which the last call that counts as the same was different."""
    recording = view.recording
    before = recording.like_before(view.cursor)
    if before is None:
        return ""
    one, other = recording.args(before), recording.args(view.cursor)
    if one == other or not isinstance(one, dict) or not isinstance(other, dict):
        return ""
    fields = [name for name in {**one, **other} if one.get(name) != other.get(name)]
    return f"differences in {', '.join(map(str, fields))} (call {before + 1} counts as the same)"


def _first_error(view: View) -> str:
    """Where this tool first failed in the turn, and with what."""
    at = view.recording.first_failure_like(view.cursor)
    if at is None:
        return ""
    text = pretty(view.recording.result(at)).strip().split("\n", 1)[0]
    return f"call {at + 1}: {text[:200]}"


def next_time(view: View) -> str:
    """What an identical call would meet if it came right after the cursor."""
    start = view.recording.events_of(view.cursor)[0]
    if start is None:
        return ""
    data = {k: v for k, v in start.data.items() if k != "verdict"} | {
        "call": "the next",
        "message": "",
    }
    ruling = view.guard.rule(Event("call_start", start.session, ts=start.ts, data=data))
    if ruling.cause in _PERSONS:
        return _PERSONS[ruling.cause]
    if ruling.tier is Tier.ALLOW and _warns_next(view):
        return "runs, with advice if its answer is the same"
    return {
        Tier.ALLOW: "runs",
        Tier.WARN: "runs, with advice",
        Tier.BLOCK: "is blocked",
        Tier.HALT: "is halted",
    }[ruling.tier]


def _warns_next(view: View) -> bool:
    """Whether a counter of the selected call warns at its next step, which the answer decides."""
    row = view.recording.row(view.cursor)
    about = (c for c in view.guard.counts() if c.count and c.key in (row.signature, row.tool))
    reached = (t for c in about for t, at in c.thresholds.items() if at <= c.count + 1)
    return max(reached, default=Tier.ALLOW) is Tier.WARN


def news(view: View, row: Row) -> str:
    """That an identical call brought another answer than the one before it, in a sentence; else empty."""
    recording = view.recording
    before = recording.repeats_before(view.cursor)
    if before is None or row.outcome not in ("ok", "error"):
        return ""
    if recording.result(before) == recording.result(view.cursor):
        return ""
    return f"Its answer is another one than at call {before + 1}."


def fact(name: str, value: str, room: int) -> Content:
    lines = textwrap.wrap(safe(value), room, max_lines=FACT_LINES, placeholder=" …")
    text = f"\n{' ' * 11}".join(lines)
    return Content.assemble((f" {name:<10}", "$dim"), text)


def _next(view: View, row: Row, verdict: Verdict) -> str:
    """What comes after this tier, and at which count: of the detector's own counter, no other's."""
    for count in view.guard.counts():
        if count.detector == verdict.detector and count.key in (verdict.signature, row.tool):
            ahead = [
                (at, tier)
                for tier, at in count.thresholds.items()
                if tier > verdict.tier and at > verdict.count
            ]
            if ahead:
                at, tier = min(ahead)
                return f", {tier.word} at {at}"
    return ""


def _used(view: View) -> str:
    """Tokens and money since the first of these calls, as far as the recording has them."""
    first = view.recording.first_of_streak(view.cursor)
    return " · ".join(spent(view.recording.spending.between(first + 1, view.cursor)))


def _repeated(view: View, row: Row) -> str:
    """What came again: how often, since when, and whether the answer was the same."""
    recording = view.recording
    first = recording.first_of_streak(view.cursor)
    alike = [i for i in range(first, view.cursor + 1) if recording.keys[i] == row.key]
    if len(alike) < 2:
        return "not these arguments: other calls count here, too"
    words = [f"{len(alike)} identical calls since #{first + 1}"]
    let = sum(let_run(view, index) for index in alike[:-1])
    if let:
        words.append(f"{let} of them let run by a human and not counted")
    began = recording.row(first).ts
    if began is not None and row.ts is not None and row.ts - began >= 0.001:
        words.append(f"in {span(row.ts - began)}")
    before = recording.repeats_before(view.cursor)
    if before is not None and row.outcome in ("ok", "error"):
        one, other = recording.result(before), recording.result(view.cursor)
        words.append(
            f"identical answer ({counted(len(pretty(one)), 'character', short=True)})"
            if one == other
            else "the answers differ"
        )
    return ", ".join(words)
