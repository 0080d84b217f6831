"""``grants``: those in force."""

from __future__ import annotations

import time
from typing import Any

import click

from loopguard_console.guards import guard_of
from loopguard_console.output import emit, json_option, say, table
from loopguard_console.render import safe, span
from loopguard_console.stores import Options, find_session, reading
from loopguard_core.controls import Grant
from loopguard_core.events import Event
from loopguard_core.folding import fold
from loopguard_core.store.contract import Session, Store


@click.command()
@click.argument("session", metavar="[SESSION]", default="")
@json_option
@click.pass_obj
def grants(options: Options, session: str, as_json: bool) -> None:
    """List the grants in force, with what is left of each. The command revoke takes one back.

    Also those of sessions that have ended: they hold when the session goes on.
    """
    now = time.time()
    with reading(options) as store:
        if session:
            sessions = [find_session(store, session)]
        else:
            sessions = [] if store is None else store.sessions()
        found = [(s, g) for s in sessions for g in in_force(store, s, now)]
    if as_json:
        for at, grant in found:
            emit(_json(at, grant))
        return
    if not found:
        say("No override is in force.")
        return
    heads = ("grant", "session", "covers", "calls left", "ends in", "until", "by", "note")
    table(heads, [_cells(at, grant, now) for at, grant in found], right=(3,))


def in_force(store: Store | None, session: Session, now: float) -> list[Grant]:
    """Grants of a session that can still let a call run, the oldest first."""
    if store is None:
        return []
    standing = store.standing(session.session, session.seq)
    if not any(event.type == "grant" and _lasts(event, now) for event in standing):
        return []
    guard = guard_of(next((e for e in standing if e.type == "session_start"), None))
    for event in store.read_all(session.session, payloads=False):
        fold(guard, event)
    return [
        g for g in guard.controls.grants if g.left != 0 and (g.expires is None or now < g.expires)
    ]


def _lasts(grant: Event, now: float) -> bool:
    expires = grant.data.get("expires")
    return not isinstance(expires, int | float) or now < expires


def _json(session: Session, grant: Grant) -> dict[str, Any]:
    return {
        "grant": grant.grant,
        "session": session.session,
        "scope": grant.scope,
        "key": grant.key or None,
        "left": grant.left,
        "expires": grant.expires,
        "until": grant.until or None,
        "by": grant.by,
        "note": grant.note or None,
        "request": grant.request or None,
    }


def _cells(session: Session, grant: Grant, now: float) -> list[str]:
    covers = "every call" if grant.scope == "session" else f"{grant.scope} {safe(grant.key, 40)}"
    left = "no limit" if grant.left is None else str(grant.left)
    ends = "" if grant.expires is None else span(grant.expires - now)
    until = {"turn": "your next message", "result": "the result changes"}.get(grant.until, "")
    return [grant.grant, session.session, covers, left, ends, until, grant.by, grant.note]
