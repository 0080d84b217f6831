"""Builds the events of one session: results find their calls, ids are unique, events are numbered."""

from __future__ import annotations

from collections import deque

from loopguard_core.events import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from loopguard_core.importers.report import Report

_EARLY = 1_000
_RECENT = 50_000
_MESSAGES = 64


class Recent:
    """What was seen lately, in bounded memory: at least the last *limit* keys are remembered."""

    __slots__ = ("_limit", "_new", "_old")

    def __init__(self, limit: int = _RECENT) -> None:
        self._limit = limit
        self._new: set[int] = set()
        self._old: set[int] = set()

    def add(self, key: str) -> bool:
        """True where *key* is new."""
        mark = hash(key)
        if mark in self._new or mark in self._old:
            return False
        self._new.add(mark)
        if len(self._new) >= self._limit:
            self._old, self._new = self._new, set()
        return True

    def __contains__(self, key: str) -> bool:
        mark = hash(key)
        return mark in self._new or mark in self._old


class Track:
    """The events of one session, in order. Every method gives what is ready to be read.

    With *repeats*, the format uses an id for several calls: later ones get ``#2``, ``#3`` … and a result
    belongs to the oldest call with its id that is still open. Otherwise a second call with the same id is
    the same record written again and is counted as a duplicate.
    """

    def __init__(self, report: Report, session: str, *, repeats: bool = False) -> None:
        self.session = session
        self.report = report
        self.started = False
        self._repeats = repeats
        self._seq = 0
        self._calls = Recent()
        self._ended = Recent()
        self._uses: dict[str, int] = {}
        self._open: dict[str, deque[str]] = {}
        self._early: dict[str, tuple[str, dict[str, Any], float | None]] = {}
        self._used: dict[str, dict[str, Any]] = {}
        self._so_far: dict[str, Any] = {}

    def event(self, kind: str, ts: float | None = None, **data: Any) -> Event:
        """The next event of the session."""
        self._seq += 1
        return Event(kind, self.session, seq=self._seq, ts=ts, data=data)

    def start(self, ts: float | None = None, **about: Any) -> list[Event]:
        """``session_start``, once. Empty fields are left out."""
        if self.started:
            return []
        self.started = True
        return [self.event("session_start", ts, **{k: v for k, v in about.items() if v})]

    def call(
        self,
        call: str,
        tool: str,
        args: object,
        *,
        message: str = "",
        ts: float | None = None,
        **more: Any,
    ) -> list[Event]:
        """A requested call, and its result where that was read first."""
        given = call or f"call-{self._seq + 1}"
        if self._calls.add(given):
            unique = given
        elif self._repeats:
            self._uses[given] = self._uses.get(given, 1) + 1
            unique = f"{given}#{self._uses[given]}"
        else:
            self.report.duplicates += 1
            return []
        waiting = self._open.get(given)
        if waiting is None:
            waiting = self._open[given] = deque()
        waiting.append(unique)
        data = {"call": unique, "tool": tool, "args": args, "message": message or unique}
        if more:
            data.update((k, v) for k, v in more.items() if v)
        started = [self.event("call_start", ts, **data)]
        if given in self._early:
            outcome, kept, ended = self._early.pop(given)
            started += self.end(given, outcome, ts=ended, **kept)
        return started

    def end(self, call: str, outcome: str, *, ts: float | None = None, **data: Any) -> list[Event]:
        """How a call ended; ``result`` is absent where none was recorded. Unknown calls are kept for later."""
        waiting = self._open.get(call)
        if waiting:
            unique = waiting.popleft()
            if not waiting:
                del self._open[call]
            self._ended.add(call)
            return [self.event("call_end", ts, call=unique, outcome=outcome, **data)]
        if call in self._ended and not self._repeats:
            self.report.duplicates += 1
        elif len(self._early) < _EARLY:
            if self._early.setdefault(call, (outcome, data, ts))[1] is not data:
                self.report.duplicates += 1
        else:
            self.report.orphans += 1
        return []

    def usage(
        self, said: dict[str, Any], ts: float | None = None, *, message: str = ""
    ) -> list[Event]:
        """What an answer used up, as ``importers.usage`` reads it. Said again of a *message*: what is more."""
        known = self._used.get(message, {}) if message else {}
        more = {k: v - known.get(k, 0) for k, v in said.items() if v > known.get(k, 0)}
        if not more:
            return []
        if message:
            if len(self._used) >= _MESSAGES and message not in self._used:
                del self._used[next(iter(self._used))]
            self._used[message] = {**known, **more, **said}
        return [self.event("usage", ts, **({"message": message} if message else {}), **more)]

    def used_so_far(self, said: dict[str, Any], ts: float | None = None) -> list[Event]:
        """The same from counts that grow from answer to answer; smaller ones have begun anew."""
        known = self._so_far
        if any(v < known.get(k, 0) for k, v in said.items()):
            known = {}
        self._so_far = {**known, **said}
        return self.usage({k: v - known.get(k, 0) for k, v in said.items()}, ts)

    def used_in_all(self, said: dict[str, Any], ts: float | None = None) -> list[Event]:
        """What a session says of itself as a whole, up to here."""
        return [self.event("usage", ts, of="session", **said)] if said else []

    def is_open(self, call: str) -> bool:
        """True where *call* was requested and has no result yet."""
        return call in self._open

    def open_calls(self) -> list[str]:
        """Calls without a result yet, by the ids of the format, oldest first."""
        return [given for given, waiting in self._open.items() for _ in waiting]

    def end_open(self, outcome: str, ts: float | None = None) -> list[Event]:
        """End every open call without a result: an interruption, or the end of the recording."""
        return [e for call in self.open_calls() for e in self.end(call, outcome, ts=ts)]

    def finish(self) -> list[Event]:
        """The end of the recording: what is still open is pending."""
        self.report.orphans += len(self._early)
        for call in self._early:
            self.report.at(0, f"result without a call: {call[:60]}")
        self._early.clear()
        return self.end_open("pending")


def renumber(events: Iterable[Event]) -> Iterator[Event]:
    """Give events of interleaved sessions gapless numbers, each session its own."""
    seqs: dict[str, int] = {}
    for event in events:
        event.seq = seqs[event.session] = seqs.get(event.session, 0) + 1
        yield event
