"""``status``: one line for a tmux status bar or a shell prompt."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from loopguard_console.liveness import liveness
from loopguard_console.output import emit, json_option, say
from loopguard_console.render import counted
from loopguard_console.stores import Options, reading
from loopguard_core.inbox import still_waiting
from loopguard_core.store.contract import Store
from loopguard_core.verdict import Tier


@click.command()
@json_option
@click.pass_obj
def status(options: Options, as_json: bool) -> None:
    """Say in one line how many agents run, which of them you halted, and what waits for you.

    For a status bar, such as tmux: set -g status-right '#(loopguard-console status)'. The line is empty
    while no agent runs and nothing waits.
    """
    with reading(options) as store:
        state = _state(store)
    if as_json:
        emit(state)
        return
    words = _words(state)
    if words:
        say(words)


def _state(store: Store | None) -> dict[str, Any]:
    now, host = time.time(), os.uname().nodename
    sessions = [] if store is None else store.sessions()
    states = [liveness(s, now, host) for s in sessions]
    running = [s for s, word in zip(sessions, states, strict=True) if word in ("live", "quiet")]
    waiting = still_waiting(store) if store is not None and _any_waiting(sessions) else []
    return {
        "running": len(running),
        "live": states.count("live"),
        "lost": sum(
            word == "lost" and s.waiting > 0 for s, word in zip(sessions, states, strict=True)
        ),
        "halted": [s.session for s in running if s.halted],
        "waiting": [r.request for r in waiting],
        "worst": Tier(max((r.tier for r in waiting), default=0)).word,
        "calls": sum(s.calls for s in running),
    }


def _any_waiting(sessions: list[Any]) -> bool:
    return any(s.waiting for s in sessions)


def _words(state: dict[str, Any]) -> str:
    parts = []
    waiting = state["waiting"]
    if waiting:
        shown = " ".join(waiting[:3]) + (" …" if len(waiting) > 3 else "")
        parts.append(f"{state['worst'].upper()} {len(waiting)} waiting ({shown})")
    if state["halted"]:
        parts.append(f"{len(state['halted'])} halted")
    if state["running"]:
        agents, calls = counted(state["running"], "agent"), counted(state["calls"], "call")
        parts.append(f"{agents}, {calls}")
    return "loopguard: " + " · ".join(parts) if parts else ""
