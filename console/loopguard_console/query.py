"""The search language: ``tool:bash tier>=warn is:error count>=3 /regex/ words``; all terms must hold.

Pure. A term that cannot be read (an unfinished regular expression, an unknown tier) raises ``QueryError``
with what is wrong.
"""

from __future__ import annotations

import operator
import re
import shlex
from collections.abc import Callable

from loopguard_console.render import as_json
from loopguard_core.replay import Recording
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
Term = Callable[[Recording, int], bool]


class QueryError(ValueError):
    """A query that cannot be read: what is wrong with it."""


class Query:
    """What a person searches for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._terms = [_term(word) for word in _words(text)]
        self._terms.sort(key=lambda pair: pair[0])

    def matches(self, recording: Recording, index: int) -> bool:
        """True where call *index* meets every term."""
        return all(holds(recording, index) for _, holds in self._terms)

    def __bool__(self) -> bool:
        return bool(self._terms)


def _words(text: str) -> list[str]:
    """Words, quoted phrases, and regular expressions between slashes."""
    out = []
    rest = text.strip()
    while rest:
        if rest.startswith("/"):
            end = rest.find("/", 1)
            end = len(rest) if end < 0 else end
            out.append(rest[: end + 1])
            rest = rest[end + 1 :].lstrip()
            continue
        word, _, rest = rest.partition(" ")
        if word.count('"') == 1:
            more, _, rest = rest.partition('"')
            word = f'{word} {more}"'
        out.append(word)
        rest = rest.lstrip()
    return [word for word in out if word]


def _term(word: str) -> tuple[int, Term]:
    """The cost of a term (cheap ones are asked first) and the term."""
    if word.startswith("/"):
        try:
            pattern = re.compile(word.strip("/"), re.IGNORECASE)
        except re.error as error:
            raise QueryError(f"not a regular expression: {error}") from None
        return 2, lambda r, i: bool(pattern.search(_text(r, i)))
    compared = _COMPARED.fullmatch(word)
    if compared:
        return 0, _comparison(*compared.groups())
    name, colon, value = word.partition(":")
    if colon and name == "tool":
        wanted = _plain(value).lower()
        return 0, lambda r, i: wanted in r.tools[r.keys[i]].lower()
    if colon and name in ("is", "outcome"):
        state = _STATES.get(value, value)
        return 0, lambda r, i: r.row(i).outcome == state
    if word in ("err", "error"):
        return 0, lambda r, i: r.row(i).outcome == "error"
    plain = _plain(word).lower()
    return 1, lambda r, i: plain in _text(r, i).lower()


def _plain(word: str) -> str:
    try:
        return " ".join(shlex.split(word))
    except ValueError:
        return word.replace('"', "")


def _comparison(name: str, sign: str, value: str) -> Term:
    compare = _OPERATORS[sign]
    if name == "tier":
        try:
            wanted = int(Tier.of(value.lower()))
        except ValueError:
            raise QueryError(f"no tier is called {value}: allow, warn, block or halt") from None
        return lambda r, i: compare(r.tiers[i], wanted)
    if not value.isdigit():
        raise QueryError(f"{name} wants a number, not {value}")
    number = int(value)
    if name == "call":
        return lambda r, i: compare(i + 1, number)
    if name == "turn":
        return lambda r, i: compare(r.row(i).turn, number)
    return lambda r, i: compare(r.row(i).count, number)


def _text(recording: Recording, index: int) -> str:
    args = recording.args(index)
    return f"{recording.tools[recording.keys[index]]} {args if isinstance(args, str) else as_json(args)}"
