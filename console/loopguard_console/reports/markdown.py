"""A report as Markdown, to be pasted into an issue. Foreign text stands in code and cannot leave it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loopguard_console.chains import chain_lines
from loopguard_console.render import collapse_frames, pretty, safe
from loopguard_console.reports.incident import Incident, facts, sentence

_LONGEST = 4_000


def markdown(found: Incident) -> str:
    """The report of one incident."""
    return "\n".join(_parts(found)) + "\n"


def _parts(found: Incident) -> Iterator[str]:
    yield f"# What happened in {_code(found.recording.session)}"
    yield ""
    yield _plain(sentence(found))
    yield ""
    yield "| | |\n|---|---|"
    for name, value in facts(found):
        yield f"| {name} | {_cell(value)} |"
    yield ""
    yield f"## The last {len(found.window)} calls"
    yield ""
    yield _fence(" ".join(found.window))
    for letter, label, times in found.repeats:
        yield f"- {letter} is {_code(label)}, {times} times"
    yield ""
    yield "## The call"
    yield ""
    yield "Arguments:\n"
    yield _fence(_cut(pretty(found.args)))
    if found.result is not None:
        yield "\nResult:\n"
        yield _fence(_cut(collapse_frames(pretty(found.result))))
    yield ""
    yield "## All calls"
    yield ""
    yield _fence("\n".join(chain_lines(found.recording)))


def _cut(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}\n… {len(text) - _LONGEST} more characters"


def _fence(text: str) -> str:
    """A code block whose fence is longer than any in *text*."""
    ticks = max([2, *map(len, re.findall("`+", text))]) + 1
    return f"{'`' * ticks}text\n{safe(text, lines=True)}\n{'`' * ticks}"


def _code(text: str) -> str:
    """Code in a line."""
    shown = safe(text)
    ticks = max([0, *map(len, re.findall("`+", shown))]) + 1
    return f"{'`' * ticks}{' ' if ticks > 1 else ''}{shown}{' ' if ticks > 1 else ''}{'`' * ticks}"


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


def _plain(text: str) -> str:
    """Text in which nothing is markup."""
    return re.sub(r"([\\`*_{}\[\]<>#~!$&])", r"\\\1", safe(text))
