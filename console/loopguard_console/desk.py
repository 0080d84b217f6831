"""What the console knows: sessions, what waits, and the chains that are open. No Textual in here.

Fed by batches in a live console and once in a replay; the screens only look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from loopguard_console.feed import Batch
from loopguard_console.view import View
from loopguard_core.calls import Events
from loopguard_core.events import Event
from loopguard_core.guard import Guard
from loopguard_core.replay import Recording
from loopguard_core.store.contract import Request, Session

OPEN_VIEWS = 8  # chains kept in memory besides the one on the screen


class Desk:
    """The state behind every screen.

    *guard_of* makes the guard for a session from its first event (None where nothing is known);
    *events_of* says where the session's events are read again.
    """

    def __init__(
        self,
        *,
        live: bool,
        guard_of: Callable[[Event | None], Guard],
        events_of: Callable[[str], Events],
    ) -> None:
        self.live = live
        self.now = 0.0
        self.current = ""
        self.sessions: list[Session] = []
        self.state: dict[str, str] = {}
        self.waiting: list[Request] = []
        self.views: dict[str, View] = {}
        self.error = ""
        self.filter = ""
        self._rolled: dict[str, int] | None = None
        self._known: dict[str, Session] = {}
        self.pinned: Callable[[str], bool] = lambda session: False
        self.named: Callable[[str], str] = lambda session: ""
        self.loaded = not live
        self._guard_of = guard_of
        self._events_of = events_of

    # -- feeding -----------------------------------------------------------------------------------

    def take(self, batch: Batch) -> None:
        """Take a batch of the feed in."""
        self.now = batch.now
        self.error = batch.error
        if batch.error:
            return
        self.loaded = True
        if self.sessions != list(batch.sessions):
            self.sessions = list(batch.sessions)
            self._known = {s.session: s for s in self.sessions}
            self._rolled = None
        self.state = batch.state
        self.waiting = sorted(batch.waiting, key=lambda r: (-r.tier, r.opened_ts or 0.0, r.seq))
        for session, events in batch.events.items():
            self.append(session, list(events))
        if not self.current and self.sessions:
            self.current = self.tree()[0][1].session

    def append(self, session: str, events: list[Event]) -> None:
        """Further events of one session."""
        view = self.views.get(session)
        if view is None:
            first = next((e for e in events if e.type == "session_start"), None)
            recording = Recording(self._guard_of(first), self._events_of(session))
            recording.session = session
            view = self.views[session] = View(recording, live=self.live)
        view.append(events)

    def record(self, events: Iterable[Event]) -> None:
        """Further events of a recording, of whatever sessions."""
        by_session: dict[str, list[Event]] = {}
        for event in events:
            by_session.setdefault(event.session, []).append(event)
        for name, its in by_session.items():
            self.append(name, its)
            self._tally(name, self.views[name].recording)

    def _tally(self, name: str, recording: Recording) -> None:
        """Keep the line of a recorded session in the list."""
        session = self.session(name)
        if session is None:
            session = Session(name)
            self.sessions.append(session)
            self._known[name] = session
            self.current = self.current or name
        if recording.start is not None:
            session.agent = recording.start.text("agent")
            session.parent = recording.start.text("parent")
        session.calls, session.worst = len(recording), int(recording.worst)
        self._rolled = None

    # -- looking -----------------------------------------------------------------------------------

    @property
    def view(self) -> View | None:
        """The chain on the screen, None until its first events are there."""
        return self.views.get(self.current)

    def session(self, name: str) -> Session | None:
        """What is known of a session."""
        return self._known.get(name)

    def tree(self) -> list[tuple[int, Session]]:
        """Sessions with their depth: children below their parents, waiting and worst first."""
        sessions = [s for s in self.sessions if self._matches(s)]
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

    def _matches(self, session: Session) -> bool:
        state = self.state.get(session.session, "")
        fields = (session.session, session.name, session.agent, session.cwd, state)
        text = " ".join((*fields, self.named(session.session))).lower()
        return all(word in text for word in self.filter.lower().split())

    def _sorted(self, sessions: list[Session]) -> list[Session]:
        if not self.live:
            return sorted(sessions, key=lambda s: not self.pinned(s.session))
        order = {"live": 0, "quiet": 1, "lost": 2, "ended": 3}
        return sorted(
            sessions,
            key=lambda s: (
                not self.pinned(s.session),
                -min(s.waiting, 1),
                order.get(self.state.get(s.session, ""), 9),
                -(s.first_ts or 0.0),
                s.session,
            ),
        )

    def worst_of(self, session: str) -> int:
        """The worst tier of a session and all below it."""
        if self._rolled is None:
            self._rolled = self._roll_up()
        return self._rolled.get(session, 0)

    def _roll_up(self) -> dict[str, int]:
        parents = {s.session: s.parent for s in self.sessions}
        worst = dict.fromkeys(parents, 0)
        for session in self.sessions:
            at, seen = session.session, set[str]()
            while at in worst and at not in seen:
                seen.add(at)
                worst[at] = max(worst[at], session.worst)
                at = parents[at]
        return worst

    def request(self, name: str) -> Request | None:
        """A waiting request by its id."""
        return next((r for r in self.waiting if r.request == name), None)

    # -- choosing ----------------------------------------------------------------------------------

    def select(self, session: str) -> list[str]:
        """Put a session on the screen; the chains that are to be forgotten."""
        self.current = session
        if session in self.views:
            self.views[session] = self.views.pop(session)
        if not self.live:
            return []
        old = [name for name in self.views if name != session][:-OPEN_VIEWS]
        for name in old:
            del self.views[name]
        return old

    def neighbour(self, by: int) -> str:
        """The session *by* places further in the list (around the end)."""
        names = [s.session for _, s in self.tree()]
        if not names:
            return ""
        at = names.index(self.current) if self.current in names else 0
        return names[(at + by) % len(names)]

    def next_waiting(self, after: str) -> Request | None:
        """The waiting request after *after* in the inbox's order, around the end."""
        if not self.waiting:
            return None
        ids = [r.request for r in self.waiting]
        return self.waiting[(ids.index(after) + 1) % len(ids) if after in ids else 0]
