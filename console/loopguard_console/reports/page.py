"""A report as one HTML file: no script, nothing loaded from elsewhere, foreign text escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from loopguard_console.chains import chain_lines
from loopguard_console.render import collapse_frames, pretty, safe
from loopguard_console.reports.incident import Incident, facts, sentence
from loopguard_core.replay import Recording
from loopguard_core.verdict import Tier

_LONGEST = 20_000
_BARS = 400
_HEIGHT = 90
_COLOURS = {
    Tier.ALLOW: "#8a94a6",
    Tier.WARN: "#d29922",
    Tier.BLOCK: "#e5534b",
    Tier.HALT: "#8b2fc9",
}
_STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
pre, code { font: 13px/1.45 ui-monospace, monospace; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .8rem; overflow-x: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; }
dt { opacity: .7; } dd { margin: 0; }
.why { border-left: 4px solid var(--tier); padding: .4rem 1rem; background: var(--soft); }
.strip span { display: inline-block; width: 1.5em; text-align: center; border-radius: 4px; margin: 1px; background: var(--soft); }
.strip span.here { outline: 2px solid var(--tier); }
svg { width: 100%; height: auto; border-bottom: 1px solid var(--line); }
footer { margin-top: 3rem; opacity: .6; font-size: .85rem; }
"""


def page(found: Incident) -> str:
    """The report of one incident."""
    return "".join(f"{part}\n" for part in _parts(found))


def _parts(found: Incident) -> Iterator[str]:
    recording = found.recording
    tier = Tier(recording.tiers[found.index])
    title = f"What happened in {recording.session}"
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{_text(title)}</title><style>{_STYLE}</style></head>"
    yield f'<body style="--tier: {_COLOURS[tier]}"><h1>{_text(title)}</h1>'
    yield f'<p class="why">{_text(sentence(found))}</p><dl>'
    for name, value in facts(found):
        yield f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>"
    yield "</dl><h2>Calls and verdicts</h2>"
    yield _chart(recording, found.index)
    yield f"<h2>The last {len(found.window)} calls</h2>"
    yield _strip(found)
    yield "<h2>The call</h2><p>Arguments</p>"
    yield _block(pretty(found.args))
    if found.result is not None:
        yield f"<p>Result</p>{_block(collapse_frames(pretty(found.result)))}"
    yield "<h2>All calls</h2>"
    yield f"<pre>{_lines(chr(10).join(chain_lines(recording)))}</pre>"
    yield "<footer>Made by loopguard-console.</footer></body></html>"


def _chart(recording: Recording, index: int) -> str:
    """How often each call stood in the window, coloured by its tier; the last calls where there are many."""
    first = max(0, min(index - _BARS // 2, len(recording) - _BARS))
    rows = [recording.row(at) for at in range(first, min(len(recording), first + _BARS))]
    most = max(row.count for row in rows)
    bars = []
    for place, row in enumerate(rows):
        height = round(row.count / most * (_HEIGHT - 10), 1)
        mark = ' stroke="currentColor"' if row.number == index + 1 else ""
        bars.append(
            f'<rect x="{place * 8}" y="{_HEIGHT - height}" width="6" height="{height}" '
            f'fill="{_COLOURS[row.tier]}"{mark}><title>call {row.number}: {_text(row.tool)}, '
            f"{row.count} in the window, {row.tier.word}</title></rect>"
        )
    return (
        f'<svg viewBox="0 0 {max(len(rows) * 8, 160)} {_HEIGHT}" role="img" '
        f'aria-label="how often each call stood in the window">{"".join(bars)}</svg>'
        f"<p>Call {rows[0].number} to {rows[-1].number}. The higher a bar, the more often the same call "
        "stands among the last ones. Yellow: warned, red: stopped, violet: halted.</p>"
    )


def _strip(found: Incident) -> str:
    last = len(found.window) - 1
    cells = "".join(
        f"<span{' class=here' if place == last else ''}>{_text(letter)}</span>"
        for place, letter in enumerate(found.window)
    )
    named = "".join(
        f"<li>{_text(letter)}: <code>{_text(label)}</code>, {times} times</li>"
        for letter, label, times in found.repeats
    )
    return f'<p class="strip">{cells}</p><ul>{named}</ul>'


def _block(text: str) -> str:
    more = len(text) - _LONGEST
    cut = f"{text[:_LONGEST]}\n… {more} more characters" if more > 0 else text
    return f"<pre>{_lines(cut)}</pre>"


def _text(text: str) -> str:
    return escape(safe(text))


def _lines(text: str) -> str:
    return escape(safe(text, lines=True))
