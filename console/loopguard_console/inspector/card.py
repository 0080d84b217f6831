"""The inspector's text: what a call is, why the guard stepped in, what each key will do.

All foreign text passes ``safe``; nothing is read as markup. See also ``facts`` and ``payloads``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from loopguard_console.inspector.answers import how_it_ended
from loopguard_console.inspector.facts import (
    TIER_WORDS,
    counted_afresh,
    fact,
    facts,
    news,
    next_time,
    of_limit,
    only_would,
)
from loopguard_console.inspector.marks import OUTCOMES
from loopguard_console.inspector.payloads import payload, payloads
from loopguard_console.keys.keynames import USUAL, KeyNames
from loopguard_console.render import (
    countdown,
    cut,
    pretty,
    preview,
    safe,
    signature_label,
    span,
)
from loopguard_console.viewing.view import View
from loopguard_core.recording.calls import Row
from loopguard_core.store.contract import Request, whose
from loopguard_core.verdict import Tier, Verdict

TIER_STYLES = ("$dim", "bold $text-warning", "bold $text-error", "bold $text-error")
TITLES = {Tier.WARN: "WHY IT WARNED", Tier.BLOCK: "WHY IT STOPPED", Tier.HALT: "WHY IT HALTED"}
WOULD_TITLES = {
    Tier.WARN: "WHY IT WOULD WARN",
    Tier.BLOCK: "WHY IT WOULD STOP",
    Tier.HALT: "WHY IT WOULD HALT",
}
#: What stops a call beside its verdict (a ruling's cause): its title, and the sentence in general.
STOPS = {
    "latch": ("THE TURN IS HALTED", "A call before this one halted the turn."),
    "halt": ("HALTED BY A HUMAN", "Every call is refused until the halt ends."),
    "deny": ("DENIED BEFORE", "A human denied this call earlier in this turn."),
    "breakpoint": ("BREAKPOINT", "A human wants to see such calls before they run."),
}


@dataclass(frozen=True)
class Asking:
    """A request as the card shows it: seconds until nobody's answer counts, and whether keys count.

    ``may``: somebody can decide on this console at all. ``names``: of the keys in force.
    """

    request: Request
    left: float | None
    armed: bool
    may: bool = True
    names: KeyNames = USUAL


def card(view: View | None, asking: Asking | None, width: int, height: int = 40) -> Content:
    """Everything about the call at the cursor; in a low pane the keys come in short form."""
    if view is None or view.cursor < 0:
        return Content("")
    row = view.recording.row(view.cursor)
    verdict = view.recording.why(view.cursor) if row.tier else None
    low = height < 16
    parts = [
        _title(view, row, width, _state(view, row, asking), low=low),
        _headline(view, row, verdict, width, low=low),
        Content.assemble((safe(counted_afresh(view, row), 6 * width), "$text-success")),
        _past(view, row) if asking is None else _choices(asking, width, low=low),
        _in_its_time(view, row) if asking is None and not low else Content(""),
        facts(view, row, verdict, width),
        _other(view.recording.foreign(view.cursor), width),
        payloads(view, row),
    ]
    shown = [part for part in parts if part.plain]
    return Content("\n" if low else "\n\n").join(shown)


def _state(view: View, row: Row, asking: Asking | None) -> str:
    if asking is None and row.outcome == "running":
        resolved = view.asked.resolved if view.asked is not None else None
        gone = view.lost or (resolved is not None and resolved.text("resolution") == "orphaned")
        return OUTCOMES["pending"][0] if gone else "running"
    if asking is None:
        return OUTCOMES[row.outcome][0]
    return "refused" if asking.request.resolution else "waits for you"


def _title(view: View, row: Row, width: int, state: str, *, low: bool) -> Content:
    end = f"{state} {span(row.duration)}".rstrip()
    style = "$text-error" if row.outcome == "error" else "$dim"
    room = max(8, width - len(str(row.number)) - len(end) - 4)
    args = view.recording.args(view.cursor)
    head = Content.assemble((f"{row.number} ", "$dim"))
    if low:
        label = signature_label(row.tool, args, room)
        return Content.assemble(head, (label, "bold"), (f"  {end}", style))
    name = safe(row.tool, room) or "(no name)"
    shown = preview(args, 3 * max(width, 20))
    return Content.assemble(
        head, (name, "bold"), (f"  {end}", style), f"\n{shown}" if shown else ""
    )


def _headline(view: View, row: Row, verdict: Verdict | None, width: int, *, low: bool) -> Content:
    """Why, in one sentence."""
    if verdict is None or verdict.tier is Tier.ALLOW:
        return _stopped(view, row, low=low) if row.cause in STOPS else _calm(view, row)
    tier = verdict.tier
    would = only_would(view, verdict)
    title = (WOULD_TITLES if would else TITLES)[tier]
    said = safe(_sentence(verdict.reason), lines=True) or TIER_WORDS[tier]
    count = of_limit(verdict.count, verdict.threshold) if verdict.threshold else ""
    word = f"WOULD {tier.word.upper()}" if would and low else tier.word.upper()
    pill = _pill(f"{word} {count}", tier)
    if low:
        return Content.assemble(pill, (f" {said}", TIER_STYLES[tier]))
    return Content.assemble(
        (f"{title}  ", "bold $text-primary"), pill, "\n", (said, TIER_STYLES[tier])
    )


def _pill(words: str, tier: Tier) -> tuple[str, str]:
    return f" {words.strip()} ", f"reverse {TIER_STYLES[tier]}"


def _stopped(view: View, row: Row, *, low: bool) -> Content:
    """Why a call was stopped to which the policy itself had nothing to object."""
    latch = view.guard.latch
    held = latch.verdict if latch is not None else None
    said = _sentence(held.reason) if row.cause == "latch" and held is not None else ""
    title, otherwise = STOPS[row.cause]
    pill = _pill(title, Tier.HALT)
    words = (safe(said, lines=True) or otherwise, TIER_STYLES[Tier.BLOCK])
    return Content.assemble(pill, " " if low else "\n", words)


def _sentence(reason: str) -> str:
    """The first statement of a reason; the rest is advice to the model."""
    first = re.split(r"[;.]\s", reason, maxsplit=1)[0].strip()
    return first + ("." if first and first[-1] not in ".!?" else "")


def _calm(view: View, row: Row) -> Content:
    where = (
        f"Allowed. It stands {row.count} times in the last {view.recording.window} calls."
        if row.count > 1
        else "Allowed: not seen in the calls before."
    )
    fresh = f" {said}" if row.count > 1 and (said := news(view, row)) else ""
    ahead = f"\nThe next identical call {next_time(view)}." if row.count > 1 else ""
    return Content.assemble((where + fresh + ahead, "$dim"), (_later(view), "$text-warning"))


def _later(view: View) -> str:
    """Where the guard steps in next, so that nobody has to look for it; empty at the newest call."""
    recording, after = view.recording, view.cursor + 1
    if after >= len(recording):
        return ""
    if not recording.worst:
        return "\nThe guard steps in nowhere in this session." if not view.live else ""
    found = [at for tier in (1, 2, 3) if (at := recording.tiers.find(tier, after)) >= 0]
    if not found:
        return ""
    at = min(found)
    return (
        f"\nThe guard steps in at call {at + 1} ({Tier(recording.tiers[at]).word}): "
        f"{view.names.of('next_tier')} goes there."
    )


def _other(verdict: Verdict | None, width: int) -> Content:
    """What the agent's own guard said of the call."""
    if verdict is None:
        return Content("")
    said = f"{verdict.tier.word}: {verdict.reason}" if verdict.reason else verdict.tier.word
    head = Content.assemble(("ANOTHER GUARD", "bold $text-primary"))
    return Content("\n").join(
        [head, fact(verdict.source or verdict.policy, said, max(10, width - 11))]
    )


#: Key, name, and what it will do in few words and in more.
KEYS = (
    ("a", "approve", "run once and ask again", "it runs once and leaves no mark: the next identical call is asked about again"),
    ("d", "deny", "refuse, with a note", "it is refused; your note becomes its result; asked again, it is refused at once"),
    ("o", "override…", "let the next N run", "these arguments, this tool or everything: for N calls, minutes, or until the result changes"),
    ("m", "modify…", "change the arguments", "change the arguments, then it runs; the model is told"),
    ("r", "reset", "count afresh; it runs", "its count starts afresh, and the call runs"),
    ("x", "halt…", "stop the agent", "refuse this and every further call of the turn or the session"),
)  # fmt: skip
#: The same for a request that nobody answered in time.
_LATE_KEYS = (
    ("a", "approve", "let its next try run", "its next try runs, once; the one after it is asked about again"),
    ("d", "deny", "out of the inbox", "it leaves the inbox; its next try is asked about, as before"),
    ("o", "override…", "let the next N run", KEYS[2][3]),
    ("r", "reset", "count afresh", "its count starts afresh, from its next try on"),
    ("x", "halt…", "stop the agent", "refuse every further call of the turn or the session"),
)  # fmt: skip
_LIFT = ("u", "resume", "lift the stop; it runs", "the stop is lifted, and the call runs")
_LIFT_LATE = ("u", "resume", "lift the stop", "the stop is lifted: what the agent tries next runs")


def _choices(
    asking: Asking, width: int, *, low: bool = False, marked: Sequence[str] = ()
) -> Content:
    """What may be done about a request; *marked*: those that one answer settles instead."""
    request = asking.request
    left = "" if asking.left is None else f"{countdown(asking.left)} left"
    if left and width >= 48:
        left += f", then {_otherwise(request)}"
    late = request.resolution == "expired"
    if late:
        left = f"{countdown(asking.left)} left" if asking.left is not None else ""
    name, gap = safe(request.request, 8), " " if late else "  "
    title = " YOUR TURN " if low else " WHAT YOU CAN DO "
    if late:
        title = " LATE: WHAT YOU CAN DO "
        if len(title + name + gap + left) >= width:
            title = " LATE "
    if not asking.armed:
        title = " A MOMENT… " if low else " JUST A MOMENT…  "
    colour = "$text-error" if asking.armed else "$dim"
    if not asking.may:
        title = " WAITS FOR A HUMAN "
    lines = [
        Content.assemble(
            (title, f"bold reverse {colour}"),
            (f" {name}{gap}", "bold"),
            (cut(left, max(8, width - len(title + name + gap) - 1)), "$text-warning"),
        )
    ]
    if marked:
        words = asking.names.say("{approve} and {deny} answer what is marked: ")
        lines.append(Content.assemble((words + safe(", ".join(marked), 60), "$text-warning")))
    lift = _LIFT_LATE if late else _LIFT
    offered = [
        lift if key[0] == "r" and request.cause == "latch" else key
        for key in (_LATE_KEYS if late else KEYS)
    ]
    keys = [(key, name, _fitting(width - 14, *does)) for key, name, *does in offered]
    if late:
        words = "Nobody answered in time, so it was refused. Approve it and its next try runs."
        lines.append(Content.assemble((words, "$dim")))
    keys = [(asking.names.of(n.rstrip("…")), n, d) for _, n, d in keys]
    lines += _one_a_line(keys[:3] if low else keys, asking.armed, width)
    if low:
        lines.append(_in_a_row(keys[3:], asking.armed))
    return Content("\n").join(lines)


def _fitting(room: int, short: str, long: str) -> str:
    return long if len(long) <= room else short


def _one_a_line(keys: list[tuple[str, str, str]], armed: bool, width: int) -> list[Content]:
    return [
        Content.assemble(
            (f" {key} ", "bold $text-accent" if armed else "$dim"),
            (f"{name:<10}", "bold" if armed else "$dim"),
            (cut(does, max(10, width - 14)), "$dim"),
        )
        for key, name, does in keys
    ]


def _in_a_row(keys: list[tuple[str, str, str]], armed: bool) -> Content:
    parts: list[tuple[str, str]] = []
    for key, name, _ in keys:
        parts += [(f" {key} ", "bold $text-accent" if armed else "$dim"), (f"{name}  ", "$dim")]
    return Content.assemble(*parts)


def request_card(
    asking: Asking | None,
    width: int,
    height: int = 40,
    *,
    answered: bool = False,
    others: int = 0,
    marked: Sequence[str] = (),
    names: KeyNames = USUAL,
) -> Content:
    """A request by itself, as the inbox shows it.

    *answered*: the one that was chosen is gone; *others*: how many still wait; *marked*: the names of those
    that one answer settles.
    """
    if asking is None:
        if others:
            words = names.say(
                "Choose the next one with {down} and {up}: no key reaches it before you do."
            )
        else:
            words = "Nothing waits. When the guard stops a call, it is listed here. Esc goes back."
        return Content.assemble((f"Answered. {words}" if answered else words, "$dim"))
    request = asking.request
    verdict = request.verdict
    tier = Tier(request.tier)
    detector = " · ".join(str(verdict[k]) for k in ("detector", "policy") if verdict.get(k))
    count = of_limit(verdict.get("count"), verdict.get("threshold")) if verdict.get("count") else ""
    reason = str(verdict.get("reason") or "")
    facts = [
        ("detector", detector),
        ("session", request.session),
        ("of", whose(request)),
        ("told" if request.resolution else "refusal", reason),
    ]
    room = max(10, width - 11)
    low = height < 18
    parts = [
        Content.assemble((signature_label(request.tool, request.args, width), "bold")),
        Content.assemble(
            _pill(f"{tier.word.upper()} {count}", tier),
            (f" {safe(_sentence(reason)) or TIER_WORDS[tier]}", TIER_STYLES[tier]),
        ),
        _choices(asking, width, low=height < 12, marked=marked),
        Content("\n").join([fact(name, value, room) for name, value in facts if value]),
        payload("ARGUMENTS", pretty(request.args), asking.names),
    ]
    return Content("\n" if low else "\n\n").join(parts)


def _otherwise(request: Request) -> str:
    return {"run": "it runs", "wait": "waits on"}.get(request.unanswered, "refused")


def _past(view: View, row: Row) -> Content:
    said = how_it_ended(view)
    if row.cause in ("deny", "halt") and row.tier and row.outcome == "blocked":
        title, words = STOPS[
            row.cause
        ]  # the verdict is said above; it is not what stopped the call
        return Content.assemble((f"{title}  ", "bold $text-primary"), (words, "$text-error"))
    if said.plain or not row.released:
        return said
    words = "It ran because a human let it; it left no mark on the counters."
    return Content.assemble((words, "$text-success"))


def _in_its_time(view: View, row: Row) -> Content:
    """In a recording: which keys would have decided, and when."""
    if view.live or row.tier < Tier.WARN:
        return Content("")
    if row.tier is Tier.WARN:
        said = (
            "Beside a running agent: {override} lets more of these calls run before one is stopped, "
            "{halt} stops the agent."
        )
    else:
        said = (
            "Beside a running agent: {approve} lets it run once, {override} the next ones too, "
            "{deny} refuses it with a note, {reset} counts afresh, {halt} stops the agent."
        )
    return Content.assemble((view.names.say(said), "$dim"))
