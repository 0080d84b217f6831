"""Recordings into the event store: in batches, each event once, resumable at any point.

A transcript only grows, and the same transcript gives the same events. So of a session that is in the
store already, the events that it has are passed over, whatever people noted between them, and only the
rest is added. What is still open at the end of a transcript is not written: the call may end in what is
written to it tomorrow. A log of ours says itself which calls stayed open, so there nothing is left out.
"""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

from loopguard_core.events import Event, compared
from loopguard_core.identity import EXACT, ExactScheme, Payload
from loopguard_core.importers.base import TRANSCRIPT
from loopguard_core.importers.track import Recent
from loopguard_core.store.forwarding import name_in
from loopguard_core.store.rows import OF_CALL
from loopguard_core.traits import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future
    from typing import Any

    from loopguard_core.identity import Digester
    from loopguard_core.store.contract import Store

BATCH = 400
_PAGE = 1_000
_SCHEME = ExactScheme()


class Imported:
    """What an import did, in events. ``known``: in the store already. ``repeated``: entries that exist
    once, such as a call's end, and came again. ``refused``: the sessions that were left alone, and why.
    """

    __slots__ = ("added", "known", "refused", "repeated", "sessions")

    def __init__(self) -> None:
        self.added = 0
        self.known = 0
        self.repeated = 0
        self.sessions: set[str] = set()
        self.refused: dict[str, str] = {}


class _Known:
    """What the store has of a session, walked through beside its transcript."""

    __slots__ = ("_events", "_last", "_once", "_seq", "_session", "_store", "met")

    def __init__(self, store: Store, session: str) -> None:
        self.met = 0
        self._store = store
        self._session = session
        self._last = store.last(session)
        self._seq = 0
        self._once = Recent()
        self._events: Iterator[Event] = iter(())

    def has(self, event: Event) -> bool | None:
        """True where *event* is the next one in the store; None where there is none left.

        What a person said of the session in between is passed over, and so is a call's start or end that
        comes again.
        """
        self.met += 1
        if event.type in OF_CALL and not self._once.add(f"{event.type} {event.text('call')}"):
            return True
        while (stored := self._next()) is not None:
            if _same(stored, event):
                return True
            if stored.type in TRANSCRIPT:
                return False
        return None

    def _next(self) -> Event | None:
        while self._seq < self._last:
            event = next(self._events, None)
            if event is not None:
                self._seq = event.seq
                return event
            page = min(_PAGE, self._last - self._seq)
            found = self._store.read(self._session, after=self._seq, limit=page, payloads=False)
            if not found:
                self._seq = self._last
            self._events = iter(found)
        return None


class StoreWriter:
    """Writes events of any number of sessions to a store.

    May raise ``StoreError``; what was written before stays, and the same import goes on from there.
    """

    def __init__(self, store: Store, digester: Digester) -> None:
        self.result = Imported()
        self._store = store
        self._digester = digester
        self._known: dict[str, _Known] = {}
        self._new: set[str] = set()
        self._growing: set[str] = set()
        self._batch: list[Event] = []
        self._requests: dict[tuple[str, str], str] = {}
        self._worker: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None

    def add_all(self, events: Iterable[Event]) -> Imported:
        """Add all *events* and flush. Where another process writes, the next batch is read meanwhile.

        A file is written in this thread: two that take turns at Python's lock cost more than they save.
        """
        if self._store.remote:
            with ThreadPoolExecutor(1, "import") as worker:
                self._worker = worker
                try:
                    self._add_each(events)
                finally:
                    self._worker = None
        else:
            self._add_each(events)
        return self.result

    def _add_each(self, events: Iterable[Event]) -> None:
        collecting = gc.isenabled()
        gc.disable()  # events hold no cycles; to look for some takes a twentieth of the time
        try:
            for event in events:
                self.add(event)
            self.flush()
        finally:
            if collecting:
                gc.enable()

    def add(self, event: Event) -> None:
        """Add one event, unless the store has it or its session was refused."""
        data = event.data
        if event.type == "session_start" and data.get("format"):
            self._growing.add(event.session)
        if _is_open(event) and event.session in self._growing:
            return
        if event.session not in self._new and not self._is_new(event):
            return
        if "request" in data:
            self._rename(event)
        self._batch.append(event)
        if len(self._batch) >= BATCH:
            self._hand_over()
            gc.collect(0)  # little is left of a batch, and what is there by mistake goes

    def _is_new(self, event: Event) -> bool:
        """False where the store has *event*, or its session was refused."""
        session = event.session
        known = self._known.get(session)
        if known is None:
            known = self._known[session] = _Known(self._store, session)
            self.result.sessions.add(session)
        if session in self.result.refused:
            return False
        there = known.has(event)
        if there is None:
            self._new.add(session)
            return True
        if there:
            self.result.known += 1
        else:
            self._refuse(session, known)
        return False

    def flush(self) -> None:
        """Write what is waiting, and wait for what is being written."""
        if self._batch:
            self._hand_over()
        self._wait()

    def _hand_over(self) -> None:
        batch, self._batch = self._batch, []
        for event in batch:
            self._identify(event)
        write = self._store.prepare(batch)
        self._wait()
        if self._worker is None:
            self._write(write, len(batch))
        else:
            self._writing = self._worker.submit(self._write, write, len(batch))

    def _wait(self) -> None:
        if self._writing is not None:
            writing, self._writing = self._writing, None
            writing.result()

    def _write(self, write: Callable[[], int], size: int) -> None:
        written = write()
        self.result.added += written
        self.result.repeated += size - written

    def _refuse(self, session: str, known: _Known) -> None:
        """Leave a session alone whose events in the store are not those of this transcript."""
        if known.met == 1:
            why = "the store has another session of this name, recorded live or from elsewhere"
        else:
            why = "the transcript was rewritten since it was imported"
        self.result.refused[session] = why

    def _rename(self, event: Event) -> None:
        """Requests have one name in a store: those of a recording from elsewhere may need another."""
        request = event.text("request")
        key = (event.session, request)
        name = self._requests.get(key)
        if name is None:
            name = self._requests[key] = name_in(self._store, event.session, request)
        event.data["request"] = name

    def _identify(self, event: Event) -> None:
        """Give a call the record that colours and grants stand on, as a live session does."""
        data = event.data
        if event.type == "call_start":
            ids = data["ids"] = data.get("ids") or {}
            if EXACT not in ids:
                args = Payload(data.get("args"), self._digester)
                ids[EXACT] = _SCHEME.request(data["tool"], args, UNKNOWN)
        elif event.type == "call_end" and "result" in data and not _unanswered(data):
            ids = data["ids"] = data.get("ids") or {}
            if EXACT not in ids:
                result = Payload(compared(data), self._digester)
                ids[EXACT] = _SCHEME.outcome("", result, result, True, UNKNOWN, {})


def _is_open(event: Event) -> bool:
    return event.type == "call_end" and event.data.get("outcome") == "pending"


def _unanswered(data: dict[str, Any]) -> bool:
    """True of a call that gave no result: what stands in its place was not given by its tool."""
    outcome = data.get("outcome")
    return outcome in ("blocked", "pending") or (outcome == "cancelled" and data["result"] is None)


def _same(stored: Event, event: Event) -> bool:
    """True where both are the same entry; texts may differ, since the store takes secrets out."""
    if stored.type != event.type or stored.ts != event.ts:
        return False
    names = ("call", "tool", "outcome", "format")
    return all(stored.data.get(n) == event.data.get(n) for n in names)
