"""Calls that have started and not ended.

Many identical calls at once must not slip past a threshold because none has ended yet: while they run,
policies that count outcomes presume that each will be one more repeat.
"""

from __future__ import annotations


class Flight:
    """How many calls of each signature are in flight."""

    __slots__ = ("_calls", "_counts")

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def start(self, call: str, signature: str) -> None:
        """The call with the id *call* runs."""
        if call in self._calls:
            self.end(call)
        self._calls[call] = signature
        self._counts[signature] = self._counts.get(signature, 0) + 1

    def end(self, call: str) -> None:
        """It ended, however it did. Unknown calls are ignored."""
        signature = self._calls.pop(call, None)
        if signature is None:
            return
        left = self._counts[signature] - 1
        if left:
            self._counts[signature] = left
        else:
            del self._counts[signature]

    def count(self, signature: str) -> int:
        """Calls of *signature* in flight."""
        return self._counts.get(signature, 0)

    def clear(self) -> None:
        """A new turn: what has not ended by now never counts."""
        self._calls.clear()
        self._counts.clear()

    def __copy__(self) -> Flight:
        twin = Flight()
        twin._calls = dict(self._calls)
        twin._counts = dict(self._counts)
        return twin
