"""Whether there is anything to reset: calls of a session that are counted under a tool or a signature."""

from __future__ import annotations

import difflib

from loopguard_console.errors import Failure
from loopguard_console.guards import guard_of
from loopguard_console.render import counted, safe
from loopguard_core.events import Event
from loopguard_core.folding import fold
from loopguard_core.recording.calls import stored_verdict
from loopguard_core.store.contract import Store

#: events that are read at a time
_PAGE = 2000


def refuse_uncounted(store: Store, session: str, scope: str, key: str) -> None:
    """Raises ``Failure`` where no call of *session* is counted under *key*, which names what *scope* says."""
    known = _known(store, session, scope, key)
    if key in known or (scope == "signature" and key in _counts(store, session)):
        return
    near = difflib.get_close_matches(key, known, 1)
    hint = f"did you mean {safe(near[0], 60)}?" if near else f"it has {_some(known, scope)}"
    raise Failure(
        f"nothing is counted under the {scope} {safe(key, 60)} in {safe(session, 60)}, "
        f"and nothing was changed; {hint}"
    )


def _known(store: Store, session: str, scope: str, key: str) -> set[str]:
    """The tools or signatures of the session's calls, from the last on; *key* is the last one looked for."""
    found: set[str] = set()
    upto = store.last(session)
    while upto > 0 and key not in found:
        after = max(0, upto - _PAGE)
        for event in store.read(session, after=after, limit=upto - after, payloads=False):
            found |= _names(event, scope)
        upto = after
    return found


def _names(event: Event, scope: str) -> set[str]:
    if scope == "tool":
        return {event.text("tool")} if event.type == "call_start" else set()
    verdict = stored_verdict(event) if event.type in ("call_start", "call_end") else None
    return {verdict.signature} if verdict is not None else set()


def _counts(store: Store, session: str) -> set[str]:
    """The signatures of the counters that stand: a policy may have others than those of its verdicts."""
    standing = store.standing(session, store.last(session))
    guard = guard_of(next((e for e in standing if e.type == "session_start"), None))
    for event in store.read_all(session, payloads=False):
        fold(guard, event)
    return {count.key for count in guard.counts() if count.key != count.tool}


def _some(known: set[str], scope: str) -> str:
    if scope == "signature":
        return counted(len(known), "signature")
    names = sorted(known)
    more = " …" if len(names) > 5 else ""
    return ", ".join(safe(name, 40) for name in names[:5]) + more if names else "no calls"
