"""``pending``: what waits for a person's decision."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import click

from loopguard_console.naming import sessions_of
from loopguard_console.output import emit, json_option, say, table
from loopguard_console.render import halted_words, preview, safe, span
from loopguard_console.stores import Options, find_session, place_of, reading
from loopguard_core import escape
from loopguard_core.inbox import still_waiting
from loopguard_core.store.contract import Request, Session, StoreError, whose
from loopguard_core.store.door import open_store
from loopguard_core.verdict import Tier


@click.command()
@click.option(
    "--session", "named", metavar="SESSION", default="", help="Only those of one session."
)
@json_option
@click.pass_obj
def pending(options: Options, named: str, as_json: bool) -> None:
    """List requests that wait for your decision, the worst and oldest first.

    A request whose wait is over stays open for some minutes: approved late, the agent's next try of the
    same call runs. Answer with approve, deny, override or reset.
    """
    now = time.time()
    session = ""
    if named:
        with reading(options) as store:
            session = find_session(store, named).session
    found = open_requests(options, session)
    if as_json:
        for request in found:
            emit(request_json(request))
        return
    if found:
        heads = ("request", "tier", "time", "call", "session", "of", "why")
        table(heads, [_cells(r, now) for r in found], whole=True)
    else:
        say("Nothing waits for you.")
    for halted in _halted(options, session):
        say(f"{halted.name or halted.session}: {halted_words(halted)}; resume lets it go on")


def open_requests(options: Options, session: str = "") -> list[Request]:
    """Requests that a person can still answer: waiting ones first, then those open to a late approval."""
    found = [r for r in _look(options) if session in ("", r.session)]
    return sorted(found, key=lambda r: (not waits(r), -r.tier, r.opened_ts or 0.0, r.seq))


def _look(options: Options) -> list[Request]:
    with reading(options) as store:
        if store is None:
            return []
    try:
        with contextlib.closing(open_store(place_of(options), create=False)) as store:
            return escape.waiting(store)
    except StoreError:  # it cannot be written, so nothing in it can be answered late
        with reading(options) as store:
            return [] if store is None else still_waiting(store)


def _halted(options: Options, session: str) -> list[Session]:
    """Sessions that run and that a person halted; only *session* where given."""
    with reading(options) as store:
        known = sessions_of(store)
    return [s for s in known if s.halted and not s.ended and session in ("", s.session)]


def waits(request: Request) -> bool:
    """True while an agent waits for the answer."""
    return not request.resolution


def request_json(request: Request) -> dict[str, Any]:
    """A request for programs. Times in seconds since the epoch."""
    return {
        "request": request.request,
        "state": "waiting" if waits(request) else "late",
        "session": request.session,
        "host": request.host or None,
        "user": request.user or None,
        "call": request.call,
        "tool": request.tool,
        "args": request.args,
        "tier": Tier(request.tier).word,
        "cause": request.cause,
        "signature": request.signature,
        "verdict": request.verdict,
        "opened_ts": request.opened_ts,
        "deadline": request.deadline,
        "late_until": request.late_until,
        "unanswered": request.unanswered,
        "seen": request.seen,
        "resolution": request.resolution or None,
        "by": request.by or None,
        "note": request.note or None,
    }


def _cells(request: Request, now: float) -> list[str]:
    call = f"{safe(request.tool, 24) or '(no name)'}({preview(request.args, 30)})"
    why = request.verdict.get("reason") or request.cause
    return [
        request.request,
        Tier(request.tier).word,
        _time(request, now),
        call,
        request.session,
        whose(request),
        safe(why),
    ]


def _time(request: Request, now: float) -> str:
    if not waits(request):
        return f"not waiting; approve within {span((request.late_until or now) - now)}"
    if request.deadline is None:
        return "waits as long as it takes"
    then = "it runs" if request.unanswered == "run" else "it is refused"
    return f"waits {span(request.deadline - now)} more, then {then}"
