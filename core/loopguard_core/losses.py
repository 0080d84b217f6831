"""A session that goes on in a store which is another one than before: what is missing there is counted, once and in full."""

from __future__ import annotations

from loopguard_core.events import Event
from loopguard_core.store.contract import Replaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard_core.store.contract import Store


def begin_anew(
    store: Store, start: Event, known: int, gaps: list[Event], gone: list[Event], kept: bool
) -> Event | None:
    """Write *start* to *store*, and a ``gap`` with all that is missing there, which is given; None for nothing.

    *known*: how many events the log had, with those that could not be written. *gaps* of it say that more is
    missing, those in *gone* stood in stores of before; both are brought up to date. The store may be empty, or a
    copy of long ago. Unless the log was *kept*, something is missing. Raises ``StoreError``; nothing was written then.
    """
    try:
        return _begin_anew(store, start, known, gaps, gone, kept)
    except Replaced:  # it tells so once
        return _begin_anew(store, start, known, gaps, gone, kept)


def _begin_anew(
    store: Store, start: Event, known: int, gaps: list[Event], gone: list[Event], kept: bool
) -> Event | None:
    last = store.last(start.session)
    met = [*gaps, *gone]
    there = [gap for gap in met if gap.seq <= last and _stands(gap, store)]
    lost = max(known + _counted(gaps) - last - _counted(there), not kept)
    if not lost:
        return None
    reason = "the event store was replaced while the session ran"
    gap = Event("gap", start.session, ts=start.ts, data={"count": lost, "reason": reason})
    store.extend([start, gap])
    gap.seq = store.last(start.session)
    gaps[:] = [*there, gap]
    gone[:] = [each for each in met if each not in there]
    return gap


def _counted(gaps: Iterable[Event]) -> int:
    counts = [gap.data.get("count") for gap in gaps]
    return sum(count for count in counts if isinstance(count, int))


def _stands(gap: Event, store: Store) -> bool:
    found = store.read(gap.session, after=gap.seq - 1, limit=1, payloads=False)
    return bool(found) and (found[0].type, found[0].ts) == (gap.type, gap.ts)
