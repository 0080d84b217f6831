"""``forward``: sessions from one event store into another."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from loopguard_console.errors import Failure, Refused
from loopguard_console.output import emit, json_option, remark, say
from loopguard_console.progress import watched
from loopguard_console.render import counted, safe
from loopguard_console.stores import (
    Options,
    find_session,
    place_of,
    refuse_inside,
    refuse_password,
    settings,
)
from loopguard_core.session.returning import drain_all
from loopguard_core.store.contract import Absent, Session, Store, StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.forwarding import Forwarded, Forwarder
from loopguard_core.store.paths import SPOOL, misnamed
from loopguard_core.store.paths import place_of as place_named
from loopguard_core.store.spool import open_spool
from loopguard_core.urls import MISNAMED, is_url

#: seconds between looks where nothing nudges, and the longest pause while a store is away
_LOOK = 1.0
_LONGEST_PAUSE = 30.0
#: payloads were cut when they were recorded, and are not cut again
_NO_LIMIT = 1 << 40


@click.command()
@click.argument("stores", metavar="[FROM TO]", nargs=-1)
@click.option(
    "--session",
    "named",
    metavar="SESSION",
    multiple=True,
    help="Only this session; can be given several times.",
)
@click.option("--follow", is_flag=True, help="Go on with what is written, until you stop it.")
@json_option
@click.pass_obj
def forward(
    options: Options,
    stores: tuple[str, ...],
    named: tuple[str, ...],
    follow: bool,
    as_json: bool,
) -> int:
    """Copy sessions from one event store to another, each event once.

    FROM and TO are files or URLs of event stores. What TO has already is passed over, so the same command
    goes on where it was stopped. A session that went on differently in TO is left alone and named; exit
    code 1 then.

    Without FROM and TO it sends what waits on this machine because the store's server was away. The next
    agent or console of this machine does the same.
    """
    if not stores:
        if named or follow:
            raise Refused("--session and --follow need FROM and TO")
        return _send_what_waits(place_of(options), as_json)
    if len(stores) != 2:
        raise Refused("name both FROM and TO, or neither to send what waits on this machine")
    source, target = stores
    refuse_password(source)
    refuse_password(target)
    refuse_inside(options)
    if _same_place(source, target):
        raise Refused(f"{safe(place_named(source))} is both FROM and TO; name two stores")
    if Path(source).name == SPOOL:
        raise Refused(f"{safe(source)} waits for a server; forward without FROM and TO sends it")
    with (
        contextlib.closing(_open(source, create=False)) as here,
        contextlib.closing(_open(target, create=True)) as there,
    ):
        wanted = [find_session(here, name).session for name in named]
        forwarder = Forwarder(here, there)
        try:
            if follow:
                _follow(forwarder, here, wanted)
            else:
                _once(forwarder, here, wanted)
        except KeyboardInterrupt:
            _sum_up(forwarder.result, here, there, as_json)
            if follow:
                return _code(forwarder.result)
            remark("stopped; the same command goes on from here")
            raise
        except StoreError as error:
            _sum_up(forwarder.result, here, there, as_json)
            raise StoreError(f"{error} (then the same command goes on from here)") from None
        _sum_up(forwarder.result, here, there, as_json)
        return _code(forwarder.result)


def _send_what_waits(place: str, as_json: bool) -> int:
    """Give the server what waits here for it: nobody's word is in it, so agents may do this too."""
    if place == MISNAMED:
        raise misnamed()
    if not is_url(place):
        raise Refused(f"{safe(place)} is a file of this machine: nothing waits for it")
    config = settings()
    spool = open_spool(place, create=False, redaction=config.redaction, limit=config.payload_limit)
    sent: dict[str, int] = {}
    if spool is not None:
        with contextlib.closing(spool):
            sent = spool.backlog()
            if sent:
                with contextlib.closing(open_store(place, redaction=config.redaction)) as server:
                    drain_all(spool, server)
            if spool.backlog():
                raise Failure("agents of this machine are sending the rest; look again in a moment")
    events = sum(sent.values())
    if as_json:
        emit({"to": place, "sessions": len(sent), "events": events})
    elif sent:
        say(f"{counted(len(sent), 'session')}, {counted(events, 'event')} sent to {place}")
    else:
        say(f"nothing waits on this machine for {place}")
    return 0


def _open(place: str, *, create: bool) -> Store:
    if not create:
        try:
            return open_store(place, create=False, read_only=True)
        except Absent:
            raise Refused(f"{safe(place_named(place))}: no such event store") from None
    return open_store(place, redaction=settings().redaction, limit=_NO_LIMIT)


def _same_place(source: str, target: str) -> bool:
    if place_named(source) == place_named(target):
        return True
    with contextlib.suppress(OSError):
        return Path(source).samefile(target)
    return False


def _once(forwarder: Forwarder, source: Store, wanted: list[str]) -> None:
    stored = {s.session: s for s in source.sessions()}
    chosen = [stored[name] for name in wanted] or [*reversed(stored.values())]
    events = forwarder.sessions(s.session for s in chosen)
    for _ in watched(events, "forward", total=sum(s.seq for s in chosen)):
        pass


def _follow(forwarder: Forwarder, source: Store, wanted: list[str]) -> None:
    """Copy what comes, until the person stops it. A store that goes away is waited for."""
    done: dict[str, int] = {}
    pause = 0.0
    while True:
        try:
            for session in _grown(source.sessions(), wanted, done):
                if session.session in forwarder.result.diverged:
                    continue
                for _ in forwarder.session(session.session):
                    pass
                done[session.session] = session.seq
                _warn(forwarder.result, [session.session])
            if pause:
                remark("both stores are back")
            pause = 0.0
            source.changed(_LOOK)
        except StoreError as error:
            if not pause:
                remark(f"{error}; it is tried again until you stop this")
            pause = min(2 * pause or _LOOK, _LONGEST_PAUSE)
            time.sleep(pause)


def _grown(sessions: list[Session], wanted: list[str], done: dict[str, int]) -> Iterator[Session]:
    for session in reversed(sessions):
        if wanted and session.session not in wanted:
            continue
        if session.seq != done.get(session.session):
            yield session


def _code(result: Forwarded) -> int:
    return 1 if result.diverged else 0


def _sum_up(result: Forwarded, source: Store, target: Store, as_json: bool) -> None:
    if as_json:
        emit(
            {
                "from": source.place,
                "to": target.place,
                "sessions": len(result.sessions),
                "events": result.added,
                "known": result.known,
                "diverged": result.diverged,
                "renamed": [
                    {"session": session, "request": request, "name": name}
                    for (session, request), name in result.renamed.items()
                ],
            }
        )
        return
    _warn(result, result.diverged)
    for (session, request), name in result.renamed.items():
        remark(f"the request {request} of {session} is called {name} there: another has its name")
    known = f", {result.known} were there already" if result.known else ""
    say(
        f"{counted(len(result.sessions), 'session')}, {counted(result.added, 'event')} copied{known}"
    )


def _warn(result: Forwarded, sessions: Iterable[str]) -> None:
    for session in sessions:
        if session in result.diverged:
            remark(f"session {session} was left alone: {result.diverged[session]}")
