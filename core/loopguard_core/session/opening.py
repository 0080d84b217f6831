"""What a session needs when it begins: its key, and what its first event says."""

from __future__ import annotations

import os
import sys

from loopguard_core.interrupts import pass_on
from loopguard_core.processes import here, started, user
from loopguard_core.refusal import plain
from loopguard_core.store.contract import StoreError
from loopguard_core.store.door import own_key
from loopguard_core.store.paths import place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TextIO

    from loopguard_core.config import Config

#: the bytes of a line: so many a pipe that takes any takes at once
_LINE = 4_000
#: how long a full pipe is waited for, in seconds
_MOMENT = 0.1


def to_stderr(line: str) -> None:
    """Tell the person one line, beside whatever the agent prints. It may hold names that others gave.

    Where stderr is a pipe that nobody reads, the line is lost: it would hold the agent for ever.
    """
    text = f"loopguard: {plain(line, len(line))}"
    if len(text) > _LINE // 4:
        text = text.encode("utf-8", "backslashreplace")[:_LINE].decode("utf-8", "ignore")
    try:
        if _takes(sys.stderr):
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
    except Exception as error:  # noqa: BLE001 - no stderr, a closed one or another: there is nobody to tell
        pass_on(error)


def _takes(stream: TextIO) -> bool:
    """Whether *stream* takes a line by now, as far as it can be known."""
    try:
        from select import select  # few processes say anything

        return bool(select((), (stream.fileno(),), (), _MOMENT)[1])
    except (ImportError, AttributeError, OSError, ValueError, TypeError):  # it is no descriptor
        return True


def key_for(place: str) -> bytes:
    """The machine's key for the store at *place*; where it cannot be read, one of this process.

    Empty for a store in memory, which is nowhere.
    """
    try:
        return own_key(place_of(place)) if place else b""
    except StoreError:
        return os.urandom(32)


def opening(
    config: Config,
    agent: str,
    cwd: str,
    pid: int | Callable[[], int],
    parent: str,
    *,
    name: str = "",
    served: str = "",
) -> Callable[[], dict[str, Any]]:
    """What a ``session_start`` says; *pid* 0 is this process; found to be 0 by a function, none.

    It is found out when it is asked for: a hook of a session that has begun never asks, and saves 0.4 of 28 ms.
    Once, unless the system could not tell (a process without a file descriptor left is told nothing).
    """
    found: dict[str, Any] = {}

    def told() -> dict[str, Any]:
        if not found.get("pid_started"):
            found.update(_opening(config, agent, cwd, pid, parent, name, served))
        return found

    return told


def _opening(
    config: Config,
    agent: str,
    cwd: str,
    pid: int | Callable[[], int],
    parent: str,
    name: str,
    served: str,
) -> dict[str, Any]:
    pid = (pid or os.getpid()) if isinstance(pid, int) else pid()
    said: dict[str, Any] = {
        "agent": agent,
        "cwd": cwd or here(),
        "pid": pid,
        "pid_started": started(pid) if pid else "",
        "host": os.uname().nodename,
        "user": user(),
        "parent": parent,
        "policy": config.policy_name,
        "mode": config.mode,
        "config": config.digest,
    }
    if pid not in (0, os.getpid()) and not served:  # as a sidecar is told
        said |= {"guard": os.getpid(), "guard_started": started(os.getpid())}
    if config.recorded:
        said["settings"] = config.recorded
    if name:
        said["name"] = name
    if served:
        said["served"] = served
    return said
