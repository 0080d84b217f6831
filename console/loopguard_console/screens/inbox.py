"""The inbox: everything that waits for a person, of every session, answered from the list."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll

from loopguard_console.inspector.card import request_card
from loopguard_console.keys.bindings import bindings
from loopguard_console.keys.idle import Standing, on_inbox
from loopguard_console.screens.deciding import DecidingScreen
from loopguard_console.widgets.inbox import InboxList
from loopguard_console.widgets.keys import KeyBar
from loopguard_console.widgets.pane import Pane
from loopguard_console.widgets.status import StatusBar
from loopguard_console.widgets.virtual import VirtualList
from loopguard_core.store.contract import Request


class InboxScreen(DecidingScreen):
    """Requests in a list, the selected one explained below it."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("inbox")]
    LIST = AUTO_FOCUS = "#requests"

    def compose(self) -> ComposeResult:
        yield StatusBar(id="status")
        yield Pane(id="requests-title", classes="title")
        yield InboxList(id="requests")
        with VerticalScroll(id="request"):
            yield Pane(id="card")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        chosen = self.query_one(InboxList)
        waiting = self.console_app.desk.waiting
        if waiting:
            chosen.chosen = waiting[0].request
        self.call_after_refresh(self.redraw)

    def selected(self) -> Request | None:
        return self.console_app.desk.request(self.query_one(InboxList).chosen)

    def idle(self, action: str) -> str:
        app, request = self.console_app, self.selected()
        now = Standing(
            why_not=app.why_not if app.decider is None else "",
            request=request,
            waiting=len(app.desk.waiting),
            gone=bool(self.query_one(InboxList).chosen) and request is None,
        )
        return self.console_app.names.say(on_inbox(action, now))

    def marked(self) -> list[Request]:
        marked = self.query_one(InboxList).marked
        return [r for r in self.console_app.desk.waiting if r.request in marked]

    def redraw(self) -> None:
        """Draw the list and the selected request."""
        if not self.is_mounted:
            return
        app = self.console_app
        requests = self.query_one(InboxList)
        requests.show(app.desk)
        many = len(requests.marked)
        late = sum(1 for r in app.desk.waiting if r.resolution)
        title = f"INBOX  {requests.count() - late} waiting"
        title += (f" · {late} late" if late else "") + (f" · {many} marked" if many else "")
        self.query_one("#requests-title", Pane).put(title)
        request = self.selected()
        asking = self.look()
        size = self.query_one("#request").scrollable_content_region
        width = max(20, size.width - 1)
        self.query_one("#card", Pane).put(
            request_card(
                asking,
                width,
                size.height,
                answered=bool(requests.chosen and request is None),
                others=len(app.desk.waiting),
                marked=[r.request for r in self.marked()],
                names=app.names,
            ),
            layout=True,
        )
        self.query_one(StatusBar).show(
            app.desk, title="", muted=app.muted, watches=app.decider is None
        )
        halted = request is not None and request.cause == "latch"
        self.query_one(KeyBar).show(self.idle, frozenset() if halted else frozenset({"resume"}))

    def tick(self) -> None:
        self.redraw()

    def on_resize(self) -> None:
        self.call_after_refresh(self.redraw)

    def on_virtual_list_picked(self, message: VirtualList.Picked) -> None:
        """A request was clicked; a second click goes to its call."""
        request = self.console_app.desk.waiting[message.line]
        if message.again:
            self.app.pop_screen()
            self.console_app.go_to(request)
            return
        self.query_one(InboxList).chosen = request.request
        self.redraw()

    def action_mark(self) -> None:
        """Mark the selected request, or take the mark away."""
        requests = self.query_one(InboxList)
        if requests.chosen:
            requests.marked ^= {requests.chosen}
            requests.move(1)
            self.redraw()

    def action_down(self) -> None:
        """The next request."""
        self._move(1)

    def action_up(self) -> None:
        """The request before."""
        self._move(-1)

    def _move(self, by: int) -> None:
        requests = self.query_one(InboxList)
        before = requests.chosen
        requests.move(by)
        if requests.chosen == before:
            self.console_app.hint(
                f"No other request waits {'below' if by > 0 else 'above'} this one."
            )
        self.redraw()

    def action_fold(self) -> None:
        """To the call that waits."""
        request = self.selected()
        if request is not None:
            self.app.pop_screen()
            self.console_app.go_to(request)

    def action_mute(self) -> None:
        """Bell on or off."""
        self.console_app.action_mute()

    def action_back_to_chain(self) -> None:
        """Back to the chain."""
        self.app.pop_screen()
