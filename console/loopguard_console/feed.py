"""From the store to the screen: one thread reads, and posts at most one frozen batch at a time.

While the screen is busy with a batch nothing further is read for it, so the queue never grows; what was
written meanwhile comes with the next batch. The thread also says that a console is attached and tidies up
after agents that died.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from loopguard_console.liveness import liveness
from loopguard_console.losing import Losing
from loopguard_core import inbox
from loopguard_core.events import Event
from loopguard_core.store.contract import Denied, Machine, Request, Session, Store, StoreError

TICK = 0.2  # seconds between looks while things happen: the screen is not drawn more often
IDLE = 1.0  # seconds between looks while nothing does
GLANCE = 0.1  # seconds until a session that is wanted meanwhile is read
LISTED = 0.3  # seconds between two looks at the list of sessions
SHARE = 20  # a list is looked at again after so many times what it took: thousands of sessions stay cheap
LOSING = 0.02  # seconds that a look for gaps may take
BEAT = 2.0  # seconds between beats
OWN = 0.001  # seconds for what the system tells of the own beat
ASKING = frozenset(("request_opened", "request_resolved", "grant"))  # what changes the inbox
CHUNK = 250  # events in a batch: the screen folds them in less time than a person notices

_Told = TypeVar("_Told", Session, Request, Machine)


@dataclass(frozen=True)
class Batch:
    """What changed since the batch before. ``state``: session -> live, quiet, lost or ended.

    ``behind``: the machines where events waited for the store when they were last in touch.
    ``lost``: session -> events of it that could not be written, where there are any.
    ``denied``: this user may look on but decide nothing. ``anew``: sessions whose log is another one than
    before, since the store was replaced or lost some: what is known of them is void.

    ``events`` has at most ``CHUNK`` events; ``more`` says that there are more to come.
    """

    now: float
    sessions: tuple[Session, ...] = ()
    state: dict[str, str] = field(default_factory=dict)
    waiting: tuple[Request, ...] = ()
    events: dict[str, tuple[Event, ...]] = field(default_factory=dict)
    more: bool = False
    error: str = ""
    behind: tuple[Machine, ...] = ()
    denied: bool = False
    anew: tuple[str, ...] = ()
    lost: dict[str, int] = field(default_factory=dict)


def _kept(before: tuple[_Told, ...], now: Sequence[_Told]) -> tuple[_Told, ...]:
    """*now*, or what was told *before* where it says the same: who compares it need not look into it."""
    if len(before) == len(now) and all(map(_says_the_same, before, now)):
        return before
    return tuple(now)


def _says_the_same(one: _Told, other: _Told) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in one.__slots__)


def _below(sessions: Sequence[Session], top: str) -> list[Session]:
    """*top* and the sessions that descend from it, *top* first."""
    names = {top}
    while True:
        more = {s.session for s in sessions if s.parent in names} - names
        if not more:
            break
        names |= more
    found = [s for s in sessions if s.session in names]
    return sorted(found, key=lambda s: (s.session != top, s.first_ts or 0.0))


def _stands(store: Store, event: Event) -> bool:
    """Whether *event* still stands where it was read."""
    found = store.read(event.session, after=event.seq - 1, limit=1, payloads=False)
    return bool(found) and (found[0].type, found[0].ts) == (event.type, event.ts)


class _Look:
    """Something that is looked at now and then: at least *every* seconds apart, and the more it takes
    the less often."""

    def __init__(self, every: float) -> None:
        self._every = every
        self._next = float("-inf")
        self._begun = 0.0
        self.owed = float("inf")

    def due(self) -> bool:
        """True where it is time to look: the look begins. If not, it is owed from ``owed`` on."""
        self._begun = time.monotonic()
        due = self._begun >= self._next
        self.owed = float("inf") if due else self._next
        return due

    def done(self) -> None:
        """The look is over."""
        now = time.monotonic()
        self._next = max(self._begun + self._every, now + SHARE * (now - self._begun))


class Feed(threading.Thread):
    """The reader. *beats*: say that a person can be asked here. *only*: that session
    and those below it, as a recording. *post* is called in this thread and must hand the batch over without blocking."""

    def __init__(
        self,
        open_store: Callable[[], Store],
        post: Callable[[Batch], None],
        *,
        host: str,
        beats: bool = True,
        only: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(name="feed", daemon=True)
        self._open_store = open_store
        self._post = post
        self._host = host
        self._beats = beats
        self._only = only
        self._clock = clock
        self._taken = threading.Event()
        self._taken.set()
        self._decided = threading.Event()
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._asked = threading.Event()
        self._wanted: dict[str, int] = {only: 0} if only else {}
        self._reached: dict[str, Event] = {}
        self._known: tuple[Store | None, int] = (None, 0)
        self._beaten = 0.0
        self._denied = False
        self._list = _Look(LISTED)
        self._sessions: tuple[Session, ...] = ()
        self._state: dict[str, str] = {}
        self._losing, self._gaps = Losing(), _Look(LISTED)
        self._machines = _Look(BEAT)
        self._behind: tuple[Machine, ...] = ()
        self._inbox = _Look(TICK)
        self._waiting: tuple[Request, ...] = ()

    # -- from the screen ---------------------------------------------------------------------------

    def want(self, session: str, after: int) -> None:
        """Send the events of *session* from number *after* on, in further batches too."""
        with self._lock:
            self._wanted[session] = after
        self._asked.set()

    def forget(self, session: str) -> None:
        """Send no more events of *session*."""
        with self._lock:
            self._wanted.pop(session, None)
            self._reached.pop(session, None)

    def look(self) -> None:
        """Look at the inbox at once: somebody decided."""
        self._decided.set()
        self._asked.set()

    def taken(self) -> None:
        """The screen has shown the last batch and is ready for the next."""
        self._taken.set()

    def stop(self) -> None:
        """End the thread soon."""
        self._over.set()
        self._taken.set()
        self._asked.set()

    # -- the thread --------------------------------------------------------------------------------

    def run(self) -> None:
        store: Store | None = None
        while not self._over.is_set():
            try:
                if store is None:
                    store = self._open_store()
                self._watch(store)
            except StoreError as error:
                self._send(Batch(self._clock(), error=str(error)))
                if store is not None:
                    store.close()
                    store = None
                self._over.wait(IDLE)
        if store is not None:
            store.close()

    def _watch(self, store: Store) -> None:
        while not self._over.is_set():
            looked = time.monotonic()
            now = self._clock()
            if self._beats and (now - self._beaten >= BEAT or now < self._beaten):
                self._beaten = now
                self._beat(store, now)
            self._asked.clear()
            batch = self._batch(store, now)
            self._send(batch)
            if not batch.more:
                self._wait(store, looked)

    def _beat(self, store: Store, now: float) -> None:
        try:
            store.beat(now)
            for wait in (0.0, OWN):
                store.changed(
                    wait
                )  # the beat is no news, nor is the hint at it; all else is read now
        except Denied:
            self._beats, self._denied = False, True

    def _wait(self, store: Store, looked: float) -> None:
        """Until there is something to read: what was written, or a session that somebody wants to see."""
        self._taken.wait()  # what the screen wants because of the last batch it says before
        until = min(time.monotonic() + IDLE, self._list.owed, self._inbox.owed)
        while not self._asked.is_set() and time.monotonic() < until:
            if store.changed(GLANCE):
                self._asked.wait(max(0.0, looked + TICK - time.monotonic()))
                break

    def _batch(self, store: Store, now: float) -> Batch:
        if self._list.due():
            found = store.sessions()
            its = _below(found, self._only) if self._only else found
            self._sessions = _kept(self._sessions, its)
            self._state = {s.session: liveness(s, now, self._host) for s in found}
            self._list.done()
        if self._gaps.due():
            self._losing.look(store, self._sessions, LOSING)
            self._gaps.done()
        if not self._only and self._machines.due():
            machines = store.machines(self._sessions)
            self._behind = _kept(self._behind, [m for m in machines if m.behind])
            self._machines.done()
        decided = self._decided.is_set()
        self._decided.clear()
        events, more, anew = self._events(store)
        # what the events say of requests, the inbox says in the same batch
        asking = any(e.type in ASKING for its in events.values() for e in its)
        if not self._only and (self._inbox.due() or decided or asking):
            self._waiting = _kept(self._waiting, inbox.waiting(store, now))
            self._inbox.done()
        return Batch(
            now,
            self._sessions,
            self._state,
            self._waiting,
            events,
            more,
            behind=self._behind,
            denied=self._denied,
            anew=anew,
            lost=self._losing.counts,
        )

    def _anew(self, store: Store) -> tuple[str, ...]:
        """The sessions that are to be read from their beginning, where the store is another one than before."""
        if self._known == (store, store.generation):
            return ()
        self._known = store, store.generation
        self._losing.begin()
        with self._lock:
            reached = dict(self._reached)
        gone = tuple(s for s, event in reached.items() if not _stands(store, event))
        with self._lock:
            for session in gone:
                self._reached.pop(session, None)
                if session in self._wanted:
                    self._wanted[session] = 0
        return gone

    def _events(self, store: Store) -> tuple[dict[str, tuple[Event, ...]], bool, tuple[str, ...]]:
        """The next events of the sessions that are wanted, in turn, whether there are more, and what is read anew."""
        with self._lock:
            wanted = dict(self._wanted)
        events: dict[str, tuple[Event, ...]] = {}
        left = CHUNK
        for session, after in wanted.items():
            read = store.read(session, after=after, limit=left)
            if read:
                events[session] = tuple(read)
                left -= len(read)
            if not left:
                break
        anew = self._anew(store)
        if anew:
            return {}, True, anew
        with self._lock:
            for session, its in events.items():
                if self._wanted.get(session) == wanted[session]:
                    del self._wanted[session]  # behind the others
                    self._wanted[session] = its[-1].seq
                    self._reached[session] = its[-1]
        return events, not left, ()

    def _send(self, batch: Batch) -> None:
        self._taken.wait()
        if not self._over.is_set():
            self._taken.clear()
            self._post(batch)
