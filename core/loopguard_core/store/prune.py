"""What a store may forget: whole sessions, by age and by size, never one that is in use."""

from __future__ import annotations

from loopguard_core.processes import alive
from loopguard_core.store import search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from loopguard_core.store.contract import Session, Store

DAY = 86_400.0
#: Whoever worked in a session within this time may look back at it or go on with it, also where it has ended.
RECENT = DAY
#: How many of the newest requests may be open for a late approval: as many as the inbox looks at.
_LATEST = 200


class Going:
    """A session that goes: why, and what goes with it. ``size`` in bytes, as its events take them."""

    __slots__ = ("reason", "session", "size")

    def __init__(self, session: Session, reason: str, size: int) -> None:
        self.session = session
        self.reason = reason
        self.size = size


class Plan:
    """What a prune takes away, the oldest first, and the sessions that it would but may not."""

    __slots__ = ("going", "in_use")

    def __init__(self) -> None:
        self.going: list[Going] = []
        self.in_use: list[Session] = []

    @property
    def events(self) -> int:
        return sum(g.session.seq for g in self.going)

    @property
    def size(self) -> int:
        return sum(g.size for g in self.going)


def plan(
    store: Store,
    now: float,
    *,
    days: float | None = None,
    megabytes: float | None = None,
    host: str = "",
) -> Plan:
    """What goes so that nothing is older than *days* and the store is within *megabytes*.

    A session's age is the time since its agent was active; one without a time is as old as the store allows. Sessions
    active within a day (ended or not), with a request that waits or may still be approved, or with a living
    process on *host* stay; what has no time is a transcript, in which nothing runs. A time that lies ahead, written
    under a clock that was wrong, is none.
    """
    made = Plan()
    late = _open_late(store, now)
    found = store.sessions()
    ahead = _ahead(found, now, host)
    known = {s.session: 0.0 if s.session in ahead else s.last_ts or 0.0 for s in found}
    rest = []
    for session in sorted(found, key=lambda s: known[s.session]):
        last = known[session.session]
        if days is None or now - last <= days * DAY:
            rest.append(session)
        elif _in_use(session, now, host, late, last):
            made.in_use.append(session)
        else:
            reason = f"older than {days:g} day{'s' * (days != 1)}" if last else "has no time"
            if session.session in ahead:
                reason = "its time lies ahead"
            made.going.append(Going(session, reason, store.size(session.session)))
    if megabytes is not None:
        excess = store.size() - made.size - megabytes * 1e6
        for session in rest:
            if excess <= 0:
                break
            if _in_use(session, now, host, late, known[session.session]):
                made.in_use.append(session)
                continue
            size = store.size(session.session)
            made.going.append(Going(session, f"the store is above {megabytes:g} MB", size))
            excess -= size
    return made


def carry_out(store: Store, plan: Plan) -> Generator[Going]:
    """Forget what *plan* says, one session after the other; each is given when it is gone. Raises ``StoreError``.

    Who leaves earlier closes it.
    """
    going = {each.session.session: each for each in plan.going}
    with search.going(store, list(going)):
        for name in store.forget_all(list(going)):
            yield going[name]


def _ahead(sessions: Sequence[Session], now: float, host: str) -> frozenset[str]:
    """Sessions whose last time cannot be right. Where that is said of most of them, it is *now* that is wrong.

    One that has not ended on another machine may run there, under that machine's clock.
    """
    ahead = [s for s in sessions if s.last_ts is not None and s.last_ts - now > RECENT]
    if 2 * len(ahead) > len(sessions):
        return frozenset()
    return frozenset(s.session for s in ahead if s.ended or s.host in ("", host))


def _in_use(session: Session, now: float, host: str, late: frozenset[str], last: float) -> bool:
    """True where somebody may still write to *session*, wait or decide in it, or has just left it.

    *last*: when it was active, 0 where that is not known.
    """
    if session.waiting or session.session in late:
        return True
    if last and now - last <= RECENT:
        return True
    return session.host == host and alive(session.pid, session.pid_started)


def _open_late(store: Store, now: float) -> frozenset[str]:
    """Sessions with a request that nobody answered in time, and that may still be approved."""
    return frozenset(
        asked.session
        for asked in store.requests(limit=_LATEST)
        if asked.resolution == "expired" and now < (asked.late_until or 0.0)
    )
