"""Recordings into the event store: in batches, each event once, resumable at any point.

A transcript only grows, and the same transcript gives the same events. So of a session that is in the
store already, as many events are passed over as it has, and only the rest is added. What is still open at
the end of a transcript is not written: the call may end in what is written to it tomorrow.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from loopguard_core.events import Event, compared
from loopguard_core.identity import EXACT, ExactScheme, Payload
from loopguard_core.traits import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import Future

    from loopguard_core.identity import Digester
    from loopguard_core.store.contract import Store

BATCH = 400
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


class _Place:
    """Where a session stands: events met so far, and how many the store has."""

    __slots__ = ("met", "stored")

    def __init__(self, stored: int) -> None:
        self.stored = stored
        self.met = 0


class StoreWriter:
    """Writes events of any number of sessions to a store.

    May raise ``StoreError``; what was written before stays, and the same import goes on from there.
    """

    def __init__(self, store: Store, digester: Digester) -> None:
        self.result = Imported()
        self._store = store
        self._digester = digester
        self._places: dict[str, _Place] = {}
        self._batch: list[Event] = []
        self._requests: dict[tuple[str, str], str] = {}
        self._worker: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None

    def add_all(self, events: Iterable[Event]) -> Imported:
        """Add all *events* and flush. The next batch is read while one is written."""
        with ThreadPoolExecutor(1, "import") as worker:
            self._worker = worker
            try:
                for event in events:
                    self.add(event)
                self.flush()
            finally:
                self._worker = None
        return self.result

    def add(self, event: Event) -> None:
        """Add one event, unless the store has it or its session was refused."""
        session = event.session
        place = self._places.get(session)
        if place is None:
            place = self._places[session] = _Place(self._store.last(session))
            self.result.sessions.add(session)
        if event.type == "call_end" and event.data.get("outcome") == "pending":
            return
        place.met += 1
        if session in self.result.refused:
            return
        if place.met <= place.stored:
            self.result.known += 1
            if place.met in (1, place.stored):
                self._compare(event, place)
            return
        if "request" in event.data:
            self._rename(event)
        self._batch.append(event)
        if len(self._batch) >= BATCH:
            self._hand_over()

    def flush(self) -> None:
        """Write what is waiting, and wait for what is being written."""
        if self._batch:
            self._hand_over()
        self._wait()

    def _hand_over(self) -> None:
        self._wait()
        batch, self._batch = self._batch, []
        if self._worker is None:
            self._write(batch)
        else:
            self._writing = self._worker.submit(self._write, batch)

    def _wait(self) -> None:
        if self._writing is not None:
            writing, self._writing = self._writing, None
            writing.result()

    def _write(self, batch: list[Event]) -> None:
        for event in batch:
            self._identify(event)
        written = self._store.extend(batch)
        self.result.added += written
        self.result.repeated += len(batch) - written

    def _compare(self, event: Event, place: _Place) -> None:
        """Refuse a session whose events in the store are not those of this transcript."""
        stored = self._store.read(event.session, after=place.met - 1, limit=1)
        if stored and _same(stored[0], event):
            return
        if place.met == 1:
            why = "the store has another session of this name, recorded live or from elsewhere"
        else:
            why = "the transcript was rewritten since it was imported"
        self.result.refused[event.session] = why

    def _rename(self, event: Event) -> None:
        """Requests have one name in a store: those of a recording from elsewhere may need another."""
        request = event.text("request")
        key = (event.session, request)
        name = self._requests.get(key)
        if name is None:
            known = self._store.request(request)
            taken = known is not None and known.session != event.session
            name = self._requests[key] = f"{request}@{event.session}" if taken else request
        event.data["request"] = name

    def _identify(self, event: Event) -> None:
        """Give a call the record that colours and grants stand on, as a live session does."""
        data = event.data
        if event.type == "call_start":
            ids = data.setdefault("ids", {})
            if EXACT not in ids:
                args = Payload(data.get("args"), self._digester)
                ids[EXACT] = _SCHEME.request(data["tool"], args, UNKNOWN)
        elif event.type == "call_end" and "result" in data:
            ids = data.setdefault("ids", {})
            if EXACT not in ids:
                result = Payload(compared(data), self._digester)
                ids[EXACT] = _SCHEME.outcome("", result, result, True, UNKNOWN, {})


def _same(stored: Event, event: Event) -> bool:
    """True where both are the same entry; texts may differ, since the store takes secrets out."""
    if stored.type != event.type or stored.ts != event.ts:
        return False
    names = ("call", "tool", "outcome", "format")
    return all(stored.data.get(n) == event.data.get(n) for n in names)
