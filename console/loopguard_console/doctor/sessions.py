"""Dead weight in the store: sessions and requests of processes that are gone, settings that are not in force."""

from __future__ import annotations

import os
import time

from loopguard_console.doctor.finding import NOTE, OK, WRONG, Finding
from loopguard_console.liveness import gone, liveness
from loopguard_console.render import counted
from loopguard_core.inbox import abandoned, there
from loopguard_core.session import reloading
from loopguard_core.store.contract import Session, Store, StoreError

AREA = "store"
MEND = "loopguard-console doctor --mend"


def dead_weight(store: Store) -> list[Finding]:
    """Sessions and requests of processes that are gone."""
    try:
        return [*_dead(store), *_orphans(store), *_outdated(store)]
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


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (" …" if len(names) > 3 else "")


def _outdated(store: Store) -> list[Finding]:
    now, host = time.time(), os.uname().nodename
    running = (s for s in store.sessions() if not s.ended and liveness(s, now, host) != "lost")
    named = [s.session for s in running if reloading.outdated(s.session)]
    if not named:
        return []
    what = f"the configuration changed and is not in force in {_some(named)}"
    mend = f"if you changed it: loopguard-console reload {named[0]}"
    return [Finding(AREA, NOTE, what, mend)]
