"""The main screen: sessions, the chain, the window, and why. Live and replay are the same."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.timer import Timer

from loopguard_console.keys.bindings import bindings
from loopguard_console.keys.idle import Standing, on_main
from loopguard_console.render import counted, cut, pad, safe, signature_label
from loopguard_console.screens.debugging import Debugging
from loopguard_console.screens.looking import Looking
from loopguard_console.screens.managing import Managing
from loopguard_console.screens.marking import Marking
from loopguard_console.screens.searching import Searching
from loopguard_console.screens.sizing import Sizing
from loopguard_console.viewing.arranging import RECORDED
from loopguard_console.widgets.chain import Chain
from loopguard_console.widgets.gauge import CounterPane, TimelinePane, WindowPane
from loopguard_console.widgets.inbox import InboxList
from loopguard_console.widgets.inspector import Inspector
from loopguard_console.widgets.keys import KeyBar
from loopguard_console.widgets.pane import Pane
from loopguard_console.widgets.sessions import SessionList
from loopguard_console.widgets.side import Side
from loopguard_console.widgets.status import StatusBar
from loopguard_console.widgets.transport import Transport
from loopguard_console.widgets.virtual import VirtualList
from loopguard_core.store.contract import Request

if TYPE_CHECKING:
    from loopguard_console.viewing.view import View

WELCOME = (
    ("Nothing has been recorded yet.\n\n", "bold"),
    ("See it at work          ", "$dim"),
    ("loopguard-console demo\n", "bold $text-accent"),
    ("Connect a coding agent  ", "$dim"),
    ("loopguard-console install claude-code\n", "bold $text-accent"),
    ("Guard your own agent    ", "$dim"),
    ("from loopguard_core.shim import LoopGuard\n", "bold $text-accent"),
    ("Open a transcript       ", "$dim"),
    ("loopguard-console open FILE\n\n", "bold $text-accent"),
    ("Sessions appear here as soon as an agent starts. Watching ", "$dim"),
)
NOTHING = (("There are no calls in this recording.\n\n", "bold"),)


#: Seconds after a key until the panes beside the chain follow it: in a pause, or while keys go on.
DETAILS_AFTER = 0.06
DETAILS_AT_LAST = 0.3
#: Seconds between two pictures of what stands beside the chain, while calls come in.
DETAILS_EVERY = 0.5


class MainScreen(Looking, Searching, Marking, Debugging, Managing, Sizing):
    """The chain of one session with everything about it."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("main", "live", "replay")]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (104, "-normal"), (160, "-wide")]  # noqa: RUF012 - as Textual declares it
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (20, "-short"), (34, "-tall")]  # noqa: RUF012 - as Textual declares it
    LIST = AUTO_FOCUS = "#chain"

    def __init__(self) -> None:
        super().__init__()
        self._pause: Timer | None = None
        self._since = self._drawn = 0.0
        self._waiting: list[str] = []
        self._rest: Timer | None = None
        self._told: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        yield StatusBar(id="status")
        yield Pane(id="error")
        yield Transport(id="transport")
        yield Pane(id="welcome")
        with Horizontal(id="body"):
            with Side(id="left"):
                yield Pane(id="sessions-title", classes="title")
                yield SessionList(id="sessions")
                yield Pane("WAITING", classes="title", id="inbox-title")
                yield InboxList(id="inbox")
            with Vertical(id="middle"):
                yield Pane(id="chain-title", classes="title")
                yield Chain(id="chain")
                yield WindowPane(id="window")
                yield CounterPane(id="counters")
                yield TimelinePane(id="timeline")
            with Side(id="right"):
                yield Inspector(id="inspector")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        live = self.console_app.desk.live
        self.query_one("#transport").display = not live
        for name in ("#inbox-title", "#inbox"):
            self.query_one(name).display = live
        self.lay_out()

    def on_resize(self) -> None:
        self.lay_out()

    def on_descendant_focus(self) -> None:
        """Other keys do something in another pane."""
        if self._pause is None:
            self._wait_for_details()

    # -- what is selected --------------------------------------------------------------------------

    @property
    def view(self) -> View | None:
        """The chain on the screen."""
        return self.console_app.desk.view

    def selected(self) -> Request | None:
        view = self.view
        asked = view.asked if view is not None else None
        return None if asked is None else self.console_app.desk.request(asked.request)

    def subject(self) -> tuple[str, str, str, str] | None:
        view = self.view
        if view is None or view.cursor < 0:
            return None
        row = view.recording.row(view.cursor)
        label = signature_label(row.tool, view.recording.args(view.cursor), 50)
        return view.recording.session, row.tool, row.signature, label

    def idle(self, action: str) -> str:
        app, view = self.console_app, self.view
        now = Standing(
            live=app.desk.live,
            why_not=app.why_not if app.decider is None else "",
            request=self.selected(),
            calls=0 if view is None else len(view.recording),
            sessions=len(app.desk.sessions),
            waiting=len(app.desk.waiting),
            listing=isinstance(self.focused, SessionList),
        )
        return self.console_app.names.say(on_main(action, now))

    # -- drawing -----------------------------------------------------------------------------------

    def redraw(self) -> None:
        """Draw everything from the desk as it stands."""
        if not self._whole:
            return
        self._drawn = time.monotonic()
        if self._rest is not None:
            self._rest.stop()
            self._rest = None
        desk = self.console_app.desk
        self._welcome()
        self.query_one(SessionList).show(desk)
        self._sessions_title()
        self.query_one(InboxList).show(desk)
        self.query_one(Chain).show(self.view)
        self.look_on()
        if self._pause is None:
            self._details()

    def arrived(self) -> None:
        """Draw the chain at once, the rest now and then; at once where somebody began to wait."""
        if not self._whole:
            return  # the screen does not stand yet, or goes
        self._go_on()
        waiting = [r.request for r in self.console_app.desk.waiting]
        wait = self._drawn + DETAILS_EVERY - time.monotonic()
        chain = self.query_one(Chain)
        if wait <= 0 or waiting != self._waiting or self.view is not chain.view:
            self._waiting = waiting
            self.redraw()
            return
        chain.show(self.view)
        if self._rest is None:
            self._rest = self.set_timer(wait, self.redraw)

    def _go_on(self) -> None:
        """From a session that is over and still followed to the one that began since."""
        app = self.console_app
        if not app.desk.successor or not self.is_current:
            return
        ended = app.title_of(app.desk.current)
        app.select(app.desk.successor)
        app.hint(f"{ended} is over; this one began. " + app.names.say("{sessions} lists all."))

    def moved(self) -> None:
        """Draw the chain at once, and what is told of the selected call when the keys pause."""
        self.query_one(Chain).show(self.view, moved=True)
        if self._pause is None:
            self._wait_for_details()
        elif time.monotonic() - self._since < DETAILS_AT_LAST:
            self._pause.reset()

    @property
    def _whole(self) -> bool:
        """False before the panes are there, and when the console ends and they are gone."""
        return self.is_mounted and bool(self.query_children(KeyBar))

    def _wait_for_details(self) -> None:
        self._since = time.monotonic()
        self._pause = self.set_timer(DETAILS_AFTER, self._details)

    def _details(self) -> None:
        self._pause = None
        if not self._whole:
            return
        view, app = self.view, self.console_app
        self._title(view)
        asking = self.look()
        window, inspector = self.query_one(WindowPane), self.query_one(Inspector)
        moment = None if view is None else view.moment
        told = (view, moment, asking, window.size, inspector.size)
        if told != self._told:
            self._told = told
            counters = self.query_one(CounterPane)
            window.show(view, alone=not counters.display)
            counters.show(view)
            inspector.show(view, asking)
        self.query_one(TimelinePane).show(view)
        self._status()
        if not app.desk.live:
            self.query_one(Transport).show(view, playing=self.playing, speed=self.speed)
        self.query_one(KeyBar).show(self.idle, self._hidden(view))

    def _hidden(self, view: View | None) -> frozenset[str]:
        """What would change nothing now, though its key is not refused."""
        out = set()
        guard = view.recording.guard if view is not None else None
        if guard is None or (guard.latch is None and guard.controls.halt is None):
            out.add("resume")
        if (view is None or view.hits is None) and not self.has_class("-sessions"):
            out.add("back_to_chain")
        return frozenset(out)

    def _welcome(self) -> None:
        """What is wrong with the store, and what to do where nothing has been recorded yet."""
        desk = self.console_app.desk
        error = self.query_one("#error", Pane)
        error.display = bool(desk.error)
        error.put(safe(desk.error), layout=True)
        empty = desk.loaded and not desk.sessions and not desk.error
        welcome = self.query_one("#welcome", Pane)
        if welcome.display != empty:
            welcome.display = empty
            self.query_one("#body").display = not empty
        if empty:
            words = WELCOME if desk.live else NOTHING
            welcome.put(Content.assemble(*words, (safe(self.console_app.source), "$dim")))

    def _sessions_title(self) -> None:
        """How many sessions the list has, and in which order."""
        desk = self.console_app.desk
        title = self.query_one("#sessions-title", Pane)
        shown, total = len(desk.tree()), len(desk.sessions)
        many = f" {shown}/{total}" if shown != total else ""
        words = f"SESSIONS{many} by {desk.order}" if desk.order != RECORDED else f"SESSIONS{many}"
        title.put(cut(words, title.size.width or len(words)))

    def _title(self, view: View | None) -> None:
        desk = self.console_app.desk
        title = self.query_one("#chain-title", Pane)
        if view is None:
            title.put("CHAIN" if desk.sessions or desk.loaded else "READING THE STORE…")
            return
        turn = view.recording.row(view.cursor).turn if view.cursor >= 0 else view.recording.turn
        words = f"CHAIN  {self.console_app.title_of(desk.current)}"
        known = desk.session(desk.current)
        if known is not None and known.halted:
            words += " · halted"
        elif turn:
            words += f" · turn {turn}"
        right = ""
        if self.console_app.loading(desk.current):
            right = f"reading… {counted(len(view.recording), 'call')}"
        elif view.live:
            right = (
                "● following"
                if view.following
                else f"‖ {view.new:,} new, {desk.names.of('follow')} follows"
            )
            if not view.following and not view.new:
                right = f"‖ {desk.names.of('follow')} follows"
        right = " · ".join(part for part in (view.found, right) if part)
        width = max(10, title.size.width - 2)
        room = max(0, width - len(right) - 1)
        title.put(f"{pad(words, room)} {right}")

    def tick(self) -> None:
        if not self._whole:
            return
        self.query_one(InboxList).update()
        if self.selected() is None:
            self._status()
        elif self._pause is None:
            self._details()

    def _status(self) -> None:
        app = self.console_app
        self.query_one(StatusBar).show(
            app.desk, title=app.source, muted=app.muted, watches=app.decider is None
        )

    # -- lists -------------------------------------------------------------------------------------

    def on_virtual_list_picked(self, message: VirtualList.Picked) -> None:
        """A line was clicked: go there; a second click opens a fold."""
        source = message.source
        if isinstance(source, SessionList):
            self.console_app.select(source.session_at(message.line))
        elif isinstance(source, InboxList):
            self.console_app.go_to(self.console_app.desk.waiting[message.line])
        elif self.view is not None:
            if message.again:
                self.view.toggle_fold()
            else:
                self.view.to_line(message.line)
            self.redraw()

    def on_transport_seek(self, message: Transport.Seek) -> None:
        """The transport was clicked."""
        if self.view is not None:
            self.view.seek(message.row)
            self.redraw()
