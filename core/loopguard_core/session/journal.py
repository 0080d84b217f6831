"""One session's log as its agent writes it: the guard in step with the store.

A call's start is judged and appended in one optimistic step: only if nobody wrote meanwhile, else what they wrote
(a human's word, another process's call) is folded first and the call is judged again. So the verdict on an event is
always the one that a replay gives at that place. While the store fails, the guard goes on in memory; what was dropped is
counted and becomes a ``gap`` once the store is back. Where it is a server, there is a spool on this machine: the journal
writes there meanwhile, and once that has been forwarded it goes on with the log on the server as that stands then.
"""

from __future__ import annotations

import os
import time

from loopguard_core.clock import monotonic
from loopguard_core.events import Event, Judged
from loopguard_core.foreign import told
from loopguard_core.session.away import Away, BeingSent, send
from loopguard_core.session.rebuilding import later, readable, rebuild, stands
from loopguard_core.store.contract import WORDS, Replaced, Stale, StoreError, Taken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from loopguard_core.checkpoint import Checkpoint
    from loopguard_core.guard import Guard
    from loopguard_core.session.doors import Doors
    from loopguard_core.session.holding import Holding
    from loopguard_core.session.losses import Losses
    from loopguard_core.store.contract import Session, Store
    from loopguard_core.store.spool import Spool
    from loopguard_core.verdict import Ruling, Verdict

#: events after which a checkpoint is worth the writing
EVERY = 64
_TRIES = 20
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0


class Journal:
    """The writing side of one session. Not thread-safe: its session takes turns.

    *fresh* makes an empty guard; *say* tells the person one line; *doors* open a store that could not be opened before,
    and the spool; ``gone`` hears that something waits there. ``opening``: what a session start says of this process.
    ``word``: the latest human instruction that was folded. ``over``: the session ends. ``rebuilt``: the guard may not
    know every call that is open in the log. ``owed``: what it gets late. ``crowd``: above 0 where other processes write to it.
    """

    def __init__(
        self,
        session: str,
        store: Store | None,
        fresh: Callable[[], Guard],
        say: Callable[[str], None],
        doors: Doors | None = None,
    ) -> None:
        self.session = session
        self.store = store
        self.away: Away | None = None
        self._doors = doors
        self.gone: Callable[[], object] = bool
        self._begun = False
        self.over = False
        self.rebuilt = False
        self.crowd = 0
        self.guard = fresh()
        self.opening: Callable[[], dict[str, Any]] = dict
        self.checkpoint: Checkpoint | None = None
        self.word: Event | None = None
        self.dropped = 0
        self.owed: list[Event] = []
        self.failure = ""
        self._holding: Holding | None = None
        self._marks: list[Event] = []
        self._losses: Losses | None = None
        self._fresh = fresh
        self.say = say
        self._said = False
        self._lossy = False
        self._pause = _FIRST_PAUSE
        self._retry_at = self._failed_at = 0.0

    @property
    def place(self) -> str:
        """Where the store is, also one that could not be opened yet; empty where there is none."""
        store = self.store if self.away is None else self.away.server
        where = self._doors if store is None else store
        return "" if where is None else where.place

    def event(self, type: str, data: dict[str, Any] | None = None) -> Event:
        """A new event of this session, now."""
        return Event(type, self.session, ts=time.time(), data=data)

    def open(self) -> Session | None:
        """Get at the store; what it knows of the session, None where nothing or where it fails."""
        while not self.failure:
            try:
                if self.store is None and self._doors is not None:
                    self.store = self._doors.store()
                if self.store is None:
                    break
                if self.away is None:
                    self._send_left_behind(self.store)
                if self.away is not None and self.away.first:
                    return None
                return self.store.session(self.session)
            except StoreError as error:
                self.fail(error)
        return None

    def _send_left_behind(self, server: Store) -> None:
        """What waits here of the session goes to the server before anything new. Raises ``StoreError``."""
        try:
            spool = None if self._doors is None else self._doors.left_behind()
            if spool is not None:
                self._tell_of_damage(spool)
                if send(spool, server, self.session):
                    self.gone()
        except BeingSent:
            raise
        except StoreError as error:
            server.last(self.session)
            self.say(f"{error}; what waits on this machine is not sent")

    def _tell_of_damage(self, spool: Spool) -> None:
        if spool.aside:
            self.say(f"{spool.place} cannot be read; what waited there lies in {spool.aside} now")

    def reopened(self) -> Store:
        """The server, opened anew. Raises ``StoreError``."""
        if self._doors is None:
            raise StoreError("this session has no store of its own")
        return self._doors.anew()

    def close(self) -> None:
        """Let go of the store, in a session that is over."""
        for store in (self.store, self.away.server if self.away is not None else None):
            if store is not None:
                store.close()
        self.away = None

    def begin(self, resumed: bool = False, reason: str = "", *, shared: bool = False) -> None:
        """Write that this process begins or goes on; *shared*: unless another of the session was faster."""
        why = {"reason": reason} if reason else {}
        self.add(self.event("session_start", {**self.opening(), "resumed": resumed, **why}), shared)
        self._begun = not self.failure
        if resumed and self._begun:
            from loopguard_core.session.owing import own_up  # few sessions are gone on with

            own_up(self)

    def resume(self) -> bool:
        """Continue a session that the store knows: rebuild the guard. False where the store fails."""
        if (store := self._usable()) is None:
            return False
        try:
            self.guard, self.rebuilt = self._rebuilt(store), True
        except StoreError as error:
            self.fail(error)
            return False
        return True

    def _rebuilt(self, store: Store) -> Guard:
        guard = self._fresh()
        kept = self.checkpoint
        if kept is not None and self.away is None and kept.load(guard):
            for event in later(guard, store, self.session):
                guard.apply(event)
                if event.type in WORDS:
                    self.word = event
            return guard
        if guard.seq:  # a checkpoint that could not be taken over in full
            guard = self._fresh()
        self.word = rebuild(guard, store, self.session) or self.word
        return guard

    def undo(self) -> bool:
        """An exception left a step half done: let go of it, and fold anew what the log has. False where that fails."""
        try:
            if self.store is not None:
                self.store.recover()
            self.refold()
        except Exception as error:  # noqa: BLE001 - the agent gets its own interrupt
            self.say(f"internal error after an exception: {told(error)}")
            return False
        return True

    def insist(self) -> None:
        """Try a store that failed once more with the next event, however short ago that was."""
        self._retry_at = 0.0

    def keep(self) -> None:
        """Keep a checkpoint, where one is kept and it is worth it."""
        kept = self.checkpoint
        if kept is None or self.failure or self.away is not None or self._lossy:
            return
        if self.guard.seq - kept.seq < EVERY:
            return
        try:
            kept.save(self.guard)
        except StoreError as error:
            self.fail(error)

    def start(self, event: Judged) -> Ruling:
        """Judge a ``call_start``, append it with its verdict, and fold it in.

        Raises ``Taken`` where that call has started before.
        """
        tries = 0
        while True:
            guard = self.guard
            ruling = guard.rule(event)
            if guard.controls.breakpoints:
                ruling = self._held(event, ruling)
            event.verdict = ruling.verdict
            store = self._usable() if self.failure else self.store
            if store is None:
                self._drop(event)
                return ruling
            tries += 1
            try:
                self.write(store, event, guard.seq if tries < _TRIES else None)
                break
            except Stale:
                self.catch_up()
            except StoreError as error:
                if not self.fail(error):
                    self._drop(event)
                    return ruling
        if event.seq == self.guard.seq + 1:
            self.guard.apply(event)
        else:
            self.catch_up()
        return ruling

    def _held(self, event: Event, ruling: Ruling) -> Ruling:
        """Say on the event which breakpoint it meets."""
        if self._holding is None:
            from loopguard_core.session.holding import Holding  # few sessions have breakpoints

            self._holding = Holding(self.say)
        event.data.pop("breakpoint", None)
        met = self._holding.met(event, ruling.verdict, self.guard.controls)
        if not met:
            return ruling
        event.data["breakpoint"] = met
        return self.guard.rule(event)

    def finish(self, event: Event) -> Verdict | None:
        """Fold a ``call_end`` in and append it with its verdict.

        Raises ``Taken`` where that call has ended before.
        """
        if self.crowd and not self.failure and self.away is None and self.store is not None:
            from loopguard_core.session.crowd import finish  # few sessions have several processes

            return finish(self, self.store, event)
        before = self.guard.seq
        verdict = self.fold_end(event)
        store = self._usable() if self.failure else self.store
        if store is None:
            self.lost()
            return verdict
        try:
            try:
                self.write(store, event, before)
            except Stale:
                from loopguard_core.session.crowd import finish_again

                return finish_again(self, store, event, verdict)
        except Taken as taken:
            if not stands(self.guard, taken, store, self.session):
                self.refold()
            raise
        except StoreError as error:
            if self.over:  # it ended with the session, which was closed meanwhile
                return verdict
            self.fail(error)
            if not self._put(event):
                self.lost()
                return verdict
        self.guard.seq = event.seq
        return verdict

    def fold_end(self, event: Event) -> Verdict | None:
        verdict = self.guard.apply(event)
        if type(event) is Judged:
            event.verdict = verdict
        else:
            event.data.pop("verdict", None)
            if verdict is not None:
                event.data["verdict"] = verdict.to_json()
        return verdict

    def refold(self) -> bool:
        """The guard anew from the store; not where events of this turn are missing there: it knows more."""
        return not self._lossy and self.away is None and self.resume()

    def add(self, event: Event, once: bool = False) -> None:
        """Append an event whose content does not hang on the guard, and fold it in its place.

        *once*: only where nobody wrote meanwhile. Raises ``Taken`` as the store does.
        """
        if not self._put(event, once):
            self._drop(event)
        elif event.seq == self.guard.seq + 1:
            self._fold(event)
        else:
            self.catch_up()

    def _put(self, event: Event, once: bool = False) -> bool:
        """Append an event wherever it can be, without a condition; False where it cannot."""
        remote = self._doors is not None and self._doors.remote
        while (store := self._usable()) is not None:
            try:
                # What is given up on its way to a server must not be written when it arrives after all.
                self.write(store, event, self.guard.seq if remote or once else None)
                return True
            except Stale:
                known = self.guard.seq
                if remote or once:
                    self.catch_up()
                if once and self.guard.seq > known:
                    return True  # else the store began anew
            except StoreError as error:
                if not self.fail(error):
                    break
        return False

    def catch_up(self) -> None:
        """Fold what others wrote to the session."""
        if (store := self._usable()) is None:
            return
        try:
            events = store.read(self.session, after=self.guard.seq, payloads=False)
            if not events and self.away is None:
                self._check_replaced(store)
            elif not events and store.last(self.session) < self.guard.seq:
                self.guard.seq = 0  # what waited here was forwarded
                events = store.read(self.session, payloads=False)
            if events:
                for event in readable(self.guard, store, self.session, self.guard.seq, events):
                    self._fold(event)
        except StoreError as error:
            self.fail(error)

    def write(self, store: Store, event: Event, expect: int | None = None) -> None:
        """Append; a store that is another one than before counts as ``Stale``, once it has begun anew."""
        if self.away is not None:
            self.away.mark(event)
            self.gone()
        try:
            event.seq = store.append(event, expect=expect)
        except Replaced as error:
            self.begin_anew(store, error, event)
            raise Stale from None

    def _check_replaced(self, store: Store) -> bool:
        """True for a store that knows less of the session than the guard: it is another one, and begun anew."""
        if store.last(self.session) >= self.guard.seq or self.away is not None:
            return False
        self.begin_anew(store, Replaced(f"the event store {store.place} was replaced"))
        return True

    def begin_anew(self, store: Store, error: Replaced, writing: Event | None = None) -> None:
        """Go on in a store that lost the session: say it, and say in the log what is missing."""
        from loopguard_core.session.losses import Losses, heard  # hardly ever

        self.say(str(error))
        self.owed.clear()
        self._losses = self._losses or Losses(self._marks)
        said = {**self.opening(), "resumed": True, "reason": "replaced"}
        known, start = self.guard.seq + self.dropped, self.event("session_start", said)
        failed = self._failed_at if self.failure else None
        since = heard(self.guard.latest, writing, failed, self.word)
        seq, words = self._losses.begin_anew(store, start, known, since, error)
        if seq:
            self._lossy = True
            for word in words:
                self._fold(word)
            self.guard.seq = seq

    def _fold(self, event: Event) -> None:
        if event.type == "user_message":
            self._lossy = False
        elif event.type in WORDS:
            self.word = event
        elif event.type in ("gap", "session_start") and event.seq:
            self._marks.append(event)
        self.guard.apply(event)

    # -- a store that fails ----------------------------------------------------------------------

    def _usable(self) -> Store | None:
        """The store, unless it failed a moment ago. A store that is back first gets the gap."""
        if not self.failure:
            return self.store
        if monotonic() < self._retry_at:
            return None
        try:
            if self.store is None and self._doors is not None:
                self.store = self._doors.store()
            if self.store is not None:
                self._recover(self.store)
        except StoreError as error:
            self.fail(error)
            return None
        lost = f"; {self.dropped} event{'s are' if self.dropped > 1 else ' is'} missing from it"
        self.say("the event store is back" + lost * bool(self.dropped))
        self.failure, self.dropped, self._pause, self._said = "", 0, _FIRST_PAUSE, False
        return self.store

    def _recover(self, store: Store) -> None:
        """Say in the log what it misses. Raises ``StoreError`` where it is not back."""
        if not self._begun:
            start = self.event("session_start", {**self.opening(), "resumed": True})
            self.guard.seq = start.seq = store.append(start)
            self._marks.append(start)
            self._begun = True
        if self._check_replaced(store) or not self.dropped:
            return
        from loopguard_core.session.owing import settle  # hardly ever

        try:
            gap = settle(self, store)
        except Replaced as error:
            self.begin_anew(store, error)
            return
        if gap is not None and gap.seq == self.guard.seq + 1:
            self._fold(gap)

    def fail(self, error: StoreError) -> bool:
        """The store failed: said once. True: events go to the spool. Else it is tried again after a pause."""
        doors = self._doors
        if self.away is None and doors is not None and doors.remote and self._divert(doors, error):
            return True
        self.failure = str(error)
        self._retry_at = monotonic() + self._pause
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        if not self._said:
            self._said, self._failed_at = True, time.time()
            on = "" if self.checkpoint is not None else "the guard goes on in memory, "
            self.say(f"{error}; {on}events are not recorded")
        return False

    def _divert(self, doors: Doors, error: StoreError) -> bool:
        """Write to the spool from here on, and first of all why. False where that fails too."""
        try:
            spool = doors.spool()
            last = spool.last(self.session)
        except StoreError:
            return False
        self._tell_of_damage(spool)
        known, first = self.guard.seq, last == 0
        away = self.away = Away(str(error), self.store, spool, known, first=first)
        self.store, self.guard.seq = spool, last
        self.say(f"{error}; events are kept on this machine and forwarded when it is back")
        if first:
            gap = {"count": 0, "reason": str(away), "host": os.uname().nodename}
            self.add(self.event("gap", gap))
        self.gone()
        return True

    def anew(self, store: Store) -> tuple[Guard, Event | None]:
        """A guard folded from the log in *store* alone, and the latest instruction that it met."""
        guard = self._fresh()
        return guard, rebuild(guard, store, self.session)

    def come_back(self, guard: Guard, word: Event | None) -> None:
        """The server has what waited here: go on there with *guard*, which was folded from its log.

        *word* is the latest instruction that it met. Raises ``StoreError``: it is away still, then.
        """
        away = self.away
        if away is None or away.server is None:
            return
        for event in later(guard, away.server, self.session):
            guard.apply(event)
            word = event if event.type in WORDS else word
        if self._lossy:  # the guard in memory knows more than any log: only words are news to it
            for event in away.server.read(self.session, after=away.known, payloads=False):
                if event.type in WORDS:
                    self._fold(event)
            self.guard.seq = guard.seq
        else:
            self.guard, self.word, self.rebuilt = guard, word or self.word, True
        self.store, self.away = away.server, None
        self.failure, self._begun = "", True
        self.say("the event store is back; what was kept on this machine has been forwarded")

    def _drop(self, event: Event) -> None:
        event.seq = 0
        self._fold(event)
        self.lost()

    def lost(self) -> None:
        if self.failure:
            self.dropped += 1
            self._lossy = self.rebuilt = True
