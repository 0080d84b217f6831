"""In which order sessions stand in the list: a tree, children below their parents. No Textual in here.

What a person looks for counts for the whole tree: a parent stands where its worst, its latest or its
waiting child puts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from loopguard_core.store.contract import Session

WAITING, RECORDED = "waiting", "as recorded"
#: The orders to choose from: the first is the one that holds when nobody chose.
LIVE_ORDERS = (WAITING, "last active", "name", "calls", "worst tier", "started")
REPLAY_ORDERS = (RECORDED, "last active", "name", "calls", "worst tier", "started")
_STATES = {"live": 0, "quiet": 1, "lost": 2, "ended": 3}


class Rolled(NamedTuple):
    """What a session and all below it amount to. ``last``: when the latest of them was active."""

    worst: int = 0
    waiting: int = 0
    last: float = 0.0


def roll_up(sessions: Iterable[Session]) -> dict[str, Rolled]:
    """Of each session what it and all below it amount to."""
    known = {s.session: s for s in sessions}
    out = dict.fromkeys(known, Rolled())
    for session in known.values():
        at, seen = session.session, set[str]()
        while at in known and at not in seen:
            seen.add(at)
            sum_ = out[at]
            out[at] = Rolled(
                max(sum_.worst, session.worst),
                sum_.waiting + session.waiting,
                max(sum_.last, session.last_ts or 0.0),
            )
            at = known[at].parent
    return out


class Arranger(NamedTuple):
    """What decides the order: pins first, then ``order``. ``title`` is what a person calls a session."""

    order: str
    pinned: Callable[[str], bool]
    title: Callable[[Session], str]
    state: Mapping[str, str]
    rolled: Mapping[str, Rolled]

    def tree(self, sessions: Sequence[Session]) -> list[tuple[int, Session]]:
        """The sessions with their depth, in the order of the list."""
        known = {s.session for s in sessions}
        below: dict[str, list[Session]] = {}
        for session in sessions:
            parent = session.parent if session.parent in known else ""
            below.setdefault("" if parent == session.session else parent, []).append(session)
        out: list[tuple[int, Session]] = []
        seen: set[str] = set()
        todo = [(0, s) for s in reversed(self._sorted(below.get("", [])))]
        while todo:
            depth, session = todo.pop()
            if session.session in seen:
                continue
            seen.add(session.session)
            out.append((depth, session))
            children = self._sorted(below.get(session.session, []))
            todo.extend((depth + 1, child) for child in reversed(children))
        return out

    def _sorted(self, sessions: list[Session]) -> list[Session]:
        if len(sessions) < 2:
            return sessions
        return sorted(sessions, key=lambda s: (not self.pinned(s.session), self._place(s)))

    def _place(self, session: Session) -> tuple[object, ...]:
        sum_ = self.rolled.get(session.session, Rolled())
        newest, name = -(session.first_ts or 0.0), session.session
        match self.order:
            case "waiting":
                state = _STATES.get(self.state.get(name, ""), 9)
                return (-min(sum_.waiting, 1), state, newest, name)
            case "last active":
                return (-sum_.last, newest, name)
            case "name":
                return (self.title(session).lower(), name)
            case "calls":
                return (-session.calls, newest, name)
            case "worst tier":
                return (-sum_.worst, -sum_.waiting, -sum_.last, name)
            case "started":
                return (newest, name)
            case _:
                return ()
