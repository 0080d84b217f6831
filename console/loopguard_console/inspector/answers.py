"""How the request about a call ended, in words: a person's answer, none, or one that came late."""

from __future__ import annotations

from math import inf, isfinite

from textual.content import Content

from loopguard_console.render import clock, safe
from loopguard_console.viewing.view import View
from loopguard_core.events import Event
from loopguard_core.recording.calls import Asked

#: How a request ended that nobody decided.
UNANSWERED = {
    "expired": "was not answered in time",
    "orphaned": "was never answered: the agent's process is gone",
    "cancelled": "was never answered: the session ended",
}
#: The same where the call was cancelled with its request, and the session went on.
_CUT_SHORT = "was never answered: the call was cancelled while it waited"
#: Calls after a late approval among which the one is looked for that ran because of it.
_FAR = 10_000


def how_it_ended(view: View) -> Content:
    """The latest word on the request about the call at the cursor; empty where it has none."""
    asked = view.asked
    if asked is None or asked.resolved is None:
        return Content("")
    how = asked.resolved
    resolution, note = how.text("resolution"), how.text("note")
    ended = UNANSWERED.get(resolution, "")
    if resolution == "cancelled" and view.recording.row(view.cursor).outcome == "cancelled":
        ended = _CUT_SHORT
    by = "" if ended else how.text("by")
    parts = [
        ("ASKED  ", "bold $text-primary"),
        (f"{safe(asked.request, 12)} {ended or f'was {safe(resolution, 20)}'}", ""),
        (f" by {safe(by, 60)}" if by else "", "$dim"),
        (f": {safe(note, 200)}" if note else "", ""),
    ]
    if asked.later is not None:
        parts += [("\n", ""), *_later(view, asked, asked.later)]
    return Content.assemble(*parts)


def _later(view: View, asked: Asked, said: Event) -> list[tuple[str, str]]:
    """What a person said of a request after its end, and what became of it."""
    who = safe(said.text("by") or "a human", 60)
    at = f" at {clock(said.ts)}" if said.ts is not None else ""
    if said.type == "note":
        return [(f"{who} noted{at}: {safe(said.text('text'), 200)}", "")]
    note = f": {safe(said.text('note'), 200)}" if said.text("note") else ""
    if said.type == "revoke":
        return [(f"Denied late by {who}{at}{note}. The next try is asked about again.", "bold")]
    style = "$text-success"
    return [(f"Approved late by {who}{at}{note}. ", f"bold {style}"), (_use(view, said), style)]


def _use(view: View, grant: Event) -> str:
    """What a late approval did, or may still do."""
    recording, signature = view.recording, grant.text("key")
    expires = grant.data.get("expires")
    end = float(expires) if isinstance(expires, (int, float)) else inf
    first = max(view.cursor + 1, recording.row_of(grant.seq))
    for index in range(first, min(first + _FAR, len(recording))):
        row = recording.row(index)
        if row.start_seq < grant.seq:
            continue
        if row.cause == "grant" and row.signature == signature:
            return f"Call {row.number} ran because of it."
        if row.ts is not None and row.ts >= end:
            return f"No identical call came until {clock(end)}."
    name = grant.text("grant")
    if any(m.event.type == "revoke" and m.event.text("grant") == name for m in recording.marks):
        return "It was revoked."
    return f"The next identical call may run{f' until {clock(end)}' if isfinite(end) else ''}."
