"""The words that verdicts share, so that a person and a model read the same thing everywhere."""

from __future__ import annotations

CHANGE = (
    "Do not repeat it unchanged: use what you already have, change the arguments or the approach, "
    "or say what is blocking you."
)
DIAGNOSE = (
    "Read the latest error and change the arguments or the approach before trying again, "
    "or say what is blocking you."
)


def times(count: int) -> str:
    """*count* in words: ``0 times``, ``once``, ``twice``, ``3 times``."""
    return {0: "0 times", 1: "once", 2: "twice"}.get(count, f"{count} times")


def running(count: int) -> str:
    """The clause for identical calls in flight, empty where there are none."""
    if not count:
        return ""
    calls = "1 identical call is" if count == 1 else f"{count} identical calls are"
    return f" and {calls} still running, which counts as a repeat until it ends"


def ordinal(count: int) -> str:
    """``1st``, ``2nd``, ``3rd``, ``11th``."""
    if 10 <= count % 100 <= 20:
        return f"{count}th"
    return f"{count}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(count % 10, 'th') }"


def named(tool: str) -> str:
    """A tool's name as a sentence begins with it, also where there is none."""
    return tool if tool.strip() else "the tool without a name"
