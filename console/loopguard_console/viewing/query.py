"""The search language: ``tool:bash tier>=warn is:error count>=3 /regex/ words``; all terms must hold.

Pure. A term that cannot be read (an unfinished regular expression, an unknown tier) raises ``QueryError``
with what is wrong.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import NamedTuple

from loopguard_console.render import as_json
from loopguard_core.recording.calls import STATES
from loopguard_core.recording.replay import Recording
from loopguard_core.verdict import Tier

_OPERATORS: dict[str, Callable[[int, int], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
    ":": operator.eq,
}
_COMPARED = re.compile(r"(tier|count|turn|call)(>=|<=|>|<|=|:)(.+)")
_STATES = {
    "error": "error",
    "err": "error",
    "failed": "error",
    "refused": "blocked",
    "blocked": "blocked",
}
_TERM = re.compile(r'/(?P<regex>(?:[^/\\]|\\.)*)(?:/|$)|(?P<word>(?:[^\s"]|"[^"]*(?:"|$))+)')
Holds = Callable[[Recording, int], bool]


class QueryError(ValueError):
    """A query that cannot be read: what is wrong with it."""


#: The cost of a term for which arguments are read.
READS = 2


class Term(NamedTuple):
    """One condition. ``of_key``: equal calls agree on it, since it asks for tool and arguments alone.

    ``ends``: it may hold otherwise once the call has ended. ``cost``: cheap ones are asked first; from
    ``READS`` on the arguments are read for it.
    """

    holds: Holds
    cost: int = 0
    of_key: bool = False
    ends: bool = False


class Query:
    """What a person searches for.

    ``ends``: the answer may change when a call ends. ``reads``: it takes reading what calls were made with.
    """

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        terms = sorted((_term(found) for found in _TERM.finditer(text)), key=lambda t: t.cost)
        self._of_call = [term.holds for term in terms if not term.of_key]
        self._of_key = [term.holds for term in terms if term.of_key]
        self.ends = any(term.ends for term in terms)
        self.reads = any(term.cost >= READS for term in terms)

    def matches(self, recording: Recording, index: int) -> bool:
        """True where call *index* meets every term."""
        return self.of_call(recording, index) and self.of_key(recording, index)

    def of_call(self, recording: Recording, index: int) -> bool:
        """True where call *index* meets the terms about this one call."""
        return all(holds(recording, index) for holds in self._of_call)

    def of_key(self, recording: Recording, index: int) -> bool:
        """True where call *index* meets the terms on which all equal calls agree."""
        return all(holds(recording, index) for holds in self._of_key)

    def __bool__(self) -> bool:
        return bool(self._of_call or self._of_key)


def _term(found: re.Match[str]) -> Term:
    if found["regex"] is not None:
        try:
            pattern = re.compile(found["regex"], re.IGNORECASE)
        except re.error as error:
            raise QueryError(f"not a regular expression: {error}") from None
        return Term(lambda r, i: pattern.search(_text(r, i)) is not None, READS + 1, of_key=True)
    word = found["word"]
    compared = _COMPARED.fullmatch(word)
    if compared:
        return _comparison(*compared.groups())
    name, colon, value = word.partition(":")
    if colon and name == "tool":
        wanted = _plain(value).lower()
        return Term(lambda r, i: wanted in r.tools[r.keys[i]].lower(), of_key=True)
    if colon and name in ("is", "outcome"):
        return _outcome(value)
    if word in ("err", "error"):
        return _outcome("error")
    plain = _plain(word).lower()
    return Term(lambda r, i: plain in _text(r, i).lower(), READS, of_key=True)


def _outcome(word: str) -> Term:
    name = _STATES.get(word, word)
    state = STATES.index(name) if name in STATES else -1
    return Term(lambda r, i: r.outcomes[i] == state, ends=True)


def _plain(word: str) -> str:
    return word.replace('"', "")


def _comparison(name: str, sign: str, value: str) -> Term:
    """``tier>=warn``, ``count>3``, ``turn:2``, ``call<100``."""
    compare = _OPERATORS[sign]
    if name == "tier":
        try:
            wanted = int(Tier.of(value.lower()))
        except ValueError:
            raise QueryError(f"no tier is called {value}: allow, warn, block or halt") from None
        return Term(lambda r, i: compare(r.tiers[i], wanted), ends=True)
    if not value.isdigit():
        raise QueryError(f"{name} wants a number, not {value}")
    number = int(value)
    if name == "call":
        return Term(lambda r, i: compare(i + 1, number))
    if name == "turn":
        return Term(lambda r, i: compare(r.turn_at(i), number))
    return Term(lambda r, i: compare(r.row(i).count, number), 1)


def _text(recording: Recording, index: int) -> str:
    args = recording.args(index)
    return f"{recording.tools[recording.keys[index]]} {args if isinstance(args, str) else as_json(args)}"
