"""A call under an id that started before: a replayed history, a host that asks twice, or one that uses ids again.

Loaded when that first happens in a process.
"""

from __future__ import annotations

from loopguard_core.identity import EXACT, Payload
from loopguard_core.recording.calls import stored_verdict
from loopguard_core.store.contract import StoreError, Taken
from loopguard_core.verdict import Ruling, Tier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.events import Event, Judged
    from loopguard_core.guard import Guard
    from loopguard_core.identity import Digester
    from loopguard_core.session.journal import Journal
    from loopguard_core.store.contract import Store

_PAGE = 200
#: events after a call's start in which its end is looked for
_FURTHEST = 20_000
#: times that a name of its own is looked for
_TRIES = 20
#: seconds within which processes start that a host starts at once
_AT_ONCE = 1.0


def rule_again(
    journal: Journal, start: Judged, seq: int, message: str = "", began: float | None = None
) -> Ruling:
    """The ruling on a call whose id started at *seq*: it is judged once, unless a human stopped it since.

    Another call under the same id goes by a name of its own, which stands on *start* then: one of another tool, with
    other arguments, or of another *message*, where the host names one. *began*: when the process began that was started
    for this call alone (a hook); a call that had ended before is another one. Where the store fails, nobody can tell
    which it is: it is judged by what the guard knows.
    """
    try:
        return _ruled(journal, start, seq, message, began)
    except StoreError as error:
        journal.fail(error)
    known = journal.guard.review(start.text("call"))
    if known is not None:
        return known
    try:
        return journal.start(start)
    except Taken:  # it is back already
        return journal.guard.rule(start)


def _ruled(journal: Journal, start: Judged, seq: int, message: str, began: float | None) -> Ruling:
    asked = start.text("call")
    for _ in range(_TRIES):
        journal.catch_up()
        store = journal.store
        if store is None:
            break
        another = _is_another(store, start, seq, journal.guard.digester, message)
        if began is not None and not message:
            own = _of_a_hook(store, start, asked, began, another=another)
        else:
            own = (message,) if another else None
        if own is None:
            break
        try:
            return _start_as(journal, start, asked, own)
        except Taken as taken:
            seq = taken.seq
    guard, call = journal.guard, start.text("call")
    if guard.controls.halt is None:
        first = guard.ruling(call)
        if first is None and store is not None:
            first = _as_it_ran(store, start, seq)
        if first is not None and first.action == "run":
            return first
    known = guard.review(call)
    if known is not None:
        return known
    ruling = guard.rule(start)
    if ruling.action != "run" or store is None:
        return ruling
    try:  # it was refused before and may run now: that is a call of its own, and spends what lets it run
        return _start_as(journal, start, asked, (str(guard.seq),))
    except Taken:
        return guard.rule(start)


def _start_as(journal: Journal, start: Judged, asked: str, own: tuple[str, ...]) -> Ruling:
    """Start the call that was *asked* about under a used id, by a name that hangs on *own*. Raises ``Taken``."""
    was = start.text("call")
    start.data["call"] = _own_name(asked, *_told_by(start), *own, digester=journal.guard.digester)
    if start.data["message"] in (asked, was):
        start.data["message"] = start.data["call"]
    return journal.start(start)


def _of_a_hook(
    store: Store, start: Judged, asked: str, began: float, *, another: bool
) -> tuple[str, ...] | None:
    """What the name of a hook's call hangs on; None for one that started before, whose name stands on *start* then.

    A hook is asked before a call runs, by several processes at once where it is installed twice. So a call that ended
    before is not this one, unless it was refused a moment ago.
    """
    for event in reversed(store.unended(start.session)):
        if _is_named(event.text("call"), asked) and _told_by(event) == _told_by(start):
            start.data["call"] = event.text("call")
            return None
    turn = store.last_turn(start.session)
    events = store.read(start.session, after=turn, payloads=False)
    same = {
        event.text("call")
        for event in events
        if event.type == "call_start"
        and _is_named(event.text("call"), asked)
        and _told_by(event) == _told_by(start)
    }
    for event in reversed(events):
        if event.type == "call_end" and event.text("call") in same:
            refused = event.text("outcome") not in ("ok", "error")
            if refused and event.ts is not None and event.ts > began - _AT_ONCE:
                start.data["call"] = event.text("call")
                return None
            return (str(event.seq),)
    return () if another and not turn else (f"turn {turn}",)


def name_of(guard: Guard, call: str, tool: str, digest: str, message: str = "") -> str:
    """The name in the log of the open call that was asked about under *call*, empty where there is none.

    What is open under *call* itself may be another call, also of another *message* where that is given. Without an id
    it is one that looks the same.
    """
    if not call:
        return guard.open_call(tool, digest)
    for name in (call, *reversed(guard.open_calls())):
        if _is_named(name, call) and guard.is_open(name, tool, digest, message):
            return name
    return ""


def _is_named(name: str, call: str) -> bool:
    """True where a call of that *name* in the log may have been asked about under the id *call*."""
    return name == call or name.startswith(f"{call}~")


def _own_name(call: str, tool: str, digest: object, *own: str, digester: Digester) -> str:
    """What a call of *tool* is called whose id *call* stands for another; *own* tells it from others like it."""
    told_by = (tool, str(digest), *(part for part in own if part))
    return f"{call}~{digester(chr(0).join(told_by))[:12]}"


def _is_another(store: Store, start: Event, seq: int, digester: Digester, message: str) -> bool:
    """True where *start* is not the call that started at *seq*: another tool, message, or other arguments.

    A session that goes on on another machine has digests of another key: there the arguments tell, as far as
    they were stored.
    """
    found = store.read(start.session, after=seq - 1, limit=1)
    if not found:
        return False
    first = found[0].data
    if message and first.get("message") != message:
        return True
    if _told_by(found[0]) == _told_by(start):
        return False
    if first.get("tool") != start.text("tool"):
        return True
    if first.get("redacted") or first.get("cut"):
        return False
    return Payload(first.get("args"), digester).digest != _told_by(start)[1]


def _told_by(start: Event) -> tuple[str, object]:
    ids = start.data.get("ids")
    exact = ids.get(EXACT) if isinstance(ids, dict) else None
    return start.text("tool"), exact.get("a") if isinstance(exact, dict) else None


def _as_it_ran(store: Store, start: Event, seq: int) -> Ruling | None:
    """The ruling on the call that started at *seq*, where it ran, to its end or until its process died; else None."""
    verdict, call = None, start.text("call")
    asked, outcome = False, ""
    for after in range(seq - 1, seq + _FURTHEST, _PAGE):
        page = store.read(start.session, after=after, limit=_PAGE, payloads=False)
        for event in page:
            if event.seq == seq:
                verdict = stored_verdict(event)
            elif event.text("call") != call:
                continue
            elif event.type == "request_opened":
                asked = True
            elif event.type == "call_end":
                outcome = event.text("outcome")
                break
        if outcome or len(page) < _PAGE:
            break
    if verdict is None:
        return None
    if outcome in ("", "pending"):  # nobody knows whether a call ran that a human was asked about
        ran = not asked and verdict.tier < Tier.BLOCK
    else:
        ran = outcome in ("ok", "error")
    return Ruling("run", verdict) if ran else None
