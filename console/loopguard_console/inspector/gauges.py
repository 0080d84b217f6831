"""The window made visible: the strip of the last calls, counters against thresholds, tiers over time."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter

from textual.content import Content

from loopguard_console.render import pad, safe, signature_label, tier_letter
from loopguard_console.viewing.view import View
from loopguard_core.recording.calls import Row
from loopguard_core.verdict import Count, Tier, Verdict, tool_of

#: What sets counters back.
_AFRESH = ("reset", "user_message", "turn_start")
#: Seconds below which the times of a recording only say the order.
_SHORTEST = 0.001
_SPARKS = "▁▂▃▄▅▆▇█"
_TIERS = ("$dim", "bold $text-warning", "bold $text-error", "bold $text-error reverse")


def letter_of(view: View, key: int) -> tuple[str, str]:
    """The letter of a key that came again and its colour; a dot for one that did not."""
    number = view.recording.letters.get(key)
    if number is None:
        return "·", "$dim"
    return chr(65 + number % 26), f"bold $letter-{number % 8}"


def strip(view: View, width: int) -> Content:
    """The last calls up to the cursor: equal ones have the same letter and colour."""
    keys = view.recording.window_at(view.cursor)
    gap = " " if width >= 2 * view.recording.window + 12 else ""
    parts: list[tuple[str, str]] = []
    for position, key in enumerate(keys):
        letter, style = letter_of(view, key)
        here = position == len(keys) - 1
        parts.append((f"{letter}", f"{style} underline" if here else style))
        parts.append((gap, ""))
    return Content.assemble(*parts)


def legend(view: View, width: int, most: int) -> list[Content]:
    """A line for each call that stands more than once in the window, the most frequent first."""
    keys = view.recording.window_at(view.cursor)
    total = view.recording.window
    lines = []
    for key, times in Counter(keys).most_common(most):
        if times < 2:
            break
        letter, style = letter_of(view, key)
        tally = f" {times} of the last {total}" if width >= 60 else f" {times}/{total}"
        bar = min(times, 20, max(4, width - 36))
        room = max(8, width - bar - len(tally) - 5)
        label = signature_label(view.recording.tools[key], view.recording.args_of_key(key), room)
        lines.append(
            Content.assemble(
                (f"{letter} ", style),
                (pad(label, room) + " ", ""),
                ("▇" * bar, style),
                (tally, "$dim"),
            )
        )
    return lines


def counter_lines(view: View, width: int, most: int) -> list[Content]:
    """The policy's counters: bar, count, and what comes at which count.

    First the one that the verdict on the selected call names, then those nearest to their next threshold.
    """
    shown = _counts(view)[:most]
    return [
        _counter(view, count, width, again=any(count.key == c.key for c in shown[:number]))
        for number, count in enumerate(shown)
    ]


def counter_of_call(view: View, width: int) -> Content | None:
    """One line for the counter of the selected call: what its verdict counts, else what is nearest to
    its next threshold; None for none."""
    current = view.recording.row(view.cursor) if view.cursor >= 0 else None
    counts = _counts(view)
    if current is None or not counts:
        return None
    count = counts[0]
    if _verdict(view) is None and not _is_about(count, current):
        return None
    keys = view.recording.window_at(view.cursor)
    times = list(keys).count(current.key)
    tally = f" · {times} of the last {view.recording.window}" if times > 1 else ""
    cells = 8 if width < 60 else 12
    words = f"{_ahead(count)}{tally}"
    if width - cells - len(words) < 16:
        words = _ahead(count)
    room = min(43, max(10, width - cells - len(words) - 1))  # arguments rather than what is counted
    return Content.assemble(
        _label(view, count, room),
        " ",
        *_bar(count, cells),
        (words, _TIERS[count.tier] if count.tier else ""),
    )


def _counts(view: View) -> list[Count]:
    """The counters at the cursor: first what the card says of the selected call, then the most urgent."""
    current = view.recording.row(view.cursor) if view.cursor >= 0 else None
    counts = [c for c in view.guard.counts() if c.count > 0]
    counts.sort(key=lambda c: _urgency(c, current))
    verdict = _verdict(view)
    if verdict is None:
        return counts
    tool = tool_of(verdict.signature)
    keys = (verdict.signature, tool)
    same = [c for c in counts if c.detector == verdict.detector and c.key in keys]
    named = Count(
        same[0].key if same else verdict.signature,
        tool,
        verdict.count,
        detector=verdict.detector,
        thresholds={
            **(same[0].thresholds if same else {}),
            **({verdict.tier: verdict.threshold} if verdict.threshold else {}),
        },
        tier=verdict.tier,
    )
    return [named, *(c for c in counts if c not in same)]


def _verdict(view: View) -> Verdict | None:
    """The verdict that the card explains, where our guard counted something and nobody has set it back since."""
    if view.cursor < 0 or not view.recording.tiers[view.cursor] or _set_back(view):
        return None
    verdict = view.recording.why(view.cursor)
    return verdict if verdict is not None and verdict.count and not verdict.source else None


def _set_back(view: View) -> bool:
    """Whether counters began afresh after the selected call had begun, as far as the cursor has come."""
    marks = view.recording.marks
    for mark in marks[bisect_right(marks, view.cursor, key=lambda m: m.row) :]:
        if mark.event.seq > view.seq:
            break
        if mark.event.type in _AFRESH:
            return True
    return False


def _is_about(count: Count, row: Row | None) -> bool:
    return row is not None and count.key in (row.signature, row.tool)


def _urgency(count: Count, row: Row | None) -> tuple[float, ...]:
    about = _is_about(count, row)
    top = max(count.thresholds.values(), default=0)
    return (0.0 if about else 1.0, -(count.count / top if top else 0.0), -float(count.count))


def _counter(view: View, count: Count, width: int, *, again: bool) -> Content:
    """*again*: a counter of the same call stands above."""
    cells = max(8, min(24, width // 4))
    return Content.assemble(
        _label(view, count, max(10, width - cells - 17), again=again),
        " ",
        *_bar(count, cells),
        (_ahead(count), _TIERS[count.tier] if count.tier else ""),
    )


def _bar(count: Count, cells: int) -> list[tuple[str, str]]:
    """The count in *cells* cells, with a letter where each tier begins."""
    marks = sorted((at, tier) for tier, at in count.thresholds.items())
    top = max([at for at, _ in marks] + [count.count])
    filled = round(cells * min(count.count, top) / top) if top else 0
    bar: list[tuple[str, str]] = []
    at_cell = {min(cells - 1, max(0, round(cells * at / top) - 1)): tier for at, tier in marks}
    for cell in range(cells):
        tier = at_cell.get(cell)
        if tier is not None:
            bar.append((tier_letter(tier), _TIERS[tier] if cell < filled else _faint(tier)))
        else:
            bar.append(
                (
                    "█" if cell < filled else "░",
                    _TIERS[count.tier] if cell < filled else "$faint",
                )
            )
    return bar


def _ahead(count: Count) -> str:
    """The count, and what comes next at which."""
    coming = count.next
    if coming is not None:
        return f" {count.count} · {coming[0].word} at {coming[1]}"
    return f" {count.count}" + (" · at limit" if count.thresholds else "")


def _faint(tier: Tier) -> str:
    return ("$dim", "$text-warning", "$text-error", "$text-error")[tier]


def _label(view: View, count: Count, room: int, *, again: bool = False) -> Content:
    """Letter, call, and where there is room for it what is counted; *again*, rather that than the call."""
    recording = view.recording
    row = recording.last_with(count.key)
    what = f" · {safe(count.detector)}" if room >= 44 else ""
    if row is None:
        return Content.assemble(("  ", ""), (pad(safe(count.tool) + what, room - 2), ""))
    letter, style = letter_of(view, recording.keys[row])
    if again and not what:
        return Content.assemble((f"{letter} ", style), (pad(safe(count.detector), room - 2), ""))
    label = signature_label(
        recording.tools[recording.keys[row]], recording.args(row), max(8, room - 2 - len(what))
    )
    return Content.assemble((f"{letter} ", style), (pad(label + what, room - 2), ""))


def timeline(view: View, width: int) -> Content:
    """The worst tier of each stretch of the session, with the cursor's place underlined."""
    return tier_line(view.recording.tiers, width, view.cursor)


def tier_line(tiers: bytes | bytearray, width: int, cursor: int = -1) -> Content:
    """Tiers of calls in order in at most *width* cells: of each stretch the worst."""
    total = len(tiers)
    cells = max(1, min(width, total))
    parts = []
    for cell in range(cells):
        first, last = cell * total // cells, (cell + 1) * total // cells
        stretch = tiers[first : max(last, first + 1)]
        tier = next((t for t in (3, 2, 1) if stretch.find(t) >= 0), 0)
        here = first <= cursor < max(last, first + 1)
        parts.append((tier_letter(tier), _TIERS[tier] + (" underline" if here else "")))
    return Content.assemble(*parts)


def sparkline(values: list[int]) -> str:
    """Numbers as a row of bars."""
    top = max(values, default=0)
    return "".join(_SPARKS[min(7, 8 * v // (top + 1))] if v else " " for v in values)


def rate(view: View, cells: int) -> tuple[str, float | None]:
    """Calls per stretch of time up to the cursor as a sparkline, and the seconds it spans."""
    times = view.recording.times(view.cursor, 600)
    if len(times) < 2 or times[-1] - times[0] < _SHORTEST:
        return "", None
    length = times[-1] - times[0]
    buckets = [0] * cells
    for ts in times:
        if times[0] <= ts <= times[-1]:  # a clock that was set stands still here
            buckets[min(cells - 1, int(cells * (ts - times[0]) / length))] += 1
    return sparkline(buckets), length
