"""Sessions from one store into another: each event once, in order, under its number.

Nothing is remembered between two runs: where a session stands in the target, the target tells. A batch is
appended whole or not at all, and only after the event that it follows, so a run can be killed anywhere and
begun again, and two at a time do no harm. What was redacted stays redacted, and digests stay those of the
key under which they were made.
"""

from __future__ import annotations

from loopguard_core.events import Event
from loopguard_core.store.contract import Stale, Taken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from loopguard_core.store.contract import Store

BATCH = 400
#: events before the end of what both have that are compared
_COMPARED = 64
_TRIES = 5
#: by what two events of one number are told to be the same; texts may be redacted otherwise
_TELLING = ("call", "tool", "outcome", "resolution", "by", "scope", "key", "grant")


def name_in(store: Store, session: str, request: str) -> str:
    """What *request* of *session* is called in *store*: another, where another session's has its name."""
    known = store.request(request)
    return request if known is None or known.session == session else f"{request}@{session}"


class Forwarded:
    """What was copied, in events. ``known``: in the target already. ``sessions``: those looked at.

    ``diverged``: the sessions that were left alone, and why. ``renamed``: session and request -> the name
    that it has in the target, where another session has the request's own.
    """

    __slots__ = ("added", "diverged", "known", "renamed", "sessions")

    def __init__(self) -> None:
        self.added = 0
        self.known = 0
        self.sessions: set[str] = set()
        self.diverged: dict[str, str] = {}
        self.renamed: dict[tuple[str, str], str] = {}


class Forwarder:
    """Copies sessions of *source* to *target*. Raises ``StoreError`` where either fails; begin again then."""

    def __init__(self, source: Store, target: Store) -> None:
        self.result = Forwarded()
        self._source = source
        self._target = target
        self._names: dict[tuple[str, str], str] = {}

    def sessions(self, names: Iterable[str]) -> Iterator[Event]:
        """Copy these sessions; gives each event once it is in the target."""
        for name in names:
            yield from self.session(name)

    def session(self, name: str) -> Iterator[Event]:
        """Copy what the target lacks of one session; gives each event once it is there."""
        result = self.result
        after = self._common(name)
        if name not in result.sessions:
            result.sessions.add(name)
            result.known += after
        tries = 0
        while name not in result.diverged:
            page = self._source.read(name, after=after, limit=BATCH)
            if not page:
                return
            try:
                self._target.extend([self._renamed(e) for e in page], expect=after)
            except (Stale, Taken) as error:
                # somebody else copies the same session, wrote to it, or took a request's name
                tries += 1
                self._names.clear()
                after = self._common(name)
                if tries > _TRIES:
                    result.diverged[name] = f"the target does not take event {after + 1}: {error}"
                continue
            tries = 0
            after = page[-1].seq
            result.added += len(page)
            yield from page

    def _common(self, name: str) -> int:
        """How many events of the session both have; notes that it diverged where they are not the same."""
        common = min(self._source.last(name), self._target.last(name))
        for first in sorted({0, max(0, common - _COMPARED)}) if common else ():
            ours, theirs = (
                store.read(name, after=first, limit=min(_COMPARED, common), payloads=False)
                for store in (self._source, self._target)
            )
            for seq, pair in enumerate(zip(ours, theirs, strict=True), first + 1):
                if seq <= common and not _same(*pair):
                    self.result.diverged[name] = self._difference(name, seq)
                    return common
        return common

    def _difference(self, name: str, wrong: int) -> str:
        """Where the logs part: they are alike up to there, so halving finds it."""
        low, high = 0, wrong
        while high - low > 1:
            middle = (low + high) // 2
            if _same(self._one(self._source, name, middle), self._one(self._target, name, middle)):
                low = middle
            else:
                high = middle
        ours, theirs = self._one(self._source, name, high), self._one(self._target, name, high)
        return (
            f"from its event {high} on ({ours.type} in {self._source.place}, {theirs.type} in "
            f"{self._target.place}) the two are not the same session"
        )

    def _one(self, store: Store, name: str, seq: int) -> Event:
        found = store.read(name, after=seq - 1, limit=1, payloads=False)
        return found[0] if found else Event("")

    # -- requests have one name in a store ---------------------------------------------------------

    def _renamed(self, event: Event) -> Event:
        """*event* with the names that its requests have in the target."""
        changed = {}
        for field in ("request", "on"):
            request = event.text(field)
            if request and (field == "request" or self._asked(event.session, request)):
                name = self._name(event.session, request)
                if name != request:
                    changed[field] = name
        if not changed:
            return event
        return Event(event.type, event.session, ts=event.ts, data={**event.data, **changed})

    def _name(self, session: str, request: str) -> str:
        name = self._names.get((session, request))
        if name is None:
            name = self._names[session, request] = name_in(self._target, session, request)
            if name != request:
                self.result.renamed[session, request] = name
        return name

    def _asked(self, session: str, name: str) -> bool:
        known = self._source.request(name)
        return known is not None and known.session == session


def _same(ours: Event, theirs: Event) -> bool:
    if (ours.type, ours.ts) != (theirs.type, theirs.ts):
        return False
    return all(ours.data.get(field) == theirs.data.get(field) for field in _TELLING)
