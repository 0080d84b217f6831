"""An event store in memory: for tests, and where nothing may be written."""

from __future__ import annotations

import os
from contextlib import suppress
from threading import Condition, get_ident

from loopguard_core.events import Event, encode, time_of
from loopguard_core.store import records, rows
from loopguard_core.store.contract import (
    ATTACHED_SECONDS,
    NO_SIGN,
    STANDING,
    Request,
    Session,
    Stale,
    Store,
    StoreError,
    Taken,
    number,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Key = tuple[str, str, str]


class MemoryStore(Store):
    """Everything is gone when the process is. One store for all threads."""

    place = ""

    def __init__(self) -> None:
        self._changed = Condition()
        self._events: dict[str, list[Event]] = {}
        self._changes: dict[str, list[int]] = {}
        self._level: dict[str, int] = {}
        self._worst: dict[str, int] = {}
        self._once: dict[Key, Event] = {}
        self._requests: dict[str, Event] = {}
        self._numbers: dict[str, int] = {}
        self._last_request = 0
        self._beaten: float | None = None
        self._machines: dict[str, tuple[int, float]] = {}
        self._writes = 0
        self._seen: dict[int, int] = {}
        self._closed = False

    def append(self, event: Event, *, expect: int | None = None) -> int:
        if not event.session:
            raise ValueError("an event needs a session to be appended")
        with self._changed:
            self._check()
            log = self._events.get(event.session, [])
            if expect is not None and expect != len(log):
                raise Stale
            if event.type == "request_opened" and not event.text("request"):
                event.data["request"] = f"R{self._last_request + 1}"
            key = _key(event)
            if key is not None and key in self._once:
                raise Taken(self._once[key].seq)
            data = event.fields()
            stored = Event(
                event.type, event.session, seq=len(log) + 1, ts=time_of(event.ts), data=data
            )
            self._events.setdefault(event.session, log).append(stored)
            if key is not None:
                self._once[key] = stored
            if event.type in rows.OF_REQUEST and (name := rows.column(event.text("request"))):
                if name not in self._numbers:
                    self._last_request = rows.request_number(name, self._last_request)
                    self._numbers[name] = self._last_request
                if event.type == "request_opened":
                    self._requests[name] = stored
            self._note_tier(stored)
            self._writes += 1
            self._changed.notify_all()
            return stored.seq

    def exclusively(self) -> Condition:
        return self._changed

    def extend(self, events: Sequence[Event], *, expect: int | None = None) -> int:
        appended = 0
        with self._changed:
            if expect is not None:
                self._check_all(events, expect)
            for event in events:
                with suppress(Taken):
                    self.append(event)
                    appended += 1
        return appended

    def _check_all(self, events: Sequence[Event], expect: int) -> None:
        """Raise what appending *events* one after the other after *expect* would."""
        coming: set[Key] = set()
        for event in events:
            key = _key(event)
            if expect != len(self._events.get(event.session, ())):
                raise Stale
            if key is not None and (key in coming or key in self._once):
                raise Taken(self._once[key].seq if key in self._once else 0)
            if key is not None:
                coming.add(key)

    def read(
        self, session: str, *, after: int = 0, limit: int | None = None, payloads: bool = True
    ) -> list[Event]:
        with self._changed:
            self._check()
            after = number(after)
            end = None if limit is None else after + number(limit)
            return [_copy(e, payloads) for e in self._events.get(session, [])[after:end]]

    def last(self, session: str) -> int:
        with self._changed:
            self._check()
            return len(self._events.get(session, ()))

    def last_turn(self, session: str, *, before: int | None = None) -> int:
        with self._changed:
            self._check()
            log = self._events.get(session, [])
            upto = log if before is None else log[: max(0, number(before) - 1)]
            return next((e.seq - 1 for e in reversed(upto) if e.type == "user_message"), 0)

    def standing(self, session: str, upto: int) -> list[Event]:
        return [e for e in self.read(session, limit=upto, payloads=False) if e.type in STANDING]

    def next_change(self, session: str, seq: int, *, back: bool = False) -> int:
        with self._changed:
            self._check()
            changes = self._changes.get(session, [])
            if back:
                return max((c for c in changes if c < seq), default=0)
            return min((c for c in changes if c > seq), default=0)

    def sessions(self) -> list[Session]:
        with self._changed:
            self._check()
            found = [self._session(name) for name in reversed(self._events)]
        return sorted(found, key=lambda s: s.last_ts or 0.0, reverse=True)

    def session(self, session: str) -> Session | None:
        with self._changed:
            self._check()
            return self._session(session) if session in self._events else None

    def requests(
        self, *, session: str = "", pending: bool = False, limit: int | None = None
    ) -> list[Request]:
        with self._changed:
            self._check()
            found = [
                self._request(name)
                for name in sorted(self._requests, key=self._numbers.__getitem__)
            ]
        wanted = [
            r
            for r in found
            if (not session or r.session == session) and not (pending and self._resolved(r.request))
        ]
        return wanted if limit is None else wanted[max(0, len(wanted) - number(limit)) :]

    def request(self, request: str) -> Request | None:
        with self._changed:
            self._check()
            name = rows.column(request)
            return self._request(name) if name in self._requests else None

    def changed(self, timeout: float, *, session: str = "") -> bool:
        me = get_ident()
        with self._changed:
            self._changed.wait_for(lambda: self._writes != self._seen.get(me), timeout)
            changed = self._writes != self._seen.get(me)
            self._seen[me] = self._writes
            return changed

    def beat(self, ts: float) -> None:
        with self._changed:
            self._check()
            self._beaten = ts

    def attached(self, now: float) -> list[int]:
        with self._changed:
            self._check()
            fresh = self._beaten is not None and self._beaten > now - ATTACHED_SECONDS
            return [os.getpid()] if fresh else []

    def machine(self, behind: int, ts: float) -> None:
        self._machines[os.uname().nodename] = (behind, ts)

    def _told(self) -> list[tuple[str, int, float]]:
        return [(host, behind, ts) for host, (behind, ts) in self._machines.items()]

    def forget(self, session: str) -> int:
        with self._changed:
            self._check()
            gone = self._events.pop(session, [])
            self._once = {k: e for k, e in self._once.items() if e.session != session}
            self._requests = {k: e for k, e in self._requests.items() if e.session != session}
            self._changes.pop(session, None)
            self._level.pop(session, None)
            self._worst.pop(session, None)
            return len(gone)

    def size(self, session: str | None = None) -> int:
        with self._changed:
            self._check()
            logs = self._events.values() if session is None else [self._events.get(session, [])]
            return sum(len(encode(event)) for log in logs for event in log)

    def close(self) -> None:
        self._closed = True

    def _check(self) -> None:
        if self._closed:
            raise StoreError("the event store in memory was closed")

    def _note_tier(self, event: Event) -> None:
        """Keep how the session stands and where that changed, by the contract of ``next_change``."""
        if event.type not in rows.OF_CALL:
            return
        tier = _tier(event)
        before = self._level.get(event.session, 0)
        if event.type == "call_end":
            start = self._once.get(("call_start", event.session, event.text("call")))
            tier = max(tier, _tier(start) if start is not None else 0)
        if tier > before if event.type == "call_start" else tier != before:
            self._changes.setdefault(event.session, []).append(event.seq)
            self._level[event.session] = tier
        self._worst[event.session] = max(tier, self._worst.get(event.session, 0))

    def _session(self, name: str) -> Session:
        log = self._events[name]
        session = Session(name)
        session.seq = log[-1].seq
        last = next((e.ts for e in reversed(log) if e.type not in NO_SIGN), None)
        session.first_ts, session.last_ts = records.moment(log[0].ts), records.moment(last)
        session.calls = sum(e.type == "call_start" for e in log)
        session.worst = self._worst.get(name, 0)
        session.waiting = sum(
            opened.session == name and not self._resolved(request)
            for request, opened in self._requests.items()
        )
        session.ended = _last(log, ("session_start", "session_end")).type == "session_end"
        held = _halt(log)
        if held is not None:
            records.halted(session, held.seq, held.ts, held.data)
        return records.describe(session, _last(log, ("session_start",)).data)

    def _resolved(self, name: str) -> bool:
        return ("request_resolved", "", name) in self._once

    def _request(self, name: str) -> Request:
        opened = self._requests[name]
        log = self._events[opened.session]
        request = Request(name, opened.session, opened.seq)
        request.delivered = ("request_delivered", "", name) in self._once
        call = self._once.get(("call_start", opened.session, opened.text("call")))
        start = _last(log, ("session_start",))
        called = call.data if call is not None else {}
        records.asked(request, opened.ts, opened.data, called, start.data)
        answer = self._once.get(("request_resolved", "", name))
        return request if answer is None else records.answered(request, answer.ts, answer.data)


def _key(event: Event) -> Key | None:
    """Under what an entry exists once; None for those that may come again."""
    if event.type in rows.OF_CALL and event.text("call"):
        return event.type, event.session, event.text("call")
    if event.type in rows.OF_REQUEST and event.text("request"):
        return event.type, "", rows.column(event.text("request"))
    return None


def _copy(event: Event, payloads: bool) -> Event:
    data = {k: v for k, v in event.data.items() if payloads or k not in rows.HEAVY}
    return Event(event.type, event.session, seq=event.seq, ts=event.ts, data=data)


def _last(log: Iterable[Event], types: tuple[str, ...]) -> Event:
    """The last event of *types*; an empty one where there is none."""
    return next((e for e in reversed(list(log)) if e.type in types), Event(""))


def _halt(log: list[Event]) -> Event | None:
    """The human's halt that holds at the end of *log*: that of the session before that of the turn."""
    of: dict[str, Event] = {}
    for event in log:
        if event.type == "halt":
            of["session" if event.text("scope") == "session" else "turn"] = event
        elif event.type == "resume":
            of.clear()
        elif event.type == "user_message" or (
            event.type == "reset" and event.text("scope") in ("", "session")
        ):
            of.pop("turn", None)
    return of.get("session") or of.get("turn")


def _tier(event: Event) -> int:
    verdict = event.data.get("verdict")
    return rows.TIERS.get(str(verdict.get("tier")), 0) if isinstance(verdict, dict) else 0
