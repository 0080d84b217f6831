"""The console: composes the screens, routes messages, owns the feed."""

from __future__ import annotations

import asyncio
import os
import pydoc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, ClassVar

from textual import events
from textual.actions import ActionParseResult
from textual.app import SuspendNotSupported, SystemCommand
from textual.binding import BindingType
from textual.command import CommandPalette
from textual.dom import DOMNode
from textual.message import Message
from textual.screen import Screen

from loopguard_console.bell import Bell
from loopguard_console.deciding import Decider
from loopguard_console.desk import REPLACED, Desk
from loopguard_console.exporting import ExportError, picture
from loopguard_console.feed import Batch, Feed
from loopguard_console.keys.actions import BY_ID, actions_of, key_map, keys_of, shown_key
from loopguard_console.keys.bindings import bindings
from loopguard_console.keys.idle import NOBODY
from loopguard_console.keys.keynames import KeyNames
from loopguard_console.keys.palette import Commands, Palette
from loopguard_console.keys.typed import KeysInTurn, Typed
from loopguard_console.notifying import Desktop, about, osc9
from loopguard_console.pauses import Pauses
from loopguard_console.punctual import Punctual
from loopguard_console.remembered import Remembered
from loopguard_console.render import safe, session_title
from loopguard_console.saying import Saying
from loopguard_console.screens.deciding import DecidingScreen
from loopguard_console.screens.help import Help
from loopguard_console.screens.inbox import InboxScreen
from loopguard_console.screens.main import MainScreen
from loopguard_console.terminal import obey_signals
from loopguard_console.themes import DARK, THEMES, own_variables
from loopguard_console.viewing.places import Bookmarks
from loopguard_console.viewing.view import View
from loopguard_console.whatif import chosen
from loopguard_core.events import Event
from loopguard_core.recording.replay import Recording
from loopguard_core.store.contract import Request, Store

#: Seconds between two pictures of what arrives, and events read between two keys.
DRAW_EVERY = 0.25
PIECE = 100
#: Seconds after a key in which nothing that was read is taken in: its picture comes first.
KEYS_FIRST = 0.02
_RowIn = Callable[[Recording], int | None]


class Arrived(Message):
    """A batch of the feed."""

    def __init__(self, batch: Batch) -> None:
        super().__init__()
        self.batch = batch


class ConsoleApp(Punctual, Saying):
    """One console, live on a store or on a recording.

    *source*: where the events come from, in words. *feed_of* makes the reader for a live store from the
    function that takes batches; *rest* has the events of a recording that are still to be read. *decider* carries decisions out; where there is
    none, *why_not* says why. *store* is searched. *desktop* shows what starts to wait.
    """

    TITLE = "loopguard"
    greeting = ""  # what is said when the console opens
    CSS_PATH: ClassVar[list[str | PurePath]] = ["app.tcss", "screens/screens.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("everywhere")]
    COMMANDS = {lambda: Commands}  # noqa: RUF012 - as Textual declares it
    #: Of dialogs and lists; the screens below them have their own.
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (20, "-short")]  # noqa: RUF012 - as Textual declares it

    def __init__(
        self,
        desk: Desk,
        *,
        source: str,
        feed_of: Callable[[Callable[[Batch], None]], Feed] | None = None,
        rest: Iterator[Event] | None = None,
        decider: Decider | None = None,
        remembered: Remembered | None = None,
        store: Store | None = None,
        why_not: str = NOBODY,
        theme: str = "",
        desktop: Desktop | None = None,
    ) -> None:
        super().__init__()
        self.desk = desk
        self.source = source
        self.decider = decider
        self.store = store
        self.remembered = remembered or Remembered(None)
        self.names = desk.names = KeyNames(key_map(self.remembered.table("keys")))
        self.why_not = self.names.say(why_not)
        if decider is not None:
            decider.names = self.names
        desk.pinned, desk.named = self.remembered.pinned, self.remembered.name_of
        desk.bookmarks = self.bookmarks
        for session, view in desk.views.items():
            view.bookmarks, view.names = self.bookmarks(session), self.names
        desk.arrange(order=self.remembered.text("sort"))
        self.muted = self.remembered.text("bell") == "off"
        asked = theme or os.environ.get("TEXTUAL_THEME", "")
        self._start_theme = asked or self.remembered.text("theme")
        self.desktop = desktop
        self._feed = None if feed_of is None else feed_of(self._post)
        self.broken: Exception | None = None
        self._rest = rest
        self._drawing = False
        self._drawn = self._keyed = 0.0
        self._loading = False
        self.keys = KeysInTurn(self, self._answer)
        self._pressed: float | None = None
        self._bell = Bell(self.TITLE)
        self._pauses = Pauses()
        self._wanted: set[str] = set()

    # -- life --------------------------------------------------------------------------------------

    def get_theme_variable_defaults(self) -> dict[str, str]:
        theme = self.get_theme(self.theme)
        return own_variables(theme is None or theme.dark)

    def on_mount(self) -> None:
        self._pauses.begin()
        self.remembered.warn = partial(self.say, bad=True)
        self.set_keymap(self.names.chosen)
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = self._start_theme if self._start_theme in self.available_themes else DARK.name
        self.theme_changed_signal.subscribe(
            self, lambda theme: self.remembered.keep("theme", theme.name)
        )
        self.push_screen(MainScreen())
        if not (self.is_headless or self.is_web):
            obey_signals(lambda code: self.exit(return_code=code), self.refresh)
        if self.greeting:
            self.notify(safe(self.greeting), severity="warning", timeout=20, markup=False)
        if self._feed is not None:
            self._feed.start()
        if self._rest is not None:
            self.run_worker(self._read_on(self._rest), exclusive=True, group="reading")

    def on_unmount(self) -> None:
        self._pauses.end()
        if self._feed is not None:
            self._feed.stop()
            self._feed.join(2.0)

    # -- keys --------------------------------------------------------------------------------------

    def open_screen(self, screen: Screen[Any], answer: Callable[[Any], None] | None = None) -> Any:
        """Push *screen*; what was typed behind the key that opened it goes there. To be awaited."""
        return self.push_screen(screen, answer)

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, Typed):
            await super().on_event(event)
        elif event.is_forwarded:
            await self._answer(event)
            self.keys.answered(event)
        else:
            self._keyed = time.monotonic()
            await self.keys.take(event)

    async def _answer(self, event: Typed) -> None:
        self._pressed = event.time
        try:
            await super().on_event(event)
        finally:
            self._pressed = None

    @property
    def pressed(self) -> float:
        """When the key was pressed that is being answered (seconds, monotonic); now where it is no key."""
        return time.monotonic() if self._pressed is None else self._pressed

    def on_key(self, event: events.Key) -> None:
        """A key that nothing took: say so where no action has it either."""
        if event.key not in self.screen.active_bindings:
            known = isinstance(self.screen, DecidingScreen)
            way_out = (
                self.names.say("{help} shows what the keys do.") if known else "Esc goes back."
            )
            key = safe(shown_key((event.is_printable and event.character) or event.key), 12)
            self.hint(f"{key} does nothing here. {way_out}")

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Carry an action of the table out, or say why it does nothing now."""
        name = (action if isinstance(action, str) else action[1]).rpartition(".")[2]
        screen = self.screen
        if name in BY_ID and isinstance(screen, DecidingScreen) and (why := screen.idle(name)):
            self.hint(why)
            return True
        return await super().run_action(action, default_namespace, namespaces)

    # -- faults ------------------------------------------------------------------------------------

    def _handle_exception(self, error: Exception) -> None:
        """A fault of ours ends the console in order: no traceback, and no payload, on the terminal."""
        if self.is_headless:
            super()._handle_exception(error)
            return
        self.broken = self.broken or error
        self.exit(return_code=1)

    # -- the feed ----------------------------------------------------------------------------------

    def _post(self, batch: Batch) -> None:
        self.post_message(Arrived(batch))

    def on_arrived(self, message: Arrived) -> None:
        """Take a batch in, a key before it; then the feed may go on."""
        wait = self._calm()
        if wait:
            self.set_timer(wait, partial(self._take, message.batch))
        else:
            self._take(message.batch)

    def _calm(self) -> float:
        """Seconds until what was read may be taken in: a key is answered first."""
        return max(0.0, self._keyed + KEYS_FIRST - time.monotonic())

    def _take(self, batch: Batch) -> None:
        news = self.desk.take(batch)
        if batch.anew:
            self.say(REPLACED, True)
        self._loaded(batch.more)
        self._ring()
        self._want()
        if news:
            self.draw_soon()
        for screen in [] if news else self._deciding():
            screen.tick()
        if self._feed is not None:
            self.call_later(self._feed.taken)

    async def _read_on(self, rest: Iterator[Event]) -> None:
        """Read the rest of a recording a little at a time, so that keys are answered meanwhile."""
        self._loaded(more=True)
        while chunk := list(islice(rest, PIECE)):
            self.desk.record(chunk)
            self.draw_soon()
            await asyncio.sleep(self._calm())
        self._loaded(more=False)
        if not self._keyed and (said := self.desk.begin()):  # nobody has begun to look around
            self.hint(said)
        self.draw_soon()

    def _loaded(self, more: bool) -> None:
        """A part of what is stored has been read; *more* of it is to come."""
        if self._loading and not more:
            self._pauses.settle()
        self._loading = more

    def draw_soon(self) -> None:
        """Draw what has arrived, at most a few times a second."""
        if not self._drawing:
            self._drawing = True
            since = time.monotonic() - self._drawn
            self.set_timer(max(0.001, DRAW_EVERY - since), self._draw)

    def _draw(self) -> None:
        self._drawing = False
        if not self._drawn:
            self.call_after_refresh(self._pauses.settle)
        self._drawn = time.monotonic()
        for screen in self._deciding():
            screen.arrived()

    def _want(self) -> None:
        current = self.desk.current
        if self._feed is None or not current or current in self._wanted:
            return
        view = self.desk.views.get(current)
        self._wanted.add(current)
        self._feed.want(current, 0 if view is None else view.recording.seq)

    def _ring(self) -> None:
        waiting = [r for r in self.desk.waiting if not r.resolution]
        names = [r.request for r in waiting]
        for order in self._bell.orders(names, time.monotonic(), muted=self.muted):
            self._order(order)
        new = [r for r in waiting if r.request in self._bell.news]
        if new:
            self._take_hint_away()
            title = f"{self.TITLE}: {len(waiting)} waiting"
            self.run_worker(self._notified(title, about(new, self.title_of)), group="notify")

    def _order(self, order: str) -> None:
        if self._driver is not None and not self.is_headless:
            self._driver.write(order)

    async def _notified(self, title: str, text: str) -> None:
        """A notification of the desktop; where there is none, one of the terminal."""
        if self.desktop is None or not await self.desktop.show(title, text):
            self._order(osc9(title))

    def _redraw(self) -> None:
        for screen in self._deciding():
            screen.redraw()

    def _deciding(self) -> list[DecidingScreen]:
        return [screen for screen in self.screen_stack if isinstance(screen, DecidingScreen)]

    # -- for the screens ---------------------------------------------------------------------------

    def look_now(self) -> None:
        """Somebody decided: show at once what no longer waits."""
        if self._feed is not None:
            self._feed.look()

    def loading(self, session: str) -> bool:
        """True while older events of the session on the screen are still being read."""
        return self._loading and session == self.desk.current

    def title_of(self, session: str) -> str:
        """What a person calls a session."""
        if named := self.remembered.name_of(session):
            return safe(named, 40)
        known = self.desk.session(session)
        return safe(session, 40) if known is None else session_title(known, 40)

    def judge_with(self, view: View, policy: str) -> None:
        """Judge a recording with *policy*, as typed, from now on; empty: as it was recorded."""
        session, recording = view.recording.session, view.recording
        if self.loading(session):
            self.say("The recording is still being read. Try again in a moment.", True)
            return
        at = recording.row(view.cursor).start_seq if view.cursor >= 0 else 0
        self.remembered.judge(session or self.source, policy)
        self.desk.judged = lambda name: chosen(self.remembered, name or self.source)
        del self.desk.views[session]
        said = f"Judged with {policy} from now on" if policy else "Judged as it was recorded"
        self.say(self.names.say(f"{said}; {{whatif}} changes that."), False)
        if self._feed is not None:
            self._wanted.discard(session)
            self._want()
        else:
            events = recording.source.after(0, recording.seq)
            self.run_worker(self._read_on(iter(events)), exclusive=True, group="reading")
        self.go_to_event(session, at)

    def bookmarks(self, session: str) -> Bookmarks:
        """The bookmarks that the person set in a session, or in the file that has no name for it."""
        name = session or self.source
        kept = self.remembered.bookmarks(name)
        return Bookmarks(kept, lambda seqs: self.remembered.keep_bookmarks(name, seqs))

    def select(self, session: str) -> None:
        """Put a session on the screen."""
        if not session:
            return
        for old in self.desk.select(session):
            self._wanted.discard(old)
            if self._feed is not None:
                self._feed.forget(old)
        self._want()
        self._redraw()

    def gone(self, session: str) -> None:
        """A session was deleted: put another on the screen."""
        if self._feed is not None:
            self._feed.forget(session)
        self._wanted.discard(session)
        self.desk.views.pop(session, None)
        other = self.desk.neighbour(1)
        self.desk.current = "" if other == session else other
        self._want()
        self._redraw()

    def go_to(self, request: Request) -> None:
        """Put a request on the screen, selected, as soon as its session has been read."""
        self._go_to(request.session, lambda read: read.row_asked_about(request.request))

    def go_to_event(self, session: str, seq: int) -> None:
        """Put the call at or before an event on the screen, as soon as it has been read."""
        self._go_to(session, lambda read: read.row_of(seq) if read.seq >= seq else None)

    def _go_to(self, session: str, row_in: _RowIn, tries: int = 100) -> None:
        self.select(session)
        view = self.desk.view
        row = None if view is None else row_in(view.recording)
        if view is not None and row is not None:
            view.following = False
            view.go(row, reveal=True)
            self._redraw()
        elif tries:
            again = partial(self._go_to, session, row_in, tries - 1)
            self.set_timer(0.1, lambda: again() if self.desk.current == session else None)

    def page(self, text: str) -> None:
        """Show *text*, which is safe, in the person's pager."""
        try:
            with self.suspend():
                pydoc.pager(text)
        except SuspendNotSupported:
            self.say("A pager needs a terminal, and this is none.", True)
        self.refresh()

    # -- actions that work everywhere --------------------------------------------------------------

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        yield from super().get_system_commands(screen)
        places = ("inbox",) if isinstance(screen, InboxScreen) else self._places()
        for action in actions_of(*places):
            if action.id in ("command_palette", "quit", "help"):
                continue
            does = next((n for n in (screen, self) if hasattr(n, f"action_{action.id}")), None)
            if does is not None:
                run = partial(self.run_action, action.id, does)
                said = f"{keys_of(action, self.names.chosen)} · {action.help}"
                yield SystemCommand(action.title.capitalize(), said, run)
        if isinstance(screen, MainScreen):
            for order in self.desk.orders:
                sort = partial(screen.sort_by, order)
                yield SystemCommand(f"Sort sessions: {order}", BY_ID["sort"].help, sort)

    def action_command_palette(self) -> None:
        """Find an action by its name."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(Palette(id="--command-palette"))

    def action_suspend_process(self) -> None:
        """To the shell, where there is one."""
        if self._driver is None or not self._driver.can_suspend:
            self.hint("There is no shell behind this console.")
        else:
            super().action_suspend_process()

    def deliver_screenshot(
        self,
        filename: str | None = None,
        path: str | None = None,
        time_format: str | None = None,
    ) -> str | None:
        """Save the picture where an export would go, as one: not every machine has a folder for downloads."""
        if self.is_web:
            return super().deliver_screenshot(filename, path, time_format)
        try:
            written = picture(self.export_screenshot(), Path(path or Path.cwd()), filename or "")
        except ExportError as error:
            self.say(str(error), True)
        else:
            self.say(f"written: {written}", False)
        return None

    def _places(self) -> tuple[str, ...]:
        return ("main", "live" if self.desk.live else "replay")

    async def action_help(self) -> None:
        """The keys of this screen and the words."""
        if isinstance(self.screen, DecidingScreen):
            places = ("inbox",) if isinstance(self.screen, InboxScreen) else self._places()
            await self.open_screen(Help(*places, names=self.names))

    def action_mute(self) -> None:
        """Ring when something starts to wait, or keep quiet."""
        self.muted = not self.muted
        self.remembered.keep("bell", "off" if self.muted else "on")
        rings = "The bell rings when something starts to wait."
        self.hint("Quiet from now on." if self.muted else rings)
        self._redraw()
