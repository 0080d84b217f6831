"""What a repetition has cost since it began: calls, time, and tokens and money where the transcript has them."""

from __future__ import annotations

from loopguard_console.render import counted, span
from loopguard_core.recording.replay import Recording
from loopguard_core.spending import Spent

_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def since_first(recording: Recording, row: int) -> str:
    """The cost of the repeats of call *row* up to it, in words; empty where it came for the first time."""
    if row < 0 or recording.row(row).count < 2:
        return ""
    first = recording.first_of_streak(row)
    key = recording.keys[row]
    again = sum(1 for k in recording.keys[first : row + 1] if k == key) - 1
    began, now = recording.row(first).ts, recording.row(row).ts
    words = counted(again, "repeat")
    if began is not None and now is not None and now > began:
        words += f" in {span(now - began)}"
    return " · ".join((words, *spent(recording.spending.between(first + 1, row))))


def last_of_streak(recording: Recording, row: int) -> int:
    """The last of the repeats to which call *row* belongs, within 10,000 calls."""
    key, last = recording.keys[row], row
    for at in range(row + 1, min(len(recording), row + 10_000)):
        if recording.keys[at] == key:
            last = at
        elif at - last >= recording.window:
            break
    return last


def spent(used: Spent) -> list[str]:
    """Tokens and money in words, each where it is known: ``1.2 M tokens``, ``$3.40``."""
    out = []
    if used.tokens:
        out.append(f"{many(used.tokens)} token" + ("s" if used.tokens != 1 else ""))
    if used.cost:
        out.append(dollars(used.cost))
    return out


def many(count: int) -> str:
    """A count with two or three digits: ``950``, ``12 k``, ``1.2 M``."""
    for at, unit in _UNITS:
        if count >= at * 0.9995:
            scaled = count / at
            return f"{scaled:.1f} {unit}" if scaled < 9.95 else f"{scaled:.0f} {unit}"
    return str(count)


def dollars(cost: float) -> str:
    """An amount in cents, below a cent with two digits."""
    if cost >= 0.01:
        return f"${cost:,.2f}"
    return f"${cost:.2g}" if cost >= 0.0001 else "under $0.0001"
