"""Which machines write to the store, when each was last heard of, and what waits there or here."""

from __future__ import annotations

import contextlib
import time

from loopguard_console.doctor.finding import NOTE, OK, Finding
from loopguard_console.render import counted, safe, span
from loopguard_core.store.contract import Machine, StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.spool import open_spool
from loopguard_core.urls import is_url

AREA = "machines"
#: seconds without a word after which a machine whose sessions run is worth a look
_SILENT = 600.0


def examine(place: str) -> list[Finding]:
    """What is to be said of the machines that share the store at *place*; nothing of a store in a file."""
    if not is_url(place):
        return []
    found = _here(place)
    try:
        with contextlib.closing(open_store(place, create=False, read_only=True)) as store:
            now = time.time()
            found += [_of(machine, now) for machine in store.machines()]
    except StoreError:
        pass  # why it does not answer is said elsewhere
    return found


def _here(place: str) -> list[Finding]:
    try:
        spool = open_spool(place, create=False)
        if spool is None:
            return []
        with contextlib.closing(spool):
            waiting = spool.backlog()
    except StoreError as error:
        what, _, mend = str(error).partition("; ")
        return [Finding(AREA, NOTE, f"what waits on this machine cannot be told: {what}", mend)]
    if not waiting:
        return []
    sessions = counted(len(waiting), "session")
    what = f"{counted(sum(waiting.values()), 'event')} of {sessions} wait on this machine"
    return [Finding(AREA, NOTE, what, "loopguard-console forward sends them")]


def _of(machine: Machine, now: float) -> Finding:
    host = safe(machine.host, 60)
    heard = "never heard of" if machine.heard is None else f"heard {span(now - machine.heard)} ago"
    runs = counted(machine.running, "session")
    if machine.behind:
        told = span(now - (machine.told or now))
        what = (
            f"{host}: {runs}, {heard}; {counted(machine.behind, 'event')} waited there {told} ago"
        )
        return Finding(
            AREA, NOTE, what, "they come as soon as an agent or console there reaches the store"
        )
    if machine.running and machine.heard is not None and now - machine.heard > _SILENT:
        what = f"{host}: {runs} that did not end, {heard}"
        return Finding(AREA, NOTE, what, "idle, died, or cut off from the store: look there")
    return Finding(AREA, OK, f"{host}: {runs}, {heard}")
