"""What stands between the calls, in words."""

from __future__ import annotations

from loopguard_console.render import counted, span
from loopguard_core.events import Event

#: How a call stands: the word for it and the style of the word.
OUTCOMES = {
    "running": ("…", "p-accent"),
    "ok": ("ok", "p-ok"),
    "error": ("error", "p-error"),
    "blocked": ("refused", "p-block"),
    "denied": ("denied", "p-error"),
    "cancelled": ("cancelled", "p-dim"),
    "pending": ("no end", "p-dim"),
}


def mark_words(event: Event) -> tuple[str, str, str]:
    """Who speaks, what was said, and the style of it. The words are foreign text still."""
    data = event.data
    by = event.text("by")
    note = f": {event.text('note')}" if event.text("note") else ""
    match event.type:
        case "user_message":
            return "▶ you", event.text("text") or "a new message", "p-accent"
        case "turn_start":
            return "▶ turn", event.text("reason"), "p-accent"
        case "session_end":
            return "■ ended", event.text("reason") + (f", said by {by}" if by else ""), "p-dim"
        case "grant":
            return "✓ granted", grant_words(event) + note, "p-ok"
        case "revoke" if event.text("request"):
            return "✗ denied late", f"{event.text('request')} by {by or 'a human'}{note}", "p-dim"
        case "revoke":
            return "✗ revoked", event.text("grant"), "p-dim"
        case "reset":
            return "↺ reset", f"{reset_words(event)} by {by or 'a human'}{note}", "p-ok"
        case "halt":
            return (
                "■ halted",
                f"the {event.text('scope') or 'turn'} by {by or 'a human'}{note}",
                "p-halt",
            )
        case "resume":
            return "▶ resumed", f"by {by or 'a human'}{note}", "p-ok"
        case "gap" if not data.get("count"):
            return "? late", f"what follows arrived later: {event.text('reason')}", "p-dim"
        case "gap":
            return (
                "? gap",
                gap_words(event),
                "p-error",
            )
        case "breakpoint":
            return "● breakpoint", event.text("condition"), "p-accent"
        case "label":
            return "◆ label", event.text("text"), "p-accent"
        case "note":
            return "◆ note", event.text("text"), "p-accent"
        case "system_message" if isinstance(data.get("verdict"), dict):
            return f"! {data['verdict'].get('source', 'guard')}", event.text("text"), "p-warn"
        case _:
            return event.type, event.text("text"), "p-dim"


def gap_words(event: Event) -> str:
    """How many events are missing, and why: ``3 events could not be written: disk full``."""
    count, reason = event.data.get("count"), event.text("reason")
    events = counted(count, "event") if isinstance(count, int) else "some events"
    return f"{events} could not be written" + (f": {reason}" if reason else "")


def grant_words(event: Event) -> str:
    """What a grant allows: ``search for 3 calls``."""
    data = event.data
    parts = [_named(event)]
    budget = data.get("budget")
    if isinstance(budget, int):
        parts.append(f"for {counted(budget, 'call')}")
    expires = data.get("expires")
    if isinstance(expires, (int, float)) and event.ts is not None:
        parts.append(f"for {span(round(float(expires) - event.ts))}")
    until = event.text("until")
    if until:
        parts.append(
            {"result": "until the result changes", "turn": "for this turn"}.get(until, until)
        )
    return " ".join(parts)


def reset_words(event: Event) -> str:
    """What a reset set back: ``the count of search with these arguments``."""
    return f"the count of {_named(event)}"


def _named(event: Event) -> str:
    """What an instruction is about: everything, a tool, or a tool with the same arguments."""
    key, scope = event.text("key"), event.text("scope")
    if scope == "signature":
        return f"{key.rpartition(':')[0] or key} with these arguments"
    return key if scope == "tool" else "everything"
