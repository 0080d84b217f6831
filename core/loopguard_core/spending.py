"""What a session used up: tokens, and money where it is stated. A pure fold over ``usage`` events.

A ``usage`` event has ``input`` (tokens that no cache served), ``output``, ``cache_read``, ``cache_write`` (tokens) and
``cost_usd``, each where it is known, for one answer of the model. ``message`` names the assistant message,
where its calls may come before. With ``of: "session"`` it is the total of the session so far, which is no single
answer's.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TOKENS = ("input", "output", "cache_read", "cache_write")


class Spent:
    """Tokens and dollars. ``cost`` is None where nothing says it."""

    __slots__ = ("cost", "tokens")

    def __init__(self, tokens: int = 0, cost: float | None = None) -> None:
        self.tokens = tokens
        self.cost = cost

    def __bool__(self) -> bool:
        return bool(self.tokens or self.cost)


class Spending:
    """Sums over stretches of calls. It grows with the ``usage`` events, not with the calls."""

    __slots__ = ("_costs", "_rows", "_session", "_tokens")

    def __init__(self) -> None:
        self._rows = array("I")
        self._tokens = array("d")
        self._costs = array("d")
        self._session = Spent()

    def add(self, row: int, said: Mapping[str, Any]) -> None:
        """Count the usage *said* of the answer whose first call is *row*: of later calls, none is known yet."""
        tokens, cost = tokens_of(said), _amount(said.get("cost_usd"))
        if said.get("of") == "session":
            last = self._session
            self._session = Spent(tokens or last.tokens, cost or last.cost)
            return
        row = max(row, self._rows[-1]) if self._rows else row
        before = (self._tokens[-1], self._costs[-1]) if self._rows else (0.0, 0.0)
        self._rows.append(row)
        self._tokens.append(before[0] + tokens)
        self._costs.append(before[1] + (cost or 0.0))

    @property
    def total(self) -> Spent:
        """The whole session: its own total where it states one, else the sum of its answers."""
        summed = self._until(len(self._rows))
        return Spent(self._session.tokens or summed.tokens, self._session.cost or summed.cost)

    def between(self, first: int, last: int) -> Spent:
        """What the answers used up that brought the calls from *first* to *last*, and what was said between."""
        begun = self._until(bisect_left(self._rows, first))
        done = self._until(bisect_left(self._rows, last + 1))
        cost = (done.cost or 0.0) - (begun.cost or 0.0)
        return Spent(done.tokens - begun.tokens, cost if cost > 1e-12 else None)

    def _until(self, count: int) -> Spent:
        if not count:
            return Spent()
        return Spent(int(self._tokens[count - 1]), self._costs[count - 1] or None)


def tokens_of(said: Mapping[str, Any]) -> int:
    """All tokens of a ``usage`` event; what is no count is nothing."""
    return int(sum(_amount(said.get(name)) or 0.0 for name in TOKENS))


def _amount(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 < value < 1e15 else None
