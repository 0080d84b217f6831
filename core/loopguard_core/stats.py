"""What one session's calls look like in numbers: repetition, alternation, failure.

A pure fold over the events of one session, in their order. Memory grows by one byte a call and one
digest a different call; payloads are not kept.
"""

from __future__ import annotations

from collections import Counter, deque

from loopguard_core.identity import Digester, canonical
from loopguard_core.spending import Spending, Spent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from loopguard_core.events import Event

WINDOW = 20
_FAILED = frozenset({"error", "blocked", "denied"})
_OK, _FAILURE, _UNDECIDED, _UNANSWERED = 0, 1, 2, 3
_SHORTEST_PINGPONG = 4


class SessionStats:
    """Feed it the events of one session with ``add``; ``to_json`` gives the numbers so far.

    Each call counts once, by its id, whatever happened to it. Calls are equal where the tool and the
    arguments with sorted keys are.
    """

    def __init__(self) -> None:
        self._digest = Digester()
        self._places: dict[str, int] = {}
        self._states = bytearray()
        self._kinds: dict[str, _Kind] = {}
        self._agents: set[str] = set()
        self._recent: deque[str] = deque(maxlen=WINDOW)
        self._in_window: Counter[str] = Counter()
        self._run = self._longest = self._longest_end = 0
        self._pair = self._pingpong = 0
        self._turns = 0
        self._most_in_window = 0
        self._spending = Spending()

    def add(self, event: Event) -> None:
        """Count one event in. Recorded events come through ``events.expand`` first."""
        if event.type == "user_message":
            self._turns += 1
        elif event.type == "call_start":
            self._request(str(event.data["call"]), event)
        elif event.type == "call_end":
            answered = event.data.get("result") is not None
            self._answer(str(event.data["call"]), str(event.data["outcome"]), answered)
        elif event.type == "usage":
            self._spending.add(len(self._states), event.data)

    def add_all(self, events: Iterable[Event]) -> SessionStats:
        """Count many events in; itself again."""
        for event in events:
            self.add(event)
        return self

    @property
    def spent(self) -> Spent:
        """Tokens and money, as far as the recording states them."""
        return self._spending.total

    def to_json(self, *, failures_known: bool = True) -> dict[str, Any]:
        """The numbers: ``calls`` (requested), ``distinct``, ``longest_run`` (identical in a row),
        ``run_failures`` (inside the first such run), ``max_in_20`` (identical in any 20 consecutive),
        ``pingpong`` (longest A B A B …, 0 below 4), ``failures`` (error, blocked, denied),
        ``longest_failure_streak``, ``without_result``, ``turns``, ``agents`` and ``top_tool`` (of the
        call with the longest run; among equals, of the one that came most often). Where a format does not say which calls failed, the three numbers about failures
        are None.
        """
        states = self._states
        run = states[self._longest_end - self._longest : self._longest_end]
        failing = {
            "run_failures": run.count(_FAILURE),
            "failures": states.count(_FAILURE),
            "longest_failure_streak": _longest_streak(states),
        }
        return {
            "calls": len(states),
            "distinct": len(self._kinds),
            "longest_run": self._longest,
            "max_in_20": self._most_in_window,
            "pingpong": self._pingpong if self._pingpong >= _SHORTEST_PINGPONG else 0,
            **(failing if failures_known else dict.fromkeys(failing)),
            "without_result": states.count(_UNANSWERED),
            "turns": self._turns,
            "agents": len(self._agents),
            "top_tool": max(self._kinds.values(), key=_Kind.rank, default=_Kind("")).tool,
        }

    def _request(self, call: str, event: Event) -> None:
        if call in self._places:
            return
        self._places[call] = len(self._states)
        self._states.append(_UNANSWERED)
        tool = str(event.data["tool"])
        key = f"{tool}\0{self._digest(canonical(event.data.get('args')))}"
        kind = self._kinds.setdefault(key, _Kind(tool))
        kind.count += 1
        self._agents.add(event.text("agent"))
        self._follow(key)
        kind.run = max(kind.run, self._run)

    def _follow(self, key: str) -> None:
        recent = self._recent
        same = bool(recent) and recent[-1] == key
        self._run = self._run + 1 if same else 1
        if self._run > self._longest:
            self._longest, self._longest_end = self._run, len(self._states)
        if same or not recent:
            self._pair = 1
        elif len(recent) > 1 and recent[-2] == key:
            self._pair += 1
        else:
            self._pair = 2
        self._pingpong = max(self._pingpong, self._pair)
        if len(recent) == WINDOW:
            self._in_window[recent[0]] -= 1
        recent.append(key)
        self._in_window[key] += 1
        self._most_in_window = max(self._most_in_window, self._in_window[key])

    def _answer(self, call: str, outcome: str, answered: bool) -> None:
        place = self._places.get(call)
        if place is None or outcome == "pending" or (outcome == "cancelled" and not answered):
            return
        if outcome in _FAILED:
            self._states[place] = _FAILURE
        else:
            self._states[place] = _UNDECIDED if outcome == "cancelled" else _OK


class _Kind:
    """One different call: its tool, how often it came, and its longest run."""

    __slots__ = ("count", "run", "tool")

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.count = 0
        self.run = 0

    def rank(self) -> tuple[int, int]:
        """What makes it the most repeated one: the longest run, then how often it came."""
        return self.run, self.count


def _longest_streak(states: bytearray) -> int:
    longest = streak = 0
    for state in states:
        if state == _FAILURE:
            streak += 1
            longest = max(longest, streak)
        elif state == _OK:
            streak = 0
    return longest
