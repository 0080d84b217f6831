"""When to call the person: once for each request, not too often, never while muted. Pure."""

from __future__ import annotations

from collections.abc import Iterable

EVERY = 3.0  # seconds between two rings


class Bell:
    """What the terminal is told as requests come and go. The words are our own, never an agent's.

    ``news``: the requests about which the last orders ring, empty where they do not.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._known: frozenset[str] = frozenset()
        self._rang = float("-inf")
        self._title = name
        self.news: frozenset[str] = frozenset()

    def orders(self, waiting: Iterable[str], now: float, *, muted: bool) -> list[str]:
        """Orders to write to the terminal now that *waiting* wait: bell and title.

        A request that came while it was too early to ring again rings later, if it still waits.
        """
        there = frozenset(waiting)
        out = []
        self.news = frozenset()
        if muted:
            self._known = there
        elif there - self._known and now - self._rang >= EVERY:
            self.news = there - self._known
            self._known, self._rang = there, now
            out.append("\x07")
        else:
            self._known &= there
        title = f"{self._name}: {len(there)} waiting" if there else self._name
        if title != self._title:
            self._title = title
            out.append(f"\x1b]2;{title}\x07")
        return out
