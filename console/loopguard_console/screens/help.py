"""Help: the keys of the screen one came from, and what the words mean."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from loopguard_console.actions import actions_of, groups, keys_of

WORDS = (
    ("tool call", "one use of a tool by the agent: its name, its arguments, its result"),
    ("signature", "what makes two calls the same for the guard"),
    ("window", "the last N calls; how often a call stands in it shows as ×N"),
    ("A B C …", "calls that came again have a letter and a colour: equal calls, equal letters"),
    ("· W B H", "the tiers: allowed, warned, blocked, halted"),
    ("warn", "the call ran; advice was appended to its result"),
    ("block", "the call does not run unless you let it"),
    ("halt", "every further call of the turn is refused until you resume or write to the agent"),
    (
        "request",
        "a stopped call that waits for your answer (R7); it ends by itself when its time is over",
    ),
    ("turn", "what the agent does between two of your messages; counts start afresh with each"),
    (
        "grant",
        "a permission that you gave with override: for N calls, for minutes, until something",
    ),
    ("live, quiet", "the agent runs; nothing came from it for a minute"),
    ("lost, ended", "the agent's process is gone without a word; the session was closed"),
    ("let go", "the call ran because a person allowed it; it left no mark on the counters"),
)


class Help(ModalScreen[None]):
    """Every key of the given places."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1", "close", "close"),
        Binding("j,down", "scroll(1)", "down"),
        Binding("k,up", "scroll(-1)", "up"),
    ]

    def __init__(self, *places: str) -> None:
        super().__init__()
        self._places = places

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            yield Static(self._text(), markup=False)

    def _text(self) -> Content:
        parts: list[Content] = []
        for group, actions in groups(actions_of(*self._places)).items():
            parts.append(Content.assemble((f"{group}\n", "bold $text-primary")))
            for action in actions:
                parts.append(
                    Content.assemble(
                        (f"  {keys_of(action):<12}", "bold $text-accent"),
                        (f"{action.title:<14}", "bold"),
                        (f"{action.help}\n", ""),
                    )
                )
            parts.append(Content("\n"))
        parts.append(Content.assemble(("Words\n", "bold $text-primary")))
        for word, meaning in WORDS:
            parts.append(Content.assemble((f"  {word:<14}", "bold"), (f"{meaning}\n", "")))
        parts.append(Content.assemble(("\nEsc closes this.", "$dim")))
        return Content("").join(parts)

    def action_scroll(self, by: int) -> None:
        """Scroll by a line."""
        self.query_one("#help").scroll_relative(y=by, animate=False)

    def action_close(self) -> None:
        """Back."""
        self.dismiss(None)
