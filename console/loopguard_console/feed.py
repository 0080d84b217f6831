"""From the store to the screen: one thread reads, and posts at most one frozen batch at a time.

While the screen is busy with a batch nothing further is read for it, so the queue never grows; what was
written meanwhile comes with the next batch. The thread also says that a console is attached and tidies up
after agents that died.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from loopguard_console.liveness import liveness
from loopguard_core import inbox
from loopguard_core.events import Event
from loopguard_core.store.contract import Machine, Request, Session, Store, StoreError

TICK = 0.1  # seconds between looks while things happen
IDLE = 1.0  # seconds between looks while nothing does
LISTED = 0.3  # seconds between two looks at the list of sessions
SHARE = 15  # times as long as listing them took is rested before it: thousands take a while
BEAT = 2.0  # seconds between beats
CHUNK = 500  # events of one session in a batch


@dataclass(frozen=True)
class Batch:
    """What changed since the batch before. ``state``: session -> live, quiet, lost or ended.

    ``behind``: the machines where events waited for the store when they were last in touch.

    ``events`` has at most ``CHUNK`` events a session; ``more`` says that there are more to come.
    """

    now: float
    sessions: tuple[Session, ...] = ()
    state: dict[str, str] = field(default_factory=dict)
    waiting: tuple[Request, ...] = ()
    events: dict[str, tuple[Event, ...]] = field(default_factory=dict)
    more: bool = False
    error: str = ""
    behind: tuple[Machine, ...] = ()


def _below(sessions: tuple[Session, ...], top: str) -> list[Session]:
    """*top* and the sessions that descend from it, *top* first."""
    names = {top}
    while True:
        more = {s.session for s in sessions if s.parent in names} - names
        if not more:
            break
        names |= more
    found = [s for s in sessions if s.session in names]
    return sorted(found, key=lambda s: (s.session != top, s.first_ts or 0.0))


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
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._wanted: dict[str, int] = {}
        self._beaten = 0.0
        self._listed = float("-inf")
        self._rest = LISTED
        self._sessions: tuple[Session, ...] = ()
        self._state: dict[str, str] = {}
        self._behind: tuple[Machine, ...] = ()
        self._counted = float("-inf")

    # -- from the screen ---------------------------------------------------------------------------

    def want(self, session: str, after: int) -> None:
        """Send the events of *session* from number *after* on, in further batches too."""
        with self._lock:
            self._wanted[session] = after

    def forget(self, session: str) -> None:
        """Send no more events of *session*."""
        with self._lock:
            self._wanted.pop(session, None)

    def taken(self) -> None:
        """The screen has shown the last batch and is ready for the next."""
        self._taken.set()

    def stop(self) -> None:
        """End the thread soon."""
        self._over.set()
        self._taken.set()

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
        more = True
        looked = 0.0
        while not self._over.is_set():
            if not more:
                store.changed(IDLE)
            now = self._clock()
            if self._beats and (now - self._beaten >= BEAT or now < self._beaten):
                self._beaten = now
                store.beat(now)
            batch = self._batch(store, now)
            more = batch.more
            self._send(batch)
            pause = TICK - (time.monotonic() - looked)
            if pause > 0 and not more:
                self._over.wait(pause)
            looked = time.monotonic()

    def _batch(self, store: Store, now: float) -> Batch:
        begun = time.monotonic()
        if begun - self._listed >= self._rest:
            found = tuple(store.sessions())
            self._sessions = tuple(_below(found, self._only)) if self._only else found
            self._state = {s.session: liveness(s, now, self._host) for s in found}
            self._listed = time.monotonic()
            self._rest = max(LISTED, SHARE * (self._listed - begun))
        if not self._only and begun - self._counted >= BEAT:
            self._behind = tuple(m for m in store.machines(self._sessions) if m.behind)
            self._counted = begun
        waiting = () if self._only else tuple(inbox.waiting(store, now))
        with self._lock:
            wanted = dict(self._wanted)
        events: dict[str, tuple[Event, ...]] = {}
        more = False
        for session, after in wanted.items():
            read = store.read(session, after=after, limit=CHUNK)
            if read:
                events[session] = tuple(read)
                more = more or len(read) == CHUNK
        with self._lock:
            for session, batch in events.items():
                if self._wanted.get(session) == wanted[session]:
                    self._wanted[session] = batch[-1].seq
        return Batch(now, self._sessions, self._state, waiting, events, more, behind=self._behind)

    def _send(self, batch: Batch) -> None:
        self._taken.wait()
        if not self._over.is_set():
            self._taken.clear()
            self._post(batch)
