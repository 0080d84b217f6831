"""Opening the console: on the live store or on a recording, in a terminal, and ending in order."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from pathlib import Path

from loopguard_console.app import ConsoleApp
from loopguard_console.deciding import Decider
from loopguard_console.desk import Desk
from loopguard_console.errors import Failure, Refused
from loopguard_console.feed import Feed
from loopguard_console.files import write_new
from loopguard_console.guards import guard_of
from loopguard_console.naming import remembered
from loopguard_console.notifying import Desktop
from loopguard_console.output import remark
from loopguard_console.render import safe
from loopguard_console.retention import Retention
from loopguard_console.sending import Sender
from loopguard_console.stores import settings, wrong_settings
from loopguard_console.terminal import keys_from_terminal, needs_terminal
from loopguard_console.whatif import chosen
from loopguard_core.config import Config
from loopguard_core.events import Event, expand
from loopguard_core.foreign import once
from loopguard_core.inside import inside_agent
from loopguard_core.recording.calls import ListEvents, StoreEvents
from loopguard_core.store.contract import Request, Store, StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import default_store, folder_of
from loopguard_core.urls import is_url

#: Events of a recording that are read before the first picture.
AT_ONCE = 1_000


class _CalmEvents(StoreEvents):
    """Events of a store that may fail while they are drawn: then there are none to show."""

    def after(self, seq: int, limit: int, *, payloads: bool = True) -> list[Event]:
        try:
            return super().after(seq, limit, payloads=payloads)
        except StoreError:
            return []


def live_app(
    store_path: str | None = None, *, only_watch: str = "", notifies: bool = False
) -> ConsoleApp:
    """The console on a live store. *only_watch* says why nothing can be decided in it, where that is so.

    *notifies*: on the desktop of this machine, beside the terminal.

    Raises ``StoreError`` where the store cannot be opened.
    """
    store = open_store(store_path, redaction=settings().redaction)
    inside = inside_agent(store)
    if inside:
        only_watch = (
            f"This console runs inside the guarded session {safe(inside)}: it only watches."
        )
    return ConsoleApp(
        _desk(store, live=True),
        source=store.place,
        feed_of=lambda post: Feed(
            lambda: open_store(store_path), post, host=os.uname().nodename, beats=not only_watch
        ),
        decider=None if only_watch else Decider(store),
        why_not=only_watch,
        desktop=Desktop() if notifies else None,
        remembered=remembered(),
        store=store,
    )


def stored_app(session: str, store_path: str | None = None) -> ConsoleApp:
    """The console on a recorded session of a store and those below it, read as far as it is needed.

    Raises ``StoreError``.
    """

    def reading() -> Store:
        return open_store(store_path, create=False, read_only=True)

    desk, kept = _desk(reading(), live=False), remembered()
    desk.judged = lambda name: chosen(kept, name)
    return ConsoleApp(
        desk,
        source=session,
        feed_of=lambda post: Feed(
            reading, post, host=os.uname().nodename, beats=False, only=session
        ),
        remembered=kept,
    )


def _desk(store: Store, *, live: bool) -> Desk:
    return Desk(live=live, guard_of=guard_of, events_of=lambda session: _CalmEvents(store, session))


def replay_app(events: Iterable[Event], *, title: str, config: Config | None = None) -> ConsoleApp:
    """The console on a recording: events as they stand in a file, of one session or several.

    The first are there at once, the rest comes while the console is open.
    """
    early: list[str] = []
    hear: Callable[[str], None] = early.append
    tell = once(lambda line: hear(line))
    desk = Desk(
        live=False,
        guard_of=lambda start: guard_of(start, config, tell),
        events_of=lambda session: ListEvents(),
    )
    kept = remembered()
    if config is None:  # what is asked for now counts before what was chosen once
        desk.judged = lambda session: chosen(kept, session or title)
    rest = (event for _, event in expand(events))
    desk.record(islice(rest, AT_ONCE))
    desk.begin()
    app = ConsoleApp(desk, source=title, rest=rest, remembered=kept)
    app.greeting = "\n".join(early)
    hear = partial(app.say, bad=True)
    return app


def _run(app: ConsoleApp) -> None:
    """Run *app* to its end. Raises ``Failure`` where it broke; details are in a file.

    A signal that asked it to end is told on in the exit code, as ``SystemExit``.
    """
    needs_terminal()
    app.run()
    if app.broken is None:
        if app.return_code:
            raise SystemExit(app.return_code)
        return
    where = Path(folder_of(default_store()), "console-error.log")
    said = f"the console broke ({type(app.broken).__name__}); agents are not affected."
    try:
        write_new(where, traceback.format_exception(app.broken), force=True)
    except (Failure, Refused) as error:
        raise Failure(f"{said} {error}") from None
    raise Failure(f"{said} See {where}")


def run_live(store_path: str | None = None) -> list[Request]:
    """Open the console on the live store and stay until the person leaves; what then waits for somebody."""
    app = live_app(store_path, notifies=True)
    if wrong := wrong_settings():
        app.greeting = f"The defaults hold here: {wrong}"
    retention = Retention(app.source, settings())
    if retention.wanted and app.decider is not None:
        retention.start()
    sender = Sender(app.source)
    if is_url(app.source):
        sender.start()
    try:
        _run(app)
    finally:
        sender.stop()
        if report := retention.leave():
            remark(report)
    return [] if app.decider is None else app.desk.waiting


def run_stored(session: str, store_path: str | None = None) -> None:
    """Open the console on a recorded session of a store and stay until the person leaves."""
    _run(stored_app(session, store_path))


def run_replay(events: Iterable[Event], *, title: str, config: Config | None = None) -> None:
    """Open the console on a recording, read to its end, and stay until the person leaves.

    Where the recording came through standard input, the keys come from the terminal itself.
    """
    keys_from_terminal()
    _run(replay_app(events, title=title, config=config))
