"""Which processes serve a session: there may be several, and it has not ended while one of them lives."""

from __future__ import annotations

import os

from loopguard_core.processes import alive, name_of, started
from loopguard_core.store.contract import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.store.contract import Store

#: What a ``session_start`` says of a session of hooks under ``served``.
HOOKS = "hooks"
#: Why a session starts that was not over: another process serves it as well, or one that did has left it.
BESIDE, LEFT = "beside", "left"
#: What a start says of the agent's process, and of the one that guards it where that is another.
PROCESS = ("pid", "pid_started", "guard", "guard_started")


def living(store: Store, session: str, but: Mapping[str, Any]) -> list[Event]:
    """The starts of *session* in processes of this host that live and have not left it, the latest last.

    *but*: what a start says of the process that is left out. Raises ``StoreError``.
    """
    here, found = os.uname().nodename, dict[tuple[int, str], "Event"]()
    for event in store.standing(session, store.last(session)):
        if event.type == "session_start":
            left = event.data.get("left")
            if isinstance(left, dict):
                found.pop(_who(left), None)
            if event.text("host") in ("", here):
                before = found.pop(who := _who(event.data), event)
                # a hook that a model starts names the same process, which guards itself all the same
                itself = event.text("served") != HOOKS or before.text("served") == HOOKS
                found[who] = event if itself else before
    found.pop(_who(but), None)
    there = [start for (pid, since), start in found.items() if pid and alive(pid, since)]
    if there:
        ended = 0
        for event in store.read_all(session, after=there[0].seq, payloads=False):
            if event.type == "session_end":
                ended = event.seq
        there = [start for start in there if start.seq > ended]
    return there


def other_guard(store: Store, session: str, *, hooks: bool) -> str:
    """The living process that guards *session*, beside this one, for people; empty where none does.

    *hooks*: also where hooks do that for it. Raises ``StoreError``.
    """
    known = store.session(session)
    if known is None or known.ended:
        return ""
    this = {"pid": os.getpid(), "pid_started": started(os.getpid())}
    others = living(store, session, this)
    others = [start for start in others if hooks or start.text("served") != HOOKS]
    if not others:
        return ""
    pid = _who(others[-1].data)[0]
    return f"process {pid} {name_of(pid)}".rstrip()


def by_hooks(store: Store, session: str) -> bool:
    """True where hooks guard *session*, by its last start. Raises ``StoreError``."""
    starts = [e for e in store.standing(session, store.last(session)) if e.type == "session_start"]
    return bool(starts) and starts[-1].text("served") == HOOKS


def joins(store: Store | None, session: str, opening: Callable[[], Mapping[str, Any]]) -> bool:
    """True where another living process serves *session* already. *opening*: what a start says of this one."""
    try:
        return store is not None and bool(living(store, session, opening()))
    except StoreError:
        return False


def _who(said: Mapping[str, Any]) -> tuple[int, str]:
    """The process that guards, by what a start says: its number, and when it started."""
    name = "guard" if "guard" in said else "pid"
    pid, since = said.get(name), said.get(f"{name}_started")
    return pid if isinstance(pid, int) else 0, since if isinstance(since, str) else ""
