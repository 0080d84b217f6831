"""Dead weight in the store: sessions and requests of processes that are gone, settings that are not in force."""

from __future__ import annotations

import math
import os
import time

from loopguard_console.doctor.finding import NOTE, OK, WRONG, Finding
from loopguard_console.liveness import gone, liveness
from loopguard_console.losing import Losing
from loopguard_console.render import counted
from loopguard_core.inbox import abandoned, there
from loopguard_core.session import missing, reloading
from loopguard_core.store.contract import Session, Store, StoreError

AREA = "store"
MEND = "loopguard-console doctor --mend"


def dead_weight(store: Store) -> list[Finding]:
    """Sessions and requests of processes that are gone."""
    try:
        found, running = [*_dead(store), *_orphans(store)], _running(store)
        return [*found, *_outdated(running), *_incomplete(store, running)]
    except StoreError as error:
        return [failure(error)]


def failure(error: StoreError) -> Finding:
    """*error* as a finding: what is wrong, and what its last part says to do."""
    what, _, mend = str(error).partition("; ")
    return Finding(AREA, WRONG, what, mend)


def dead_sessions(store: Store) -> list[Session]:
    """Sessions of this host whose process is gone without a word."""
    host = os.uname().nodename
    return [s for s in store.sessions() if gone(s, host) and not there(store, s)]


def _dead(store: Store) -> list[Finding]:
    dead = [s.session for s in dead_sessions(store)]
    if not dead:
        return [Finding(AREA, OK, "no session of a process that is gone")]
    what = f"{counted(len(dead), 'session')} whose process is gone without an end: {_some(dead)}"
    return [Finding(AREA, WRONG, what, MEND)]


def _orphans(store: Store) -> list[Finding]:
    left = [r.request for r in store.requests(pending=True) if abandoned(store, r)]
    if not left:
        return [Finding(AREA, OK, "no request of a process that is gone")]
    what = f"{counted(len(left), 'request')} that nobody waits for any more: {_some(left)}"
    return [Finding(AREA, WRONG, what, MEND)]


def left_behind() -> list[Finding]:
    """What processes could not record before they ended, and no other has said in a log yet."""
    events, sessions, why = missing.waiting(os.environ)
    if not events:
        return []
    what = (
        f"{counted(events, 'event')} of {counted(sessions, 'session')} could not be recorded: {why}"
    )
    return [Finding(AREA, NOTE, what, "their logs say so once they go on")]


def _incomplete(store: Store, running: list[Session]) -> list[Finding]:
    """Sessions that run, and of which events are missing."""
    losing = Losing()
    losing.look(store, running, math.inf)
    if not losing.counts:
        return []
    events, names = sum(losing.counts.values()), list(losing.counts)
    what = f"{counted(events, 'event')} {'is' if events == 1 else 'are'} missing from the log of "
    what += f"{counted(len(names), 'session')} in use: {_some(names)}"
    return [Finding(AREA, NOTE, what, "their agents said why; the rest is recorded")]


def _running(store: Store) -> list[Session]:
    now, host = time.time(), os.uname().nodename
    return [s for s in store.sessions() if not s.ended and liveness(s, now, host) != "lost"]


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (" …" if len(names) > 3 else "")


def _outdated(running: list[Session]) -> list[Finding]:
    named = [s.session for s in running if reloading.outdated(s.session)]
    if not named:
        return []
    what = f"the configuration changed and is not in force in {_some(named)}"
    mend = f"if you changed it: loopguard-console reload {named[0]}"
    return [Finding(AREA, NOTE, what, mend)]
