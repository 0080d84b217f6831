"""Whether this process runs inside a guarded agent: then it must not decide.

A model with a shell could otherwise let itself go. The environment of this process and of those above it
is looked at, and whether one of them is a guarded session's own process.
"""

from __future__ import annotations

import os

from loopguard_core.inbox import runs
from loopguard_core.processes import alive, ancestors, name_of, started
from loopguard_core.serving import by_hooks, living
from loopguard_core.urls import is_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from loopguard_core.store.contract import Session, Store

#: What the first process of a system is called.
_SYSTEMS = frozenset(("systemd", "init", "launchd"))
ENVIRONMENT = "LOOPGUARD_SESSION"


def inside_agent(store: Store | None, environ: Mapping[str, str] | None = None) -> str:
    """The guarded session inside which this process runs; empty where it is a person's own.

    Raises ``StoreError``.
    """
    own = (os.environ if environ is None else environ).get(ENVIRONMENT, "")
    above = list(ancestors())
    for named in (own, *map(_environment_of, above)):
        if named and not _over(store, named):
            return named
    if store is None:
        return ""
    here, shared = os.uname().nodename, is_url(store.place)
    for session in store.sessions():
        if session.host in ("", here) and _serves(store, session, above, shared=shared):
            return session.session
    return ""


def _serves(store: Store, session: Session, above: list[int], *, shared: bool) -> bool:
    """True where a process *above* this one serves *session*, or hooks did for it until they said that it ended.

    That can be said by a model too, so it counts while the process lives.
    """
    if session.pid in above and _is_it(session, shared=shared):
        return not session.ended or by_hooks(store, session.session)
    if session.ended or shared:
        return False
    return any(start.data.get("pid") in above for start in living(store, session.session, {}))


def process_of(store: Store, session: str) -> str:
    """The process of *session* above this one, for people: its number and name; empty where none is."""
    known = store.session(session)
    if known is None or known.pid not in ancestors():
        return ""
    return f"process {known.pid} {name_of(known.pid)}".rstrip()


def _is_it(session: Session, *, shared: bool) -> bool:
    """True where the process of *session* is the one above this that has its number.

    In a store that is *shared* any machine could say so of this one, and keep its people from deciding. There a
    session has to know when the process started; and the system's first one, of which that is easily guessed,
    is nobody's agent.
    """
    if not shared:
        return alive(session.pid, session.pid_started)
    since = started(session.pid)
    if session.pid == 1 and name_of(1) in _SYSTEMS:
        return False
    return bool(session.host) and (since == session.pid_started if since else True)


def _over(store: Store | None, session: str) -> bool:
    """True where *session* is known to have ended: what it left in an environment says nothing now.

    Where hooks guard it, a model can say so as well, so it has not while its process lives.
    """
    known = None if store is None else store.session(session)
    if store is None or known is None or runs(store, session):
        return False
    here = known.host in ("", os.uname().nodename)
    lives = here and alive(known.pid, known.pid_started)
    return not (lives and by_hooks(store, session))


def _environment_of(pid: int) -> str:
    """``LOOPGUARD_SESSION`` with which process *pid* was started, where the system tells."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            content = file.read()
    except OSError:
        return ""
    prefix = f"{ENVIRONMENT}=".encode()
    for entry in content.split(b"\0"):
        if entry.startswith(prefix):
            return entry[len(prefix) :].decode("utf-8", "replace")
    return ""
