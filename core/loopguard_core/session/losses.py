"""A session that goes on in a store which is another one than before: what is missing there is counted, once and in full."""

from __future__ import annotations

from loopguard_core.events import Event
from loopguard_core.store.contract import CUT, REPLACED, WORDS, Replaced, Stale, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard_core.store.contract import Store

#: Why all processes of a session miss the same events: the first to find it out says so for those it knew.
_SHARED = (REPLACED, CUT)
_TRIES = 20
#: Seconds for which a process may write on in a file that is gone.
_UNNOTICED = 0.06
#: events that are read at first, to find those that are news
_PAGE = 256


class Losses:
    """What a process knows to be missing from its session's log.

    *marks* are the gaps that it met in the log, and the starts of processes since its own; they are kept up to date.
    """

    __slots__ = ("_gone", "_marks")

    def __init__(self, marks: list[Event]) -> None:
        self._marks = marks
        self._gone: list[Event] = []

    def begin_anew(
        self, store: Store, start: Event, known: int, since: float, error: Replaced
    ) -> tuple[int, list[Event]]:
        """Write *start* to *store*, and a ``gap`` with all that is missing there.

        *known*: how many events the log had, with those that could not be written. The store may be empty, a copy of
        long ago, or have been begun anew by another process of the session, which counted what it knew. Unless the
        log was ``kept``, as *error* says, something is missing. Gives the number of the log's last event, 0 where
        nothing was written since nothing is missing, and what people said in the store after *since*. Raises
        ``StoreError``.
        """
        for _ in range(_TRIES):
            try:
                return self._begin_anew(store, start, known, since, error)
            except (Replaced, Stale):  # a store tells once that it is another one
                continue
        raise StoreError(f"the log of {start.session} changes too fast to be added to; try again")

    def _begin_anew(
        self, store: Store, start: Event, known: int, since: float, error: Replaced
    ) -> tuple[int, list[Event]]:
        last = store.last(start.session)
        starts = [e for e in store.standing(start.session, last) if e.type == "session_start"]
        gaps = [mark for mark in self._marks if mark.type == "gap"]
        met = [*gaps, *self._gone]
        news = _news(store, start.session, last, since)
        words = [event for event in news if event.type in WORDS]
        others = [e for e in news if e.text("reason") in _SHARED and not _among(e, met)]
        heard_of = [mark for mark in self._marks if mark.type == "session_start"]
        begun = min((mark.ts or 0.0 for mark in heard_of), default=float("inf"))
        strange = [s for s in starts if (s.ts or 0.0) > begun and not _among(s, heard_of)]
        # what begins with another's start, or with its start and gap, was never ours
        ours = min([last, *(s.seq - 1 for s in strange), *(gap.seq - 2 for gap in others)])
        there = [gap for gap in met if gap.seq <= ours and _stands(gap, store)]
        lost = known + _counted(gaps) - _counted(there) - _counted(others)
        lost -= ours - sum(word.seq <= ours for word in words)
        lost = max(lost, 0 if error.kept or others else 1)
        if error.kept and not lost:
            return 0, []
        data = {"count": lost, "reason": error.reason}
        gap = Event("gap", start.session, ts=start.ts, data=data)
        written = [start, gap] if lost else [start]
        store.extend(written, expect=last)
        gap.seq = last + len(written)
        start.seq = last + 1
        self._marks[:] = [*heard_of, *strange, *there, *others, *written]
        self._gone = [each for each in met if not _among(each, there)]
        return gap.seq, words


def heard(
    latest: float | None, writing: Event | None, failed: float | None, word: Event | None
) -> float:
    """The time up to which a process knows all that people said, in seconds since the epoch.

    *latest* event that it folded: an end that it is *writing* is among them, but what it knew before is older.
    *failed*: since when it could not read. *word*: the latest that it heard.
    """
    times = [latest, failed]
    if writing is not None and writing.ts is not None:
        times.append(writing.ts - float(writing.data.get("duration") or 0.0))
    known = min((at for at in times if at is not None), default=0.0) - _UNNOTICED
    return known if word is None else max(known, word.ts or 0.0)


def _news(store: Store, session: str, last: int, since: float) -> list[Event]:
    """The events at the end of the log that came after *since*."""
    size = _PAGE
    while True:
        found = store.read(session, after=max(0, last - size), limit=size, payloads=False)
        old = next((n for n, e in enumerate(reversed(found)) if (e.ts or 0.0) <= since), len(found))
        if old < len(found) or size >= last:
            return found[len(found) - old :]
        size *= 8


def _counted(gaps: Iterable[Event]) -> int:
    counts = [gap.data.get("count") for gap in gaps]
    return sum(count for count in counts if isinstance(count, int))


def _among(gap: Event, gaps: Iterable[Event]) -> bool:
    return any((gap.seq, gap.ts) == (one.seq, one.ts) for one in gaps)


def _stands(gap: Event, store: Store) -> bool:
    found = store.read(gap.session, after=gap.seq - 1, limit=1, payloads=False)
    return bool(found) and (found[0].type, found[0].ts) == (gap.type, gap.ts)
