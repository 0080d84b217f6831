"""Conditions of breakpoints: ``tool:bash tier>=warn count>=3 /rm -rf/ words``; all terms must hold.

The part of the console's search language that can be asked of a call before it runs. A term that cannot be
read raises ``ConditionError`` with what is wrong.
"""

from __future__ import annotations

import re

from loopguard_core.identity import canonical
from loopguard_core.patterns import lazy
from loopguard_core.verdict import Tier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard_core.verdict import Verdict

    Term = Callable[[str, str, Verdict], bool]

_TERM = lazy(r'/(?P<regex>(?:[^/\\]|\\.)*)/|"(?P<phrase>[^"]*)"|(?P<word>\S+)')
_COMPARED = lazy(r"(tier|count)(>=|<=|>|<|=|:)(.+)")


class ConditionError(ValueError):
    """A condition that cannot be read: what is wrong with it."""


class Condition:
    """A condition over a call before it runs. An empty one holds for every call."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._terms = [_term(found) for found in _TERM.finditer(text)]

    def holds(self, tool: str, args: object, verdict: Verdict) -> bool:
        """True where every term holds for a call of *tool* on which the policy says *verdict*."""
        shown = f"{tool} {args if isinstance(args, str) else canonical(args)}"
        return all(term(tool, shown, verdict) for term in self._terms)


def _term(found: re.Match[str]) -> Term:
    if found["regex"] is not None:
        try:
            pattern = re.compile(found["regex"], re.IGNORECASE)
        except re.error as error:
            raise ConditionError(f"not a regular expression: {error}") from None
        return lambda tool, shown, verdict: pattern.search(shown) is not None
    if found["phrase"] is not None:
        return _contains(found["phrase"])
    word = found["word"]
    compared = _COMPARED.fullmatch(word)
    if compared:
        return _comparison(*compared.groups())
    name, colon, value = word.partition(":")
    if colon and name == "tool":
        wanted = value.strip('"').lower()
        return lambda tool, shown, verdict: wanted in tool.lower()
    if colon and name in ("is", "outcome", "turn", "call"):
        raise ConditionError(f"{name} is not known before a call runs")
    return _contains(word)


def _contains(text: str) -> Term:
    wanted = text.lower()
    return lambda tool, shown, verdict: wanted in shown.lower()


def _comparison(name: str, sign: str, value: str) -> Term:
    if name == "tier":
        try:
            number = int(Tier.of(value.lower()))
        except ValueError as error:
            raise ConditionError(str(error)) from None
    elif value.isdecimal():
        number = int(value)
    else:
        raise ConditionError(f"{name} wants a number, not {value}")
    return lambda tool, shown, verdict: _compare(
        int(verdict.tier) if name == "tier" else verdict.count, sign, number
    )


def _compare(one: int, sign: str, other: int) -> bool:
    if sign in ("=", ":"):
        return one == other
    if one == other:
        return len(sign) == 2
    return (one > other) == sign.startswith(">")
