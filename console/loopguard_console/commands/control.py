"""``override``, ``reset``, ``halt``, ``resume`` and ``revoke``: standing instructions."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import click

from loopguard_console.commands.decide import tell
from loopguard_console.counting import refuse_uncounted
from loopguard_console.errors import Failure, Refused
from loopguard_console.output import json_option, remark
from loopguard_console.parameters import Amount, Whole
from loopguard_console.render import safe
from loopguard_console.stores import Options, deciding, find_session, settings_of
from loopguard_core import escape
from loopguard_core.agents.ability import limit_of
from loopguard_core.config import Config, ConfigError
from loopguard_core.escape import DecisionError
from loopguard_core.store.contract import Store

_target = click.argument("target", metavar="REQUEST|SESSION")
_scope = click.option(
    "--scope",
    type=click.Choice(escape.SCOPES),
    help="This very call (signature), any call of its tool, or every call of the session.",
)
_key = click.option(
    "--key",
    metavar="NAME|SIGNATURE",
    default="",
    help="The tool's name or the signature, where a session is named.",
)
_note = click.option("--note", default="", help="A word for the log.")
_alone = click.option("--alone", is_flag=True, help="Without the session's subagents.")


@click.command()
@_target
@_scope
@_key
@click.option("--calls", metavar="N", type=Whole(min=1), help="For the next N calls.")
@click.option("--minutes", metavar="M", type=Amount(min=0, min_open=True), help="For so long.")
@click.option(
    "--until",
    type=click.Choice(("turn", "result")),
    help="Until your next message to the agent, or until the result changes.",
)
@_note
@json_option
@click.pass_obj
def override(
    options: Options,
    target: str,
    scope: str | None,
    key: str,
    calls: int | None,
    minutes: float | None,
    until: str | None,
    note: str,
    as_json: bool,
) -> None:
    """Let calls run that the guard would stop, within a limit.

    The target is a request (its call, or with --scope its tool or session), or a session with --scope
    and --key. What is not limited ends at the ceiling (200 calls, 8 hours, see the configuration).
    """
    with _deciding(options) as store:
        request, session = _find(store, target)
        ceiling = _config(store, request, session)
        done = escape.override(
            store,
            request=request,
            session=session,
            scope=_scoped(scope, key, request, default=""),
            key=key,
            calls=calls,
            seconds=None if minutes is None else minutes * 60,
            until=until or "",
            note=note,
            ceiling_calls=ceiling.ceiling_calls,
            ceiling_seconds=ceiling.ceiling_seconds,
        )
        tell(done, as_json)


@click.command()
@_target
@_scope
@_key
@_note
@json_option
@click.pass_obj
def reset(
    options: Options, target: str, scope: str | None, key: str, note: str, as_json: bool
) -> None:
    """Set counters back to nothing; what waits on them runs.

    The target is a request (the counters of its call, or with --scope of its tool or session), or a
    session: all of its counters, or those of one tool or signature. Where nothing is counted under that,
    nothing is changed, and the exit code is 1.
    """
    with _deciding(options) as store:
        request, session = _find(store, target)
        meant = _scoped(scope, key, request, default="session")
        if key and meant != "session":
            asked = store.request(request) if request else None
            refuse_uncounted(store, asked.session if asked else session, meant, key)
        done = escape.reset(
            store,
            request=request,
            session=session,
            scope=meant,
            key=key,
            note=note,
        )
        tell(done, as_json)


@click.command()
@_target
@click.option(
    "--scope",
    type=click.Choice(("turn", "session")),
    default="turn",
    show_default=True,
    help="A halt of the turn ends with your next message, one of the session only with resume.",
)
@_alone
@click.option("--note", default="", help="Told to the model with each refusal.")
@json_option
@click.pass_obj
def halt(options: Options, target: str, scope: str, alone: bool, note: str, as_json: bool) -> None:
    """Stop an agent: every further call is refused until you let it go on."""
    with _deciding(options) as store:
        request, session = _find(store, target)
        done = escape.halt(
            store, request=request, session=session, scope=scope, children=not alone, note=note
        )
        tell(done, as_json)
        limit = limit_of(store, done.sessions[0]) if done.sessions else ""
        if limit and not as_json:
            remark(safe(limit))


@click.command()
@click.argument("session", metavar="SESSION")
@_alone
@_note
@json_option
@click.pass_obj
def resume(options: Options, session: str, alone: bool, note: str, as_json: bool) -> None:
    """Lift a halt, yours or the guard's, and let the agent go on."""
    with _deciding(options) as store:
        found = find_session(store, session).session
        tell(escape.resume(store, found, children=not alone, note=note), as_json)


@click.command()
@click.argument("grant", metavar="GRANT")
@_note
@json_option
@click.pass_obj
def revoke(options: Options, grant: str, note: str, as_json: bool) -> None:
    """Take an override back. The command grants lists them."""
    with _deciding(options) as store:
        tell(escape.revoke(store, grant, note=note), as_json)


@contextlib.contextmanager
def _deciding(options: Options) -> Iterator[Store]:
    try:
        with deciding(options) as store:
            yield store
    except DecisionError as error:
        raise Failure(str(error)) from None


def _find(store: Store, target: str) -> tuple[str, str]:
    """The request or the session that *target* names."""
    asked = store.request(target) or store.request(target.upper())
    if asked is not None:
        return asked.request, ""
    try:
        return "", find_session(store, target).session
    except Refused:
        if not re.fullmatch(r"[Rr]?\d+", target):
            raise
        raise Failure(
            f"there is no request {target}; `loopguard-console pending` lists them"
        ) from None


def _scoped(scope: str | None, key: str, request: str, *, default: str) -> str:
    """The scope that is meant; *default* for a session without one, empty where it has to be said."""
    if request:
        return scope or "signature"
    if scope is None and (key or not default):
        raise Refused("say what of the session: --scope session, or --scope tool --key NAME")
    if scope in ("tool", "signature") and not key:
        raise Refused(f"--scope {scope} of a session needs --key, or name a request instead")
    return scope or default


def _config(store: Store, request: str, session: str) -> Config:
    """The settings that hold where the session runs."""
    asked = store.request(request) if request else None
    try:
        return settings_of(store, asked.session if asked else session)
    except ConfigError as error:
        raise Refused(str(error)) from None
