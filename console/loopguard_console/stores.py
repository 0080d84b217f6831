"""The store that a command works on, and the sessions and requests that people name in it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

from loopguard_console.errors import Failure, Refused
from loopguard_console.liveness import liveness
from loopguard_console.naming import called, may_mean
from loopguard_console.render import safe
from loopguard_core.config import (
    PASSWORD_ELSEWHERE,
    Config,
    ConfigError,
    PasswordTold,
    load_config,
)
from loopguard_core.inside import inside_agent, process_of
from loopguard_core.store.contract import Absent, Session, Store, StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import ENVIRONMENT, default_store, misnamed
from loopguard_core.store.paths import place_of as place_named
from loopguard_core.urls import MISNAMED, tells_password

Options = dict[str, str | None]


def place_of(options: Options) -> str:
    """The store that is meant, as agents in this folder have it. Without any password.

    ``--store``, ``store`` in ``loopguard.toml``, the environment, or the default. Raises ``Refused`` where
    ``loopguard.toml`` names one with its password: it is another one than the default.
    """
    named = options.get("store")
    if not named:
        try:
            named = load_config().store
        except PasswordTold as error:
            raise Refused(str(error)) from None
        except ConfigError:
            pass  # said where the settings are used
    return place_named(named) if named else default_store()


def refuse_password(named: str | None) -> None:
    """Raises ``Refused`` where a store is named on the command line with its password, which everybody sees
    there, ``StoreError`` where it is named by what is neither a path nor a URL."""
    if named and place_named(named) == MISNAMED:
        raise misnamed()
    if named and tells_password(named):
        raise Refused(f"{safe(place_named(named))}: {PASSWORD_ELSEWHERE}")


@contextlib.contextmanager
def reading(options: Options) -> Iterator[Store | None]:
    """The store to read from; None where nobody named one and nothing was ever recorded.

    Raises ``Refused`` for a named store that is not there, ``StoreError`` for one that cannot be read.
    """
    store = _to_read(place_of(options))
    if store is None:
        if options.get("store") or settings().store or os.environ.get(ENVIRONMENT):
            raise _nothing_there(options)
        yield None
        return
    try:
        yield store
    finally:
        store.close()


def _to_read(place: str) -> Store | None:
    """The store at *place*; None where there is none yet. Raises ``StoreError``."""
    try:
        return open_store(place, create=False, read_only=True)
    except Absent:
        return None


def _nothing_there(options: Options) -> Refused:
    return Refused(
        f"{safe(place_of(options))}: no such event store; nothing was recorded there yet"
    )


@contextlib.contextmanager
def deciding(options: Options) -> Iterator[Store]:
    """The store to write a person's word to.

    Raises ``Refused`` where there is none, ``Failure`` inside a guarded agent: a model with a shell must
    not let itself go. Raises ``StoreError``.
    """
    try:
        store = open_store(place_of(options), create=False, redaction=settings().redaction)
    except StoreError as error:
        _not_from_inside(None)
        if isinstance(error, Absent):
            raise _nothing_there(options) from None
        raise
    try:
        _not_from_inside(store)
        yield store
    finally:
        store.close()


def settings() -> Config:
    """The settings of this folder; the defaults where they cannot be read.

    Who decides is not kept from it by a line in a file; ``doctor`` says what is wrong with that.
    """
    try:
        return load_config()
    except ConfigError:
        return Config()


def wrong_settings() -> str:
    """What is wrong with the settings of this folder; empty where nothing is."""
    try:
        load_config()
    except ConfigError as error:
        return str(error)
    return ""


def settings_of(store: Store, session: str) -> Config:
    """The settings that hold where *session* runs. Raises ``ConfigError``."""
    known = store.session(session)
    return load_config(known.cwd if known is not None else "")


def refuse_inside(options: Options) -> None:
    """Raises ``Failure`` where this process runs inside a guarded agent."""
    try:
        store = _to_read(place_of(options))
    except StoreError:
        _not_from_inside(None)
        raise
    if store is None:
        _not_from_inside(None)
        return
    with contextlib.closing(store):
        _not_from_inside(store)


def _not_from_inside(store: Store | None) -> None:
    session = inside_agent(store)
    if session:
        above = process_of(store, session) if store is not None else ""
        raise Failure(
            f"this command decides for a human and does not run inside the guarded agent "
            f"{safe(session, 60)}{f' (below its {safe(above, 40)})' if above else ''}; "
            "run it in a terminal that the agent did not open"
        )


def _running(sessions: list[Session]) -> list[Session]:
    now, host = time.time(), os.uname().nodename
    return [s for s in sessions if liveness(s, now, host) in ("live", "quiet")]


def find_session(store: Store | None, named: str) -> Session:
    """The session called *named*: its id, its name (the person's own, or that it came with), or the beginning of an id.

    Raises ``Refused``.

    Of several that begin so the one that runs is meant, where only one does.
    """
    if not named.strip():
        raise Refused("no session has an empty name; `loopguard-console sessions --all` lists them")
    sessions = [] if store is None else store.sessions()
    for found in may_mean(sessions, named):
        if len(found) == 1:
            return called(found)[0]
        if len(running := _running(found)) == 1:
            return called(running)[0]
        if found:
            some = ", ".join(safe(s.session, 40) for s in found[:4])
            raise Refused(
                f"{safe(named, 60)} can mean {len(found)} sessions: {some}; write more of it"
            )
    import difflib  # only for a slip of the fingers

    names = [name for s in called(sessions) for name in (s.name, s.session) if name]
    near = difflib.get_close_matches(named, names, 1)
    hint = f"did you mean {safe(near[0], 60)}? " if near else ""
    raise Refused(
        f"no session is called {safe(named, 60)}; {hint}`loopguard-console sessions --all` lists them"
    )
