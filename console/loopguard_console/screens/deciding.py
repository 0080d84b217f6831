"""Deciding, the same on every screen: only what was seen, never under a key meant for something else."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import events, work
from textual.screen import Screen
from textual.widgets._toast import ToastRack

from loopguard_console.deciding import Permission
from loopguard_console.inspector.card import Asking
from loopguard_console.keys.arming import Arming
from loopguard_console.punctual import Punctual
from loopguard_console.render import halted_words, safe, signature_label
from loopguard_console.screens.dialogs import Answer, Choice, Dialog
from loopguard_console.screens.modify import Modify
from loopguard_console.screens.notices import lie_over
from loopguard_console.widgets.inbox import left_of
from loopguard_core.escape import DecisionError
from loopguard_core.store.contract import Request, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard_console.app import ConsoleApp
    from loopguard_console.deciding import Decider

NOTES = (
    "Stop repeating this; the answer will not change. Use what you have.",
    "This does not exist. List the folder first.",
    "Ask me before you try again.",
    "Try another approach.",
)
_DECIDING = ("approve", "deny", "override", "modify", "reset", "halt")
_BUDGETS = (1, 3, 10, 30, None)
_MINUTES = (None, 5, 30, 120)
_UNTIL = ("", "result", "turn")


class DecidingScreen(Punctual, Screen[None]):
    """A screen with something to decide on. Subclasses say what is selected."""

    #: The list above or beside the card.
    LIST: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.arming = Arming()

    def on_mount(self) -> None:
        """What is said to the person covers the list, not what is decided on."""
        self.screen_layout_refresh_signal.subscribe(self, lambda _: lie_over(self, self.LIST))

    def on_screen_suspend(self) -> None:
        """What another screen in front of this one shows is not told twice."""
        self.query(ToastRack).set(display=False)

    @property
    def console_app(self) -> ConsoleApp:
        """The app, by its own type."""
        return cast("ConsoleApp", self.app)

    # -- what subclasses say -----------------------------------------------------------------------

    def selected(self) -> Request | None:
        """The waiting request that is selected and on the screen."""
        raise NotImplementedError

    def marked(self) -> list[Request]:
        """Requests that were marked for one answer."""
        return []

    def subject(self) -> tuple[str, str, str, str] | None:
        """Session, tool, signature and label of what is selected, waiting or not."""
        request = self.selected()
        if request is None:
            return None
        label = signature_label(request.tool, request.args, 50)
        return request.session, request.tool, request.signature, label

    def idle(self, action: str) -> str:
        """Why *action* would do nothing now, for the person; empty where it does something."""
        return ""

    def redraw(self) -> None:
        """Draw what depends on the selection."""
        raise NotImplementedError

    def tick(self) -> None:
        """Draw what changes with the time alone: nothing else is news."""
        raise NotImplementedError

    def arrived(self) -> None:
        """Draw what may have changed by what came in: a few times a second, while anything comes."""
        self.redraw()

    # -- arming ------------------------------------------------------------------------------------

    def look(self) -> Asking | None:
        """Tell the arming what is on the screen; the selected request as the card shows it."""
        request = self.selected()
        now = time.monotonic()
        self.arming.see(f"{request.request} {request.seen}" if request else "", now)
        wait = self.arming.wait(now)
        if wait > 0:
            self.set_timer(wait + 0.02, self.redraw)
        if request is None:
            return None
        app = self.console_app
        return Asking(
            request,
            left_of(request, app.desk.now),
            self.arming.armed(now),
            app.decider is not None,
            app.names,
        )

    def on_key(self, event: events.Key) -> None:
        """Any key pressed before the request has been seen for a moment starts that moment again."""
        if event.key not in self.console_app.names.raw(*_DECIDING):
            self.arming.press(event.time)

    def _counts(self, request: Request) -> bool:
        """Whether the key that was pressed may decide about *request*; why not is said."""
        self.look()
        pressed = self.console_app.pressed
        answered = self.arming.just_decided(pressed)
        if self.arming.press(pressed):
            return True
        name = safe(request.request, 8)
        self.console_app.hint(
            f"That key came right after an answer: nothing was done about {name}. Press again in a moment."
            if answered
            else f"{name} had only just appeared: nothing was done about it. Press again in a moment."
        )
        return False

    def _may(self) -> list[Request]:
        """The requests that a deciding key answers now; none where nothing is armed."""
        if self.console_app.decider is None:
            self.console_app.hint(self.console_app.why_not)
            return []
        request = self.selected()
        if request is None:
            self.console_app.hint(
                self.console_app.names.say("Nothing waits here. {waiting} goes to what waits.")
            )
            return []
        return (self.marked() or [request]) if self._counts(request) else []

    # -- the decisions -----------------------------------------------------------------------------

    def action_approve(self) -> None:
        """Let the waiting call run once."""
        requests = self._may()
        if requests:
            self._each(requests, lambda decider, request: decider.approve(request, ""))

    async def action_deny(self) -> None:
        """Refuse it, with a note if there is one."""
        requests = self._may()
        if not requests:
            return

        def answer(given: Answer | None) -> None:
            if given is not None:
                self.console_app.remembered.noted(project, given.note)
                self._each(requests, lambda decider, request: decider.deny(request, given.note))

        known = self.console_app.desk.session(requests[0].session)
        project = known.cwd if known is not None else ""
        kept = tuple(self.console_app.remembered.notes(project))

        late = all(request.resolution for request in requests)
        what = "The call" if len(requests) == 1 else "Each"
        dialog = Dialog(
            "Deny",
            self._names(requests),
            note="why, for the log (may stay empty)"
            if late
            else "why, or what to do instead (the model reads it; may stay empty)",
            notes=(*kept, *(n for n in NOTES if n not in kept)),
            does=f"{what} was refused when nobody answered, and leaves the inbox. Its next try is asked about again."
            if late
            else f"{what} is refused; asked again in this turn, it is refused at once.",
        )
        await self.console_app.open_screen(dialog, answer)

    async def action_modify(self) -> None:
        """Change the arguments and let it run."""
        request = self.selected() if self._may() else None
        if request is None:
            return

        def answer(given: tuple[Any] | None) -> None:
            if given is not None:
                self._each([request], lambda decider, r: decider.modify(r, given[0], ""))

        await self.console_app.open_screen(Modify(request), answer)

    async def action_override(self) -> None:
        """Let more than this one call run."""
        subject = self._about()
        if subject is None:
            return
        session, tool, signature, label = subject

        def answer(given: Answer | None) -> None:
            if given is None:
                return
            scope = ("signature", "tool", "session")[given.picked[0]]
            minutes = _MINUTES[given.picked[2]]
            permission = Permission(
                scope,
                {"signature": signature, "tool": tool}.get(scope, ""),
                _BUDGETS[given.picked[1]],
                None if minutes is None else minutes * 60.0,
                _UNTIL[given.picked[3]],
                given.note,
            )
            self._do(lambda decider: decider.override(session, permission))

        choices = (
            Choice("Scope", ("these arguments", "this tool", "whole session")),
            Choice("Calls", ("1", "3", "10", "30", "no number"), 1),
            Choice("Time", ("no limit", "5 min", "30 min", "2 h")),
            Choice("Until", ("used up", "result changes", "turn ends")),
        )
        dialog = Dialog(
            "Override",
            label,
            choices=choices,
            note="a note, if you like",
            does=self.console_app.names.say(
                "The guard lets these calls run and counts them no further, up to the ceiling "
                "(200 calls, 8 hours unless you set it). Revoke it with {grants}."
            ),
            broad=frozenset({(0, 1), (0, 2), (1, 4)}),
        )
        await self.console_app.open_screen(dialog, answer)

    def action_reset(self) -> None:
        """Set the count of the selected signature back."""
        subject = self._about()
        if subject is not None:
            session, _, signature, _ = subject
            self._do(lambda decider: decider.reset(session, "signature", signature, ""))

    def _stands(self, session: str) -> str:
        """What a person calls a session, and that it stands halted where it does."""
        known = self.console_app.desk.session(session)
        halted = halted_words(known) if known is not None else ""
        title = self.console_app.title_of(session)
        return f"{title}: {halted}" if halted else title

    async def action_halt(self) -> None:
        """Stop the turn or the session, after a second key."""
        subject = self._about()
        if subject is None:
            return
        session = subject[0]

        def answer(given: Answer | None) -> None:
            if given is not None:
                scope = ("turn", "session")[given.picked[0]]
                children = given.picked[1] == 0
                self._do(lambda decider: decider.halt(session, scope, children, given.note))

        dialog = Dialog(
            "Halt",
            self._stands(session),
            choices=(
                Choice("Scope", ("this turn", "whole session")),
                Choice("Children", ("too", "not them")),
            ),
            note="why (the model reads it)",
            does=self.console_app.names.say(
                "Every further call is refused until you resume ({resume}), or for a turn until your next message."
            ),
        )
        await self.console_app.open_screen(dialog, answer)

    def action_resume(self) -> None:
        """Lift a halt of the selected session."""
        subject = self._about()
        if subject is not None:
            session = subject[0]
            self._do(lambda decider: decider.resume(session, ""))

    def _about(self) -> tuple[str, str, str, str] | None:
        """What is selected, if it may be acted on now."""
        if self.console_app.decider is None:
            self.console_app.hint(self.console_app.why_not)
            return None
        subject = self.subject()
        if subject is None:
            self.console_app.hint("Select a call first.")
            return None
        request = self.selected()
        return subject if request is None or self._counts(request) else None

    # -- carrying out ------------------------------------------------------------------------------

    def _names(self, requests: list[Request]) -> str:
        if len(requests) == 1:
            return signature_label(requests[0].tool, requests[0].args, 50)
        return f"{len(requests)} requests"

    def _each(self, requests: list[Request], how: Callable[[Decider, Request], str]) -> None:
        self.arming.decided(time.monotonic())
        self._carry([lambda decider, r=request: how(decider, r) for request in requests])

    def _do(self, how: Callable[[Decider], str]) -> None:
        self.arming.decided(time.monotonic())
        self._carry([how])

    @work(thread=True, exit_on_error=False, group="decide")
    def _carry(self, tasks: list[Callable[[Decider], str]]) -> None:
        decider = self.console_app.decider
        if decider is None:
            return
        for task in tasks:
            try:
                said, bad = task(decider), False
            except (DecisionError, StoreError) as error:
                said, bad = str(error), True
            self.app.call_from_thread(self.console_app.say, said, bad)
        self.console_app.look_now()
