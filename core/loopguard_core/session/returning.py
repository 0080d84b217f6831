"""Bringing this process's sessions back to their server, in a thread that runs while something waits here.

It looks whether the server is back at growing intervals, gives it what waits on this machine (also what
an agent left that died), and hands each session over between two of its calls. No call of an agent waits
for any of it but for that moment.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock
from _weakref import ref

from loopguard_core.clock import monotonic
from loopguard_core.foreign import told
from loopguard_core.processes import alive

# What the thread will need is loaded before it runs: a child that is forked while a thread loads a module
# can never load that module.
from loopguard_core.store import bulk, forgetting, tails
from loopguard_core.store.contract import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any

    from loopguard_core.session.away import Away
    from loopguard_core.session.doors import Doors
    from loopguard_core.session.journal import Journal
    from loopguard_core.store.contract import Store
    from loopguard_core.store.spool import Spool

_LOADED = (bulk, forgetting, tails)

#: seconds until the first look, and between looks at a server that stays away
FIRST = 0.1
LONGEST = 5.0
#: seconds for which a session that ends sends what waits of it
_LAST_TRY = 3.0
#: sessions in a row that cannot be sent before the server counts as away
_TRIES = 3
#: the longest pause where the server answers
_BUSY = 0.5
#: who returned and failed again within this time is not hurried back
_CALM = 10.0


class Traveller:
    """A session whose server can go away. *turn* is what whoever touches *journal* must hold."""

    __slots__ = ("__weakref__", "_doors", "_watched", "journal", "turn")

    def __init__(self, journal: Journal, turn: AbstractContextManager[Any], doors: Doors) -> None:
        self.journal = journal
        self.turn = turn
        self._doors = doors
        self._watched = 0

    def wait(self) -> None:
        """Something waits on this machine: look for the server, and go back to it once it is there.

        Cheap where that is under way; in a forked child it begins anew.
        """
        if self._watched != os.getpid():
            self._watched = os.getpid()
            watch(self._doors, self)

    def leave(self) -> None:
        """The session is over: try once more, for some seconds at most, to send what waits of it.

        Where that fails it stays for the next process of this machine. Never raises.
        """
        journal, until = self.journal, monotonic() + _LAST_TRY
        if journal.away is None or self._watched not in (0, os.getpid()):
            return

        def enough(_: int) -> None:
            if monotonic() > until:
                raise StoreError("the rest comes later")

        try:
            from contextlib import closing  # few sessions end while their server is away

            with (
                closing(self._doors.spool()) as spool,
                closing(self._doors.server(_LAST_TRY)) as server,
            ):
                while True:  # the thread that looks for the server may just be sending it
                    with spool.alone(journal.session) as alone:
                        if alone:
                            spool.drain(server, journal.session, enough)
                            return
                    enough(0)
                    time.sleep(0.01)
        except StoreError:
            pass  # it is away still
        except Exception as error:  # noqa: BLE001 - the agent must not fall over its guard
            journal.say(f"internal error while what waits here was sent: {told(error)}")

    def bring_back(self, spool: Spool, server: Store) -> None:
        """Go on on the server, which has all of this session but its latest events. Raises ``StoreError``.

        Not where somebody else is sending it. *server* may be slow; the session's own connection may not.
        """
        journal = self.journal
        away = journal.away
        if away is None:
            self._watched = 0
            return
        with spool.alone(journal.session) as alone:
            if alone:
                self._bring_back(away, spool, server)

    def _bring_back(self, away: Away, spool: Spool, server: Store) -> None:
        journal = self.journal
        if away.server is None:
            away.server = journal.reopened()
        away.server.last(journal.session)  # connects, before the agent's turn is taken
        spool.drain(server, journal.session)
        guard, word = journal.anew(server)
        with self.turn:
            if journal.away is not away:
                return
            spool.drain(away.server, journal.session)
            journal.come_back(guard, word)
            self._watched = 0


class _Watch:
    """The thread of one server. ``travellers`` are held weakly: a session that is gone needs nothing."""

    def __init__(self, doors: Doors) -> None:
        self.pid = os.getpid()
        self.travellers: list[ref[Traveller]] = []
        self.running = False
        self.pause = FIRST
        self.returned = 0.0
        self._told = ""
        self._doors = doors

    def start(self) -> None:
        """Begin to look, in a thread of its own."""
        import threading  # only an agent whose server went away needs it

        try:
            from loopguard_core.store.postgres import bulk  # noqa: F401 - see above
        except ImportError:
            pass

        if monotonic() - self.returned > _CALM:
            self.pause = FIRST
        self.running = True
        thread = threading.Thread(target=self._run, name="loopguard-return", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self.running = False  # the interpreter ends: the next process of this machine does it

    def _run(self) -> None:
        over = False
        while not over:
            time.sleep(self.pause * (0.75 + os.urandom(1)[0] / 512))  # a herd does not come at once
            self.pause = min(self.pause * 2, LONGEST)
            try:
                over = self._look()
            except StoreError:
                continue  # it is away still, and is looked for again
            except Exception as error:  # noqa: BLE001 - what else brings the sessions back
                self._tell(f"internal error on the way back to the server: {told(error)}")
                continue
            self.pause = min(self.pause, _BUSY)
        self.returned = monotonic()

    def _tell(self, line: str) -> None:
        """Say *line*, once for as long as it stays the same."""
        if line != self._told:
            self._told = line
            for say in {traveller.journal.say for traveller in self._waiting()}:
                say(line)

    def _look(self) -> bool:
        """Try once; True where nothing is left to do, and the thread ends."""
        spool = server = None
        try:
            spool, server = self._doors.spool(), self._doors.server()
            for traveller in self._waiting():
                traveller.bring_back(spool, server)
            try:
                drain_all(spool, server)
            except StoreError:
                pass  # what is not ours can wait for somebody else
            with _lock:
                if self._waiting():
                    return False
                self.running = False
                return True
        finally:
            for store in (server, spool):
                if store is not None:
                    store.close()

    def _waiting(self) -> list[Traveller]:
        found = [t for t in (known() for known in self.travellers) if t is not None]
        waiting = [t for t in found if t.journal.away is not None]
        self.travellers = [ref(t) for t in waiting]
        return waiting


def drain_all(spool: Spool, server: Store, progress: Callable[[int], object] | None = None) -> int:
    """Give *server* all that waits in *spool* and that nobody else is sending; how many events it had not yet.

    Says on the way how many are still to come from this machine.
    """
    sent = failed = 0
    waiting = spool.backlog()
    for session in waiting:
        server.machine(sum(spool.backlog().values()), time.time())
        try:
            with spool.alone(session) as alone:
                if alone and not _begins(spool, server, session):
                    sent += spool.drain(server, session, progress)
                    failed = 0
        except StoreError:
            failed += 1  # it may be another login's; more of them, and the server is away
            if failed >= min(_TRIES, len(waiting)):
                raise
    if waiting:
        server.machine(sum(spool.backlog().values()), time.time())
    return sent


def _begins(spool: Spool, server: Store, session: str) -> bool:
    """True for a session that lives and that the server has not seen: who writes to it first owns it there."""
    known = spool.session(session)
    if known is None or not known.pid or known.ended or server.last(session):
        return False
    return alive(known.pid, known.pid_started)


_lock = allocate_lock()
_watches: dict[str, _Watch] = {}


def watch(doors: Doors, traveller: Traveller) -> None:
    """Bring *traveller* back once the server behind *doors* is, with all that waits here for it."""
    with _lock:
        found = _watches.get(doors.place)
        if found is None or found.pid != os.getpid():
            found = _watches[doors.place] = _Watch(doors)
        found.travellers.append(ref(traveller))
        if not found.running:
            found.start()


def _after_fork_in_child() -> None:
    global _lock
    _lock = allocate_lock()
    _watches.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
