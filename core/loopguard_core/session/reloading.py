"""The human's side of the settings: what their file says now is put in force in a running session."""

from __future__ import annotations

import os

from loopguard_core.config import ConfigError, find, load_config
from loopguard_core.escape import DecisionError
from loopguard_core.inbox import write
from loopguard_core.session import pinning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.session.pinning import Pin
    from loopguard_core.store.contract import Store


def reload(store: Store, session: str, *, by: str = "", note: str = "") -> list[str]:
    """Put the settings that the file of *session* says now in force, there and in its running subagents.

    From the next call on, and the log says so. A subagent that began under its parent's settings follows it.
    Gives the sessions in which something changed. Raises ``DecisionError`` for a session that no hooks of
    this machine serve, ``ConfigError`` for a file that is wrong.
    """
    pin = pinning.find((session,))
    if pin is None:
        raise DecisionError(
            f"{session} is not served by hooks of this machine, or has ended; where the guard runs in "
            "the agent itself, it reads the configuration when the agent starts: start it anew"
        )
    now = pinning.new(session, pin.folder, pin.environ)
    now.store = pin.store  # what the agent's environment named, not this one's
    now.config.make_policy()
    now.config.trait_table()
    if now.config.digest == pin.config.digest:
        return []
    children = [s.session for s in store.sessions() if s.parent == session and not s.ended]
    changed = [session, *(name for name in children if pinning.find((name,)) is not None)]
    for name in changed:
        _put_in_force(store, name, now, by, note)
    return changed


def _put_in_force(store: Store, session: str, pin: Pin, by: str, note: str) -> None:
    config = pin.config
    try:
        pinning.put(pinning.Pin(session, config, pin.folder, pin.named, pin.store, pin.source))
    except OSError as error:
        raise DecisionError(
            f"{error.filename} cannot be written: {error.strerror}; {session} stays under what it has"
        ) from None
    start = pinning.last_start(store, session)
    said = {k: v for k, v in start.data.items() if k != "settings"} if start is not None else {}
    said |= {"policy": config.policy_name, "mode": config.mode, "config": config.digest}
    if config.recorded:
        said["settings"] = config.recorded
    said |= {"resumed": True, "reason": "configuration"}
    write(store, session, "session_start", said, by, note)


def outdated(session: str) -> bool:
    """True where the file of *session* says something else than what is in force in it, or nothing."""
    pin = pinning.find((session,))
    if pin is None:
        return False
    try:
        return load_config(pin.folder, pin.environ).digest != pin.config.digest
    except ConfigError:
        return True


def using(store: Store, path: str) -> list[str]:
    """Running sessions of hooks that began under the file *path*, or would now; subagents apart."""
    meant = os.path.realpath(path)
    found = []
    for session in store.sessions():
        pin = None if session.ended or session.parent else pinning.find((session.session,))
        if pin is None:
            continue
        places = [pin.config.place]
        try:
            places.append(find(pin.folder, pin.environ))
        except ConfigError:
            pass  # it names a file that is not there
        if any(place and os.path.realpath(place) == meant for place in places):
            found.append(session.session)
    return found
