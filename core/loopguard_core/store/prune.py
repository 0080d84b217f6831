"""What a store may forget: whole sessions, by age and by size, never one that is in use."""

from __future__ import annotations

from loopguard_core.processes import alive
from loopguard_core.store import search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator

    from loopguard_core.store.contract import Session, Store

DAY = 86_400.0
#: A session without an event for this long is in use by nobody, whatever became of its process.
QUIET = DAY


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

    A session's age is that of its last event; one without a time is as old as the store allows. Sessions
    with a waiting request, with a living process on *host*, or active within a day stay; what has no time is a
    transcript, in which nothing runs.
    """
    made = Plan()
    sessions = sorted(store.sessions(), key=lambda s: s.last_ts or 0.0)
    rest = []
    for session in sessions:
        age = now - (session.last_ts or 0.0)
        if days is None or age <= days * DAY:
            rest.append(session)
        elif in_use(session, now, host):
            made.in_use.append(session)
        else:
            reason = f"older than {days:g} days" if session.last_ts else "has no time"
            made.going.append(Going(session, reason, store.size(session.session)))
    if megabytes is not None:
        excess = store.size() - made.size - megabytes * 1e6
        for session in rest:
            if excess <= 0:
                break
            if in_use(session, now, host):
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
    gone: list[str] = []
    try:
        for name in store.forget_all(list(going)):
            gone.append(name)
            yield going[name]
    finally:
        search.forget(store, gone)
        store.tidy()


def in_use(session: Session, now: float, host: str) -> bool:
    """True where somebody may still write to *session* or wait in it."""
    if session.waiting:
        return True
    if session.last_ts is None or now - session.last_ts > QUIET:
        return session.host == host and alive(session.pid, session.pid_started)
    return not session.ended
