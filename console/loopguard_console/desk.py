"""What the console knows: sessions, what waits, and the chains that are open. No Textual in here.

Fed by batches in a live console and once in a replay; the screens only look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from loopguard_console.feed import Batch
from loopguard_console.keys.keynames import USUAL
from loopguard_console.render import UNJUDGED, safe, session_title, tier_letter
from loopguard_console.viewing.arranging import (
    LIVE_ORDERS,
    RECORDED,
    REPLAY_ORDERS,
    WAITING,
    Arranger,
    Rolled,
    roll_up,
)
from loopguard_console.viewing.places import Bookmarks
from loopguard_console.viewing.view import View
from loopguard_core.events import Event
from loopguard_core.guard import Guard
from loopguard_core.policies.base import Policy
from loopguard_core.recording.calls import Events
from loopguard_core.recording.replay import Recording
from loopguard_core.store.contract import Machine, Request, Session
from loopguard_core.verdict import Tier

#: What is said where the log of a session on the screen is another one than before.
REPLACED = "The event store was deleted or replaced: what it held before is not shown any more."
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
        self.successor = ""
        self.views: dict[str, View] = {}
        self.error = ""
        self.behind: tuple[Machine, ...] = ()
        self._lost: dict[str, int] = {}
        self.denied = False
        self.filter = ""
        self.order = WAITING if live else RECORDED
        self._rolled: dict[str, Rolled] | None = None
        self._tree: list[tuple[int, Session]] | None = None
        self._known: dict[str, Session] = {}
        self.pinned: Callable[[str], bool] = lambda session: False
        self.named: Callable[[str], str] = lambda session: ""
        self.bookmarks: Callable[[str], Bookmarks] = lambda session: Bookmarks([], lambda _: None)
        self.names = USUAL
        self.judged: Callable[[str], Policy | None] = lambda session: None
        self.loaded = not live
        self._guard_of = guard_of
        self._events_of = events_of
        self._taken = Batch(0.0)

    # -- feeding -----------------------------------------------------------------------------------

    def take(self, batch: Batch) -> bool:
        """Take a batch of the feed in. False where nothing but the time is news in it."""
        before, self._taken = self._taken, replace(batch, now=0.0)
        self._take(batch)
        return bool(batch.events or batch.anew) or before != self._taken

    def _take(self, batch: Batch) -> None:
        self.now = batch.now
        self.error = batch.error
        if batch.error:
            return
        self.loaded = True
        self.behind = batch.behind
        self._lost = batch.lost
        self.denied = batch.denied
        before = self._known
        if self.sessions != list(batch.sessions):
            self.sessions = list(batch.sessions)
            self._known = {s.session: s for s in self.sessions}
            self._rolled = self._tree = None
        if self.state != batch.state:
            self.state = batch.state
            self._tree = None
        for session in batch.anew:
            self.views.pop(session, None)
        self.waiting = sorted(batch.waiting, key=_pressing)
        for session, events in batch.events.items():
            self.append(session, list(events))
        for session, view in self.views.items():
            view.lost = self.state.get(session) == "lost"
        if self.current in before and self.current not in self._known:
            self.current = (
                ""  # the store is another one than before, or the session was deleted elsewhere
            )
        if not self.current and self.sessions:
            self.current = self.tree()[0][1].session
        elif before and self._watched_to_its_end():
            begun = [s for s in self.sessions if s.session not in before and not s.parent]
            begun = [s for s in begun if self.state.get(s.session) in ("live", "quiet")]
            if begun:
                self.successor = max(begun, key=lambda s: s.first_ts or 0.0).session

    def _watched_to_its_end(self) -> bool:
        """True where the session on the screen is over, and the person still follows it."""
        view = self.view
        over = self.state.get(self.current) in ("ended", "lost")
        return over and (view is None or view.following)

    def append(self, session: str, events: list[Event]) -> None:
        """Further events of one session."""
        view = self.views.get(session)
        if view is None:
            first = next((e for e in events if e.type == "session_start"), None)
            recording = self._recording(session, first)
            recording.session = session
            view = self.views[session] = View(recording, live=self.live)
            view.bookmarks, view.names = self.bookmarks(session), self.names
        for at, event in enumerate(events):
            if view.recording.judges:
                break
            if event.seq > view.recording.seq and _changes_settings(event):
                view.append(events[: at + 1])  # what is known already is passed over
                view.recording.go_on_under(self._guard_of(event))
        view.append(events)

    def _recording(self, session: str, start: Event | None) -> Recording:
        guard, policy = self._guard_of(start), self.judged(session)
        if policy is not None:
            guard = Guard(policy, mode="observe", traits=guard.traits, unique=True)
        return Recording(guard, self._events_of(session), judges=policy is not None)

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
            session.name = recording.start.text("name")
            session.first_ts = recording.start.ts
        times = recording.times(len(recording) - 1, 1)
        session.last_ts = times[-1] if times else session.first_ts
        session.calls, session.worst = len(recording), int(recording.worst)
        session.judged = True
        halt = recording.guard.controls.halt
        session.halted = halt.scope if halt is not None else ""
        self._rolled = self._tree = None

    # -- looking -----------------------------------------------------------------------------------

    @property
    def view(self) -> View | None:
        """The chain on the screen, None until its first events are there."""
        return self.views.get(self.current)

    def session(self, name: str) -> Session | None:
        """What is known of a session."""
        return self._known.get(name)

    def tree(self) -> list[tuple[int, Session]]:
        """Sessions with their depth: children below their parents, in the order that was chosen.

        Put together once for as long as nothing of it changed.
        """
        if self._tree is None:
            arranger = Arranger(self.order, self.pinned, self.title, self.state, self._rolled_up())
            self._tree = arranger.tree([s for s in self.sessions if self._matches(s)])
        return self._tree

    @property
    def orders(self) -> tuple[str, ...]:
        """The orders that the list of sessions may have; the first is the one nobody has to choose."""
        return LIVE_ORDERS if self.live else REPLAY_ORDERS

    def arrange(self, *, order: str | None = None, filter: str | None = None) -> None:
        """Put the list of sessions together anew: in another order, with other words to match."""
        if order is not None:
            self.order = order if order in self.orders else self.orders[0]
        if filter is not None:
            self.filter = filter
        self._tree = None

    def title(self, session: Session) -> str:
        """What a person calls a session, here as everywhere: by a name of their own, or as the list does."""
        return self.named(session.session) or session_title(session, 200)

    def _matches(self, session: Session) -> bool:
        if not self.filter:
            return True
        state = self.state.get(session.session, "")
        halted = "halted" if session.halted else ""
        gap = "gap" if self.lost_of(session.session) else ""
        fields = (session.session, session.name, session.agent, session.cwd, state, halted, gap)
        text = " ".join((*fields, self.named(session.session))).lower()
        return all(word in text for word in self.filter.lower().split())

    def worst_of(self, session: str) -> int:
        """The worst tier of a session and all below it; of one that was opened, as its chain shows it."""
        view = self.views.get(session)
        own = int(view.recording.worst) if view is not None else 0
        return max(own, self._rolled_up().get(session, Rolled()).worst)

    def letter_of(self, session: Session) -> str:
        """The letter of the worst tier; a stroke where no guard has judged the calls, as nobody opened them yet."""
        worst = self.worst_of(session.session)
        known = worst or session.judged or session.session in self.views
        return tier_letter(worst) if known else UNJUDGED

    def lost_of(self, session: str) -> int:
        """How many events of a session could not be written, as far as is known."""
        view = self.views.get(session)
        return max(self._lost.get(session, 0), view.recording.lost if view is not None else 0)

    def _rolled_up(self) -> dict[str, Rolled]:
        if self._rolled is None:
            self._rolled = roll_up(self.sessions)
        return self._rolled

    def request(self, name: str) -> Request | None:
        """A waiting request by its id."""
        return next((r for r in self.waiting if r.request == name), None)

    # -- choosing ----------------------------------------------------------------------------------

    def begin(self) -> str:
        """Put the session of a recording on the screen that has most to see; where there are several, why.

        That is where the guard went furthest, and most often so; of several alike the first. One without
        calls only where all are.
        """
        several = [s for s in self.sessions if s.session in self.views]
        if not several:
            return ""
        first = max(several, key=self._to_see)
        self.current = first.session
        if len(several) < 2:
            return ""
        what = f"has most to see ({Tier(first.worst).word})" if first.worst else "is the first"
        others = self.names.say("{next_session} goes to the next, {sessions} lists them.")
        return f"{safe(self.title(first), 40)} {what} of {len(several)} sessions: {others}"

    def _to_see(self, session: Session) -> tuple[int, ...]:
        tiers = self.views[session.session].recording.tiers
        return session.worst, tiers.count(session.worst) if session.worst else 0, len(tiers) > 0

    def select(self, session: str) -> list[str]:
        """Put a session on the screen; the chains that are to be forgotten."""
        self.current, self.successor = session, ""
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
        """The request after *after* in the inbox's order, around the end: of those that wait, else of the late ones."""
        if not self.waiting:
            return None
        ids = [r.request for r in self.waiting if not r.resolution]
        ids = ids or [r.request for r in self.waiting]
        return self.waiting[(ids.index(after) + 1) % len(ids) if after in ids else 0]


def _pressing(request: Request) -> tuple[bool, int, float, int]:
    """The inbox's order: what an agent waits for before what can only be approved late, then worst and oldest."""
    return bool(request.resolution), -request.tier, request.opened_ts or 0.0, request.seq


def _changes_settings(event: Event) -> bool:
    """True where a running session goes on under other settings from *event* on."""
    return event.type == "session_start" and event.text("reason") == "configuration"
