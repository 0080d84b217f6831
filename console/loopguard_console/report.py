"""One session as a report for people: Markdown, or a page of HTML that needs nothing else.

All text of agents passes ``safe`` and the escaping of the format; pictures are inline SVG.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator

from loopguard_console.inspector.costs import last_of_streak, since_first, spent
from loopguard_console.inspector.marks import mark_words
from loopguard_console.render import (
    clock,
    collapse_frames,
    counted,
    pretty,
    preview,
    safe,
    signature_label,
    span,
    tier_letter,
)
from loopguard_console.viewing.view import SHOWN_MARKS
from loopguard_core.recording.replay import Recording
from loopguard_core.verdict import Tier, Verdict

#: Characters of one payload, and calls, that a report shows.
PAYLOAD = 2_000
CALLS = 2_000
_COLOURS = ("#8b93a7", "#b97a00", "#c2273b", "#7a0f1f")


class Incident:
    """What a report is about: the session, its worst call, and what repeated."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        tiers = recording.tiers
        worst = max(tiers, default=0)
        #: the first call of the worst tier, -1 for an empty session
        self.at = tiers.index(worst) if len(tiers) else -1
        self.first = [tiers.find(t) for t in (1, 2, 3)]
        start = recording.start
        self.agent = safe(start.text("agent"), 60) if start is not None else ""

    @property
    def title(self) -> str:
        """Agent and session."""
        return safe(f"{self.agent} {self.recording.session}".strip(), 100)

    def why(self) -> Verdict | None:
        """The verdict on the worst call."""
        return self.recording.why(self.at) if self.at >= 0 else None

    def facts(self) -> list[tuple[str, str]]:
        """Names and values for the head of the report."""
        recording = self.recording
        out = [("calls", str(len(recording))), ("policy", safe(recording.guard.policy.name))]
        times = recording.times(len(recording) - 1, len(recording)) if len(recording) else []
        if len(times) > 1:
            out.append(("time", span(times[-1] - times[0])))
        used = spent(recording.spending.total)
        if used:
            out.append(("used in all", " · ".join(used)))
        for tier, row in zip((Tier.WARN, Tier.BLOCK, Tier.HALT), self.first, strict=True):
            out.append((f"first {tier.word}", f"call {row + 1}" if row >= 0 else "never"))
        at, repeated = self.at, Counter(recording.keys).most_common(1)
        if repeated and repeated[0][1] > 1:
            key, times_ = repeated[0]
            label = signature_label(recording.tools[key], recording.args_of_key(key), 60)
            out.append(("most repeated", f"{label}, {times_} times"))
            if not recording.tiers[at]:  # nothing was objected to: then it is about this one
                at = recording.keys.index(key)
        paid = since_first(recording, last_of_streak(recording, at)) if at >= 0 else ""
        if paid:
            out.append(("since the first repeat", paid))
        return out


# -- Markdown ----------------------------------------------------------------------------------------


def markdown(recording: Recording) -> Iterator[str]:
    """The report in Markdown, in pieces."""
    incident = Incident(recording)
    yield f"# {_md(incident.title)}\n\n"
    for name, value in incident.facts():
        yield f"- {name}: {_md(value)}\n"
    why = incident.why()
    if why is not None and why.tier:
        yield f"\n## Why call {incident.at + 1} was met with {why.tier.word}\n\n{_md(why.reason)}\n\n"
        count = f"{why.count} of {why.threshold}" if why.threshold else str(why.count)
        yield f"- detector: {_md(why.detector)}\n- count: {count}\n"
        yield f"\n```\n{_fence(recording.args(incident.at))}\n```\n"
    yield "\n## Calls\n\n| # | time | tool | arguments | outcome | in the window | tier |\n"
    yield "|---|---|---|---|---|---|---|\n"
    for index in range(min(len(recording), CALLS)):
        row = recording.row(index)
        cells = (
            str(row.number),
            clock(row.ts) if row.ts is not None else "",
            _md(safe(row.tool, 40)),
            _md(preview(recording.args(index), 80)),
            row.outcome,
            str(row.count),
            tier_letter(row.tier),
        )
        yield "| " + " | ".join(cells) + " |\n"
    if len(recording) > CALLS:
        yield f"\nLeft out: {counted(len(recording) - CALLS, 'further call')}.\n"


def _md(text: str) -> str:
    out = safe(text).replace("\\", "\\\\")
    for mark in "`*_{}[]<>#|!":
        out = out.replace(mark, f"\\{mark}")
    return out


def _fence(value: object) -> str:
    return safe(pretty(value)[:PAYLOAD], lines=True).replace("```", "'''")


# -- HTML --------------------------------------------------------------------------------------------

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#22252c;background:#fbfbfa}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}td,th{padding:.15rem .5rem;text-align:left;vertical-align:top}
td,code,pre{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px}
tr:nth-child(even){background:#f1f2f4}pre{background:#f1f2f4;padding:.6rem;white-space:pre-wrap;overflow-wrap:anywhere}
.card{border-left:4px solid #c2273b;padding:.2rem 1rem;background:#f6eeef}.d{color:#6a7080}
.t1{color:#b97a00;font-weight:bold}.t2{color:#c2273b;font-weight:bold}.t3{color:#7a0f1f;font-weight:bold}
summary{cursor:pointer}.strip{letter-spacing:.3em;font-family:ui-monospace,monospace}
"""


def page(recording: Recording) -> Iterator[str]:
    """The report as one page of HTML without scripts, in pieces."""
    incident = Incident(recording)
    title = html.escape(incident.title)
    yield (
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width'>"
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{_STYLE}</style></head><body>\n<h1>{title}</h1>\n<table>"
    )
    for name, value in incident.facts():
        yield f"<tr><th>{html.escape(name)}</th><td>{_text(value)}</td></tr>"
    yield f"</table>\n{_chart(recording)}\n"
    yield from _card(incident)
    yield "<h2>Calls</h2>\n<table><tr><th>#<th>time<th><th>tool<th>arguments and result<th>outcome<th>×<th>tier</tr>\n"
    marks = [m for m in recording.marks if m.event.type in SHOWN_MARKS]
    for index in range(min(len(recording), CALLS)):
        while marks and marks[0].row <= index:
            who, words, _ = mark_words(marks.pop(0).event)
            yield f"<tr><td colspan=8 class=d>{_text(who)} {_text(words[:PAYLOAD])}</td></tr>\n"
        yield _row(recording, index)
    yield "</table>\n"
    if len(recording) > CALLS:
        yield f"<p>Left out: {counted(len(recording) - CALLS, 'further call')}.</p>\n"
    yield "</body></html>\n"


def _text(value: str) -> str:
    return html.escape(safe(value))


def _block(value: object) -> str:
    text = pretty(value)
    more = f"\n… {counted(len(text) - PAYLOAD, 'more character')}" if len(text) > PAYLOAD else ""
    return html.escape(safe(collapse_frames(text[:PAYLOAD]), lines=True) + more)


def _card(incident: Incident) -> Iterator[str]:
    why = incident.why()
    if why is None or not why.tier:
        return
    recording = incident.recording
    yield f"<h2>Why call {incident.at + 1} was met with {why.tier.word}</h2>\n<div class=card>"
    yield f"<p>{_text(why.reason)}</p><p class=strip>{_strip(recording, incident.at)}</p>"
    count = f"{why.count} of {why.threshold}" if why.threshold else str(why.count)
    yield f"<p>{_text(why.detector)} · {_text(why.policy)} · count {count}</p>"
    yield f"<pre>{_block(recording.args(incident.at))}</pre></div>\n"


def _strip(recording: Recording, index: int) -> str:
    """The window up to a call: equal calls have the same letter."""
    return "".join(_letter(recording, key) for key in recording.window_at(index))


def _letter(recording: Recording, key: int) -> str:
    number = recording.letters.get(key)
    return "·" if number is None else chr(65 + number % 26)


def _row(recording: Recording, index: int) -> str:
    row = recording.row(index)
    shown = _text(preview(recording.args(index), 90))
    inside = (
        f"<pre>{_block(recording.args(index))}</pre><pre>{_block(recording.result(index))}</pre>"
    )
    return (
        f"<tr><td>{row.number}<td class=d>{clock(row.ts) if row.ts is not None else ''}"
        f"<td>{_letter(recording, row.key)}<td>{_text(row.tool[:80])}"
        f"<td><details><summary>{shown}</summary>{inside}</details>"
        f"<td>{row.outcome}<td>{row.count if row.count > 1 else ''}"
        f"<td class=t{int(row.tier)}>{tier_letter(row.tier)}</tr>\n"
    )


def _chart(recording: Recording) -> str:
    """How often each call stood in the window, coloured by tier: a loop is a ramp."""
    total = len(recording)
    if not total:
        return ""
    cells = min(total, 200)
    bars = []
    for cell in range(cells):
        first, last = (
            cell * total // cells,
            max((cell + 1) * total // cells, cell * total // cells + 1),
        )
        rows = [recording.row(i) for i in range(first, min(last, first + 50))]
        count = min(max(r.count for r in rows), recording.window)
        tier = max(r.tier for r in rows)
        height = 60 * count / recording.window
        bars.append(
            f"<rect x='{cell * 5}' y='{64 - height:.1f}' width='4' height='{height:.1f}' "
            f"fill='{_COLOURS[tier]}'/>"
        )
    return (
        f"<svg role=img aria-label='count in the window of {recording.window}, coloured by tier' "
        f"viewBox='0 0 {cells * 5} 64' width='100%' height='80' preserveAspectRatio='none'>"
        f"{''.join(bars)}</svg><p class=d>Each bar: how often the call stood in the window of the "
        f"last {recording.window}; amber warned, red blocked, dark red halted.</p>"
    )
