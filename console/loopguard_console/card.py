"""The inspector's text: what a call is, why the guard stepped in, what each key will do.

The only place where ``Content`` is built from foreign text; nothing here is read as markup.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from textual.content import Content

from loopguard_console.render import (
    collapse_frames,
    cut,
    pretty,
    preview,
    safe,
    signature_label,
    size,
    span,
)
from loopguard_console.view import View
from loopguard_core.calls import Row
from loopguard_core.store.contract import Request
from loopguard_core.verdict import Tier, Verdict

#: Characters of a payload that are laid out; the rest is for the pager.
SHOWN = 4_000
TIER_STYLES = ("$text-muted", "bold $text-warning", "bold $text-error", "bold $text-error reverse")
TIER_WORDS = (
    "allowed",
    "warned: the call ran, advice was appended to its result",
    "blocked: the call does not run unless you let it",
    "halted: every further call of this turn is refused",
)
_NEXT = ("", "warn", "block", "halt")


@dataclass(frozen=True)
class Asking:
    """A request as the card shows it: seconds until nobody's answer counts, and whether keys count."""

    request: Request
    left: float | None
    armed: bool


def heading(text: str) -> Content:
    """A heading inside the card."""
    return Content.assemble((f"{text}\n", "bold $text-primary"))


def card(view: View | None, asking: Asking | None, width: int) -> Content:
    """Everything about the call at the cursor."""
    if view is None or view.cursor < 0:
        return Content.assemble(("Select a call to see what it did and why.", "$text-muted"))
    row = view.recording.row(view.cursor)
    parts = [
        _title(view, row, width),
        _why(view, row, width),
        _keys(view, row, asking, width),
        _payloads(view, row),
    ]
    return Content("\n").join([part for part in parts if part.plain])


def _title(view: View, row: Row, width: int) -> Content:
    out = [
        (f"{row.number} ", "$text-muted"),
        (safe(row.tool, max(8, width - 24)) or "(no name)", "bold"),
        (f"  {row.outcome}", "$text-error" if row.outcome == "error" else "$text-muted"),
        (f"  {span(row.duration)}\n" if row.duration is not None else "\n", "$text-muted"),
    ]
    args = preview(view.recording.args(view.cursor), 3 * max(width, 20))
    return Content.assemble(*out, (args + "\n" if args else "", ""))


def _why(view: View, row: Row, width: int) -> Content:
    recording = view.recording
    verdict = recording.why(view.cursor)
    if verdict is None:
        return Content("")
    tier = verdict.tier
    if tier is Tier.ALLOW:
        return _calm(view, row, verdict, width)
    title = {Tier.WARN: "WHY IT WARNED", Tier.BLOCK: "WHY IT STOPPED", Tier.HALT: "WHY IT HALTED"}
    lines: list[Content] = [
        Content.assemble((title[tier], "bold $text-primary")),
        Content.assemble((safe(verdict.reason, lines=True) or TIER_WORDS[tier], TIER_STYLES[tier])),
    ]
    lines += _facts(view, row, verdict, width)
    return Content("\n").join(lines).append("\n")


def _calm(view: View, row: Row, verdict: Verdict, width: int) -> Content:
    where = (
        f"Nothing to object to. It stands {row.count} times in the last {view.recording.window} calls."
        if row.count > 1
        else "Nothing to object to: not seen in the calls before."
    )
    return Content.assemble((where + "\n", "$text-muted"))


def _facts(view: View, row: Row, verdict: Verdict, width: int) -> list[Content]:
    recording = view.recording
    room = max(10, width - 12)
    facts: list[tuple[str, str]] = [
        ("tier", f"{verdict.tier.word}: {TIER_WORDS[verdict.tier].partition(': ')[2]}"),
        ("detector", " · ".join(p for p in (verdict.detector, verdict.policy) if p)),
        ("signature", signature_label(row.tool, recording.args(view.cursor), room)),
    ]
    if verdict.count:
        at = f" of {verdict.threshold}" if verdict.threshold else ""
        facts.append(("count", f"{verdict.count}{at}{_next(view, verdict)}"))
    facts.append(("repeated", _repeated(view, row)))
    if verdict.traits:
        facts.append(("traits", ", ".join(verdict.traits)))
    if verdict.source:
        facts.append(("from", verdict.source))
    return [
        Content.assemble((f"  {name:<10}", "$text-muted"), (safe(value, 4 * room), ""))
        for name, value in facts
        if value
    ]


def _next(view: View, verdict: Verdict) -> str:
    for count in view.guard.counts():
        if count.key == verdict.signature and count.next is not None:
            tier, at = count.next
            return f", {tier.word} at {at}"
    return ""


def _repeated(view: View, row: Row) -> str:
    """What came again: how often, since when, and whether the answer was the same."""
    recording = view.recording
    first = recording.first_of_streak(view.cursor)
    times = sum(1 for k in recording.keys[first : view.cursor + 1] if k == row.key)
    if times < 2:
        return "not these arguments; see the counters below"
    words = [f"{times} identical calls since call {first + 1}"]
    began = recording.row(first).ts
    if began is not None and row.ts is not None and row.ts > began:
        words.append(f"in {span(row.ts - began)}")
    before = recording.repeats_before(view.cursor)
    if before is not None and row.outcome in ("ok", "error"):
        one, other = recording.result(before), recording.result(view.cursor)
        words.append(
            f"identical answer ({size(len(pretty(one)))} characters)"
            if one == other
            else "the answers differ"
        )
    return ", ".join(words)


def key_lines(asking: Asking) -> list[tuple[str, str, str]]:
    """Key, name and what it will do for this request."""
    request = asking.request
    tier = Tier(request.tier).word
    again = f"the next identical call is asked about again ({tier})"
    return [
        ("a", "approve", f"this call runs once; {again}"),
        ("d", "deny", "refused; your note becomes the tool's result"),
        ("o", "override…", "let it run for N calls, for minutes, until the result changes"),
        ("m", "modify…", "change the arguments, then let it run"),
        ("r", "reset", "the count goes back to nothing and the call runs"),
        ("x", "halt…", "stop the turn or the session"),
    ]


def _keys(view: View, row: Row, asking: Asking | None, width: int) -> Content:
    return _past(view, row) if asking is None else _choices(asking, width)


def _choices(asking: Asking, width: int) -> Content:
    request = asking.request
    left = "" if asking.left is None else f"{span(asking.left)} left, then {_otherwise(request)}"
    if request.resolution == "expired":
        left = "nobody answered in time; approve and its next try runs"
    lines = [
        Content.assemble(
            (
                " WHAT YOU CAN DO ",
                "bold $text-error reverse" if asking.armed else "bold $text-muted reverse",
            ),
            (f" {safe(request.request, 8)}  ", "bold"),
            (left, "$text-warning"),
        )
    ]
    for key, name, does in key_lines(asking):
        style = "bold $text-accent" if asking.armed else "$text-muted"
        lines.append(
            Content.assemble(
                (f"  {key} ", style),
                (f"{name:<10}", "bold" if asking.armed else "$text-muted"),
                (cut(does, max(10, width - 15)), "$text-muted"),
            )
        )
    return Content("\n").join(lines).append("\n")


def request_card(asking: Asking | None, width: int, *, answered: bool = False) -> Content:
    """A request by itself, as the inbox shows it. *answered*: the one that was chosen is gone."""
    if asking is None:
        words = (
            "Answered. Choose the next one with j and k: no key reaches it before you do."
            if answered
            else "Nothing waits. When the guard stops a call, it is listed here."
        )
        return Content.assemble((words, "$text-muted"))
    request = asking.request
    verdict = request.verdict
    tier = Tier(request.tier)
    detector = " · ".join(str(verdict[k]) for k in ("detector", "policy") if verdict.get(k))
    count = str(verdict.get("count") or "")
    if count and verdict.get("threshold"):
        count += f" of {verdict['threshold']}"
    facts = [("detector", detector), ("count", count), ("session", request.session)]
    reason = safe(str(verdict.get("reason") or ""), lines=True) or TIER_WORDS[tier]
    return Content("\n").join(
        [
            Content.assemble((signature_label(request.tool, request.args, width), "bold")),
            Content.assemble((reason, TIER_STYLES[tier])),
            *[
                Content.assemble((f"  {n:<10}", "$text-muted"), safe(v, max(10, width - 12)))
                for n, v in facts
                if v
            ],
            Content(""),
            _choices(asking, width),
            _payload("ARGUMENTS", pretty(request.args)),
        ]
    )


def _otherwise(request: Request) -> str:
    return {"run": "it runs", "wait": "it goes on waiting"}.get(request.unanswered, "it is refused")


def _past(view: View, row: Row) -> Content:
    asked = view.asked
    if asked is not None and asked.resolved is not None:
        how = asked.resolved
        note = how.text("note")
        return Content.assemble(
            ("ASKED  ", "bold $text-primary"),
            (f"{safe(asked.request, 8)} was {safe(how.text('resolution'))}", ""),
            (f" by {safe(how.text('by'), 20)}" if how.text("by") else "", "$text-muted"),
            (f": {safe(note, 200)}" if note else "", ""),
            "\n",
        )
    if row.released:
        return Content.assemble(
            ("It ran because you allowed it; it left no mark on the counters.\n", "$text-success")
        )
    return Content("")


def _payloads(view: View, row: Row) -> Content:
    recording = view.recording
    args = pretty(recording.args(view.cursor))
    parts = [_payload("ARGUMENTS", args)]
    if row.outcome != "running":
        result = recording.result(view.cursor)
        text = "" if result is None else collapse_frames(pretty(result))
        parts.append(_payload("RESULT", text))
        before = recording.repeats_before(view.cursor)
        if before is not None and result is not None:
            parts.append(_changes(recording.result(before), result, before + 1))
    return Content("\n").join([part for part in parts if part.plain])


def _payload(title: str, text: str) -> Content:
    shown = safe(text[:SHOWN], lines=True)
    more = len(text) - SHOWN
    return Content.assemble(
        (title, "bold $text-primary"),
        (f"  {size(len(text))} characters\n", "$text-muted"),
        (shown or "(empty)", "" if shown else "$text-muted"),
        (f"\n… {size(more)} more; v shows all of it" if more > 0 else "", "$text-warning"),
        "\n",
    )


def _changes(before: object, after: object, number: int) -> Content:
    """What differs from the answer to the same call before, at most a few lines."""
    one, other = pretty(before)[:SHOWN], pretty(after)[:SHOWN]
    if one == other:
        return Content.assemble((f"the same answer as call {number}\n", "$text-muted"))
    diff = [
        line
        for line in difflib.unified_diff(one.splitlines(), other.splitlines(), lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ][:12]
    styles = {"-": "$text-error", "+": "$text-success"}
    lines = [
        Content.assemble((safe(line, lines=False)[:300], styles.get(line[:1], ""))) for line in diff
    ]
    return Content.assemble((f"CHANGED SINCE CALL {number}\n", "bold $text-primary")).append(
        Content("\n").join(lines).append("\n")
    )
