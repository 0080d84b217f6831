"""Does a regular expression take for ever on some text?

It does where one of its repeats can share out the same text in more than one way and something behind it can fail: each
way is tried, and their number doubles with every few characters. The expression is read as the positions of its
characters and which may follow which, as often as it says so. Two ways from a position back to itself over the same
characters are what is looked for. Nothing is run, and what is not understood is taken for harmless.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

#: What stands for all characters, beside those that the expression names and their neighbours.
_SAMPLE = "".join(map(chr, range(128))) + "é٣\u2028中"
#: positions of the largest expression that is looked at
_LARGEST = 120
_KINDS: dict[Any, Callable[[str], bool]] = {
    ops.CATEGORY_DIGIT: str.isdecimal,
    ops.CATEGORY_SPACE: str.isspace,
    ops.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
    ops.CATEGORY_NOT_DIGIT: lambda c: not c.isdecimal(),
    ops.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
    ops.CATEGORY_NOT_WORD: lambda c: not (c.isalnum() or c == "_"),
}
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT)
_LOOKS = (ops.ASSERT, ops.ASSERT_NOT)


class _TooLarge(Exception):
    """More positions than are looked at."""


class _Piece:
    """A part of the expression: the positions that it may begin and end with, and whether it may be empty."""

    __slots__ = ("empty", "first", "last")

    def __init__(self, first: Iterable[int] = (), last: Iterable[int] = (), *, empty: bool) -> None:
        self.first = frozenset(first)
        self.last = frozenset(last)
        self.empty = empty


def takes_for_ever(pattern: re.Pattern[str]) -> bool:
    """Whether *pattern* takes time that doubles with every few characters of some text."""
    try:
        tree = parser.parse(pattern.pattern, pattern.flags)
        return _Reading(tree, ignoring_case=bool(pattern.flags & re.IGNORECASE)).explodes()
    except (_TooLarge, RecursionError):
        return False


class _Reading:
    """The positions of an expression, each with the characters of the sample that it takes (as bits)."""

    def __init__(self, tree: Any, *, ignoring_case: bool) -> None:
        self._fold = ignoring_case
        self._sample = sorted({*_SAMPLE, *_named(tree)})
        self._takes: list[int] = []
        self._steps: Counter[tuple[int, int]] = Counter()
        self._ahead: list[bool] = []
        self._whole = self._sequence(tree)

    # -- reading ---------------------------------------------------------------------------------

    def _position(self, takes: int) -> _Piece:
        at = len(self._takes)
        if at >= _LARGEST:
            raise _TooLarge
        self._takes.append(takes)
        return _Piece((at,), (at,), empty=False)

    def _follow(self, before: Iterable[int], after: Iterable[int]) -> None:
        after = tuple(after)
        self._steps.update((one, other) for one in before for other in after)

    def _sequence(self, items: Any) -> _Piece:
        whole = _Piece(empty=True)
        for item in items:
            piece = self._piece(*item)
            self._follow(whole.last, piece.first)
            whole = _Piece(
                whole.first | piece.first if whole.empty else whole.first,
                whole.last | piece.last if piece.empty else piece.last,
                empty=whole.empty and piece.empty,
            )
        return whole

    def _piece(self, op: Any, said: Any) -> _Piece:
        if op in _REPEATS:
            return self._repeat(*said)
        if op is ops.SUBPATTERN:
            return self._sequence(said[3])
        if op is ops.BRANCH:
            ways = [self._sequence(way) for way in said[1]]
            first, last = (frozenset[int]().union(*(getattr(w, n) for w in ways)) for n in _ENDS)
            return _Piece(first, last, empty=any(way.empty for way in ways))
        if op in _LOOKS:
            self._ahead.append(_Reading(said[1], ignoring_case=self._fold).explodes())
        if op in (ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN):
            return self._position(self._characters([(op, said)] if op is not ops.IN else said))
        return self._position(0)  # takes nothing, or what is never given back

    def _repeat(self, least: int, most: int, body: Any) -> _Piece:
        endless = most == ops.MAXREPEAT
        count = max(least, 1) if endless else most
        if count > _LARGEST:
            raise _TooLarge
        pieces = []
        for _ in range(count):
            pieces.append(self._sequence(body))
            if len(pieces) > 1:
                self._follow(pieces[-2].last, pieces[-1].first)
        if not pieces:
            return _Piece(empty=True)
        if endless:
            self._follow(pieces[-1].last, pieces[-1].first)
        ends = pieces if pieces[0].empty else pieces[max(least, 1) - 1 :]
        last = frozenset[int]().union(*(piece.last for piece in ends))
        return _Piece(pieces[0].first, last, empty=not least or pieces[0].empty)

    def _characters(self, items: Any) -> int:
        """What a class takes of the sample."""
        negated = items[0][0] in (ops.NEGATE, ops.NOT_LITERAL)
        found = 0
        for bit, character in enumerate(self._sample):
            forms = {character, character.lower(), character.upper()} if self._fold else {character}
            if any(_is_one(op, said, form) for op, said in items for form in forms) != negated:
                found |= 1 << bit
        return found

    # -- judging ---------------------------------------------------------------------------------

    def explodes(self) -> bool:
        """True where the expression has such a repeat and cannot simply end behind it."""
        if any(self._ahead):
            return True
        after: dict[int, list[int]] = {}
        for one, other in self._steps:
            after.setdefault(one, []).append(other)
        return any(
            self._shares_out(at, after)
            for at in range(len(self._takes))
            if at not in self._whole.last
        )

    def _shares_out(self, start: int, after: dict[int, list[int]]) -> bool:
        """True where two ways lead from *start* to itself over the same characters."""
        takes, home = self._takes, (start, start)
        edges: dict[tuple[int, int], list[tuple[int, int]]] = {}
        todo, before = [home], dict[tuple[int, int], list[tuple[int, int]]]()
        while todo:
            pair = todo.pop()
            if pair in edges:
                continue
            one, other = pair
            edges[pair] = [
                (p, q)
                for p in after.get(one, ())
                for q in after.get(other, ())
                if takes[p] & takes[q]
            ]
            for found in edges[pair]:
                before.setdefault(found, []).append(pair)
            todo += edges[pair]
        back, todo = set[tuple[int, int]](), [home]
        while todo:
            pair = todo.pop()
            if pair not in back:
                back.add(pair)
                todo += before.get(pair, ())
        return any(
            pair[0] != pair[1]
            or any(
                p == q and (p, q) in back and self._steps[pair[0], p] > 1 for p, q in edges[pair]
            )
            for pair in back
            if before.get(home)
        )


_ENDS = ("first", "last")


def _is_one(op: Any, said: Any, character: str) -> bool:
    if op is ops.ANY:
        return character != "\n"
    if op in (ops.LITERAL, ops.NOT_LITERAL):
        return bool(ord(character) == said)
    if op is ops.RANGE:
        return bool(said[0] <= ord(character) <= said[1])
    return op is ops.CATEGORY and said in _KINDS and _KINDS[said](character)


def _named(tree: Any) -> Iterable[str]:
    """The characters that are named anywhere in *tree*, and their neighbours."""
    for item in tree:
        if not isinstance(item, tuple):
            if isinstance(item, (list, parser.SubPattern)):
                yield from _named(item)
            continue
        op: Any = item[0]
        said: Any = item[1] if len(item) > 1 else None
        ends = said if op is ops.RANGE else (said,) if op in (ops.LITERAL, ops.NOT_LITERAL) else ()
        for end in ends:
            yield from (chr(n) for n in range(max(0, end - 1), min(end + 2, 0x110000)))
        if isinstance(said, (tuple, list, parser.SubPattern)):
            yield from _named(said)
