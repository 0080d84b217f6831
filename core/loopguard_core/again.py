"""A call under an id that started before: a replayed history, a host that asks twice, or one that uses ids again.

Loaded when that first happens in a process.
"""

from __future__ import annotations

from loopguard_core.calls import stored_verdict
from loopguard_core.identity import EXACT, Payload
from loopguard_core.store.contract import StoreError, Taken
from loopguard_core.verdict import Ruling, Tier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.events import Event, Judged
    from loopguard_core.guard import Guard
    from loopguard_core.identity import Digester
    from loopguard_core.journal import Journal
    from loopguard_core.store.contract import Store

_PAGE = 200
#: events after a call's start in which its end is looked for
_FURTHEST = 20_000


def rule_again(journal: Journal, start: Judged, seq: int) -> Ruling:
    """The ruling on a call whose id started at *seq*: it is judged once, unless a human stopped it since.

    Another call under the same id goes by a name of its own, which stands on *start* then. Where the store fails, nobody
    can tell which it is: it is judged by what the guard knows.
    """
    try:
        return _ruled(journal, start, seq)
    except StoreError as error:
        journal.fail(error)
    known = journal.guard.review(start.text("call"))
    if known is not None:
        return known
    try:
        return journal.start(start)
    except Taken:  # it is back already
        return journal.guard.rule(start)


def _ruled(journal: Journal, start: Judged, seq: int) -> Ruling:
    journal.catch_up()
    guard, store, call = journal.guard, journal.store, start.text("call")
    if store is not None and _is_another(store, start, seq, guard.digester):
        start.data["call"] = _own_name(call, *_told_by(start), guard.digester)
        if start.data["message"] == call:
            start.data["message"] = start.data["call"]
        try:
            return journal.start(start)
        except Taken as taken:
            return _ruled(journal, start, taken.seq)
    if guard.controls.halt is None:
        first = guard.ruling(call)
        if first is None and store is not None:
            first = _as_it_ran(store, start, seq)
        if first is not None and first.action == "run":
            return first
    return guard.review(call) or guard.rule(start)


def name_of(guard: Guard, call: str, tool: str, args: object) -> str:
    """The name in the log of the open call that was asked about under *call*, empty where there is none.

    What is open under *call* itself may be another call. Without an id it is one that looks the same.
    """
    digest = Payload(args, guard.digester).digest
    for name in (call, _own_name(call, tool, digest, guard.digester)):
        if guard.is_open(name, tool, digest):
            return name
    return "" if call else guard.open_call(tool, digest)


def _own_name(call: str, tool: str, digest: object, digester: Digester) -> str:
    """What a call of *tool* is called whose id *call* stands for another."""
    return f"{call}~{digester(chr(0).join((tool, str(digest))))[:12]}"


def _is_another(store: Store, start: Event, seq: int, digester: Digester) -> bool:
    """True where *start* is not the call that started at *seq*: another tool, or other arguments.

    A session that goes on on another machine has digests of another key: there the arguments tell, as far as
    they were stored.
    """
    found = store.read(start.session, after=seq - 1, limit=1)
    if not found or _told_by(found[0]) == _told_by(start):
        return False
    first = found[0].data
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
