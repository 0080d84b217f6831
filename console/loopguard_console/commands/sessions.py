"""``sessions``: every agent run in the store."""

from __future__ import annotations

import math
import os
import time
from typing import Any

import click

from loopguard_console.liveness import liveness
from loopguard_console.losing import Losing
from loopguard_console.naming import sessions_of
from loopguard_console.output import emit, json_option, say, table
from loopguard_console.render import UNJUDGED, counted, span
from loopguard_console.stores import Options, place_of, reading
from loopguard_core.store.contract import Session
from loopguard_core.verdict import Tier

_ORDER = ("live", "quiet", "lost", "ended")


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also those that ended or were lost.")
@json_option
@click.pass_obj
def sessions(options: Options, everything: bool, as_json: bool) -> None:
    """List agent runs: those that wait for you first, then the most recently active.

    The state of a run is live, quiet (no event for a minute), lost (its process is gone, or on another
    host nothing was heard of it for a day) or ended; and whether a person halted its turn or the session, until a message of theirs or resume lets it go on;
    and how many of its events could not be written. The worst tier is a stroke where no guard has judged
    the calls yet, as in a transcript that was imported.
    """
    now = time.time()
    host = os.uname().nodename
    with reading(options) as store:
        found = sessions_of(store)
        states = {s.session: liveness(s, now, host) for s in found}
        running = [
            s
            for s in found
            if everything or as_json or states[s.session] in ("live", "quiet") or s.waiting
        ]
        losing = Losing()
        if store is not None:
            losing.look(store, running, math.inf)
    hidden, missing = len(found) - len(running), losing.counts
    running.sort(key=lambda s: (not s.waiting, _ORDER.index(states[s.session]), -(s.last_ts or 0)))
    if as_json:
        for session in running:
            state, lost = states[session.session], missing.get(session.session, 0)
            emit({**session_json(session, state), "missing": lost})
        return
    if running:
        heads = ("session", "agent", "state", "calls", "worst", "waiting", "last active")
        rows = [_cells(s, states[s.session], missing.get(s.session, 0), now) for s in running]
        table(heads, rows, right=(3, 5))
    elif not hidden:
        say(f"No agent has been recorded yet in {place_of(options)}")
    if hidden:
        words = "was lost is" if hidden == 1 else "were lost are"
        say(f"{hidden} that ended or {words} not shown (--all)")


def session_json(session: Session, state: str) -> dict[str, Any]:
    """A session for programs. Times in seconds since the epoch."""
    return {
        "session": session.session,
        "name": session.name or None,
        "agent": session.agent,
        "state": state,
        "halted": session.halted or None,
        "halted_by": session.halted_by or None,
        "parent": session.parent or None,
        "cwd": session.cwd,
        "host": session.host,
        "user": session.user or None,
        "pid": session.pid or None,
        "calls": session.calls,
        "worst": Tier(session.worst).word if session.judged else None,
        "waiting": session.waiting,
        "first_ts": session.first_ts,
        "last_ts": session.last_ts,
        "events": session.seq,
    }


def _cells(session: Session, state: str, missing: int, now: float) -> list[object]:
    halted = f"{session.halted} halted" if session.halted else ""
    gaps = f"{counted(missing, 'event')} missing" if missing else ""
    last = "" if session.last_ts is None else f"{span(now - session.last_ts)} ago"
    return [
        session.name or session.session,
        session.agent,
        ", ".join(part for part in (state, halted, gaps) if part),
        str(session.calls),
        Tier(session.worst).word if session.judged else UNJUDGED,
        str(session.waiting or ""),
        last,
    ]
