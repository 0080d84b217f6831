"""What holds in a session as its log has it: a human's halt, the guard's own latch, the sessions below it.

So that an instruction that would change nothing is not written. Every function raises ``StoreError``.
"""

from __future__ import annotations

from loopguard_core.recording.calls import stored_verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.events import Event
    from loopguard_core.store.contract import Session, Store

#: events that are read at a time
_PAGE = 2000


def below(store: Store, session: str) -> list[Session]:
    """Sessions below *session*, nearest first."""
    known = {s.session: s for s in store.sessions() if s.parent}
    found: list[str] = []
    level = {session}
    while level:
        level = {name for name, s in known.items() if s.parent in level and name not in found}
        level.discard(session)
        found += sorted(level)
    return [known[name] for name in found]


def halted(store: Store, known: Session, scope: str) -> bool:
    """True where a halt of *scope* would change nothing in a session: one stands, and nothing is younger."""
    if known.waiting or known.halted not in (scope, "session"):
        return False
    standing = store.standing(known.session, store.last(known.session))
    return not any(e.seq > known.halted_seq and e.type in ("grant", "breakpoint") for e in standing)


def halt_of(store: Store, known: Session) -> Event | None:
    """The halt in which a session stands; None where it stands in none."""
    if not known.halted:
        return None
    found = store.read(known.session, after=known.halted_seq - 1, limit=1, payloads=False)
    return found[0] if found and found[0].type == "halt" else None


def reaches_below(halt: Event) -> bool:
    """Whether a halt is for the sessions below its own as well, also for those that begin later."""
    return halt.data.get("children") is not False


def latest(store: Store, session: str, types: tuple[str, ...], name: str) -> Event | None:
    """The latest instruction of *types* about the grant or breakpoint *name*; None where there is none."""
    for event in reversed(store.standing(session, store.last(session))):
        if event.type in types and event.text(types[0]) == name:
            return event
    return None


def stopped(store: Store, known: Session) -> bool:
    """True where a resume may change something in a session: a human halted it, or the guard did."""
    if known.halted:
        return True
    asked = store.requests(session=known.session, pending=True) if known.waiting else []
    return any(request.cause == "latch" for request in asked) or _latched(store, known.session)


def _latched(store: Store, session: str) -> bool:
    """Whether the guard's latch may stand: a verdict of this turn set it, or events of it are missing."""
    last = store.last(session)
    standing = store.standing(session, last)
    if {e.text("mode") for e in standing if e.type == "session_start"} == {"observe"}:
        return False
    freed = [e.seq for e in standing if e.type == "resume"]
    seq = max([store.last_turn(session), *freed])
    stopping: set[str] = set()
    latched = False
    while seq < last:
        page = store.read(session, after=seq, limit=_PAGE, payloads=False)
        if not page:
            break
        for event in page:
            if event.type == "reset" and event.text("scope") in ("", "session"):
                latched = False
            elif event.type == "call_start":
                if _latches(event):
                    stopping.add(event.text("call"))
            elif event.type == "gap" or (event.type == "call_end" and _sets(event, stopping)):
                latched = True
        seq = page[-1].seq
    return latched


def _sets(end: Event, stopping: set[str]) -> bool:
    """Whether the end of a call sets the latch: by its own verdict, or because one that latches stopped it."""
    if _latches(end):
        return True
    return end.text("outcome") == "blocked" and end.text("call") in stopping


def _latches(event: Event) -> bool:
    verdict = stored_verdict(event)
    return verdict is not None and verdict.latches
