"""Help: the keys of the screen one came from, and what the words mean."""

from __future__ import annotations

import textwrap
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from loopguard_console.keys.actions import actions_of, groups, keys_of
from loopguard_console.keys.keynames import USUAL, KeyNames

#: Cells for the names of actions and the words.
NAMES = 19
#: Cells below which explanations stand under the names.
NARROW = 60
_KEYS = "w what the words mean · j k and PgDn PgUp scroll · Esc closes"
WORDS = (
    ("tool call", "one use of a tool by the agent: its name, its arguments, its result"),
    ("signature", "what makes two calls the same for the guard"),
    ("window", "the last N calls; how often a call stands in it shows as ×N"),
    ("A B C …", "calls that came again have a letter and a colour: equal calls, equal letters"),
    ("· W B H", "the tiers: allow, warn, block, halt"),
    (
        "▶ ▼ ⟳",
        "folded calls, opened ones, and a cycle: calls that came in turns; {fold} opens and closes",
    ),
    ("┃", "calls that are equal to the selected one"),
    ("┌ ├ └", "calls that the agent made in one message"),
    ("› ◆", "a hit of the search; a bookmark"),
    ("█W░B░H", "a counter, and at which count it warns, blocks and halts"),
    ("warn", "the call ran; advice was appended to its result"),
    ("block", "the call does not run unless you let it"),
    ("halt", "every further call of the turn is refused until you resume or write to the agent"),
    ("guard", "the policy that judges the calls, and its mode"),
    ("watches", "the mode observe: the guard only says what it would have done"),
    ("asks you", "the mode ask: a stopped call waits for a human"),
    ("refuses", "the mode enforce: a stopped call is refused at once"),
    ("detector", "the part of the policy that fired, such as repetition or cycle"),
    (
        "the tool",
        "what the guard knows of it: that it only reads, that it polls; {rule} changes it",
    ),
    ("compared", "in what calls and answers may differ and still count as the same"),
    ("told, advice", "what the model reads because of the verdict, or would have read"),
    ("refusal", "what it will read if nobody lets the call run"),
    (
        "request",
        "a stopped call that waits for your answer (R7); it ends by itself when its time is over",
    ),
    ("late", "a request that nobody answered in time: approved now, its call's next try runs"),
    ("turn", "what the agent does between two of your messages; counts start afresh with each"),
    (
        "grant",
        "a permission that you gave with override: for N calls, for minutes, until the result changes or the turn ends",
    ),
    ("● live, ○ quiet", "the agent runs; nothing came from it for a minute"),
    (
        "✖ lost, · ended",
        "the agent's process is gone, or silent elsewhere for a day; the session was closed",
    ),
    (
        "?",
        "in the list: events of the session could not be written; ? gap in the chain says where, and how many",
    ),
    ("released", "the call ran because a human let it; it left no mark on the counters"),
)


class Help(ModalScreen[None]):
    """Every key of the given places."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1", "close", "close"),
        Binding("j,down", "scroll(1)", "down"),
        Binding("k,up", "scroll(-1)", "up"),
        Binding("pagedown,ctrl+d,space,full_stop", "page(1)", "page down"),
        Binding("pageup,ctrl+u,comma", "page(-1)", "page up"),
        Binding("g,home", "first", "first"),
        Binding("G,end", "last", "last"),
        Binding("w", "words", "the words"),
    ]

    def __init__(self, *places: str, names: KeyNames = USUAL) -> None:
        super().__init__()
        self._places = places
        self._names = names
        self._words = 0

    def compose(self) -> ComposeResult:
        with Vertical(id="help-box"):
            yield Static(_KEYS, id="help-keys", markup=False)
            with VerticalScroll(id="help"):
                yield Static(markup=False)

    def on_mount(self) -> None:
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        width = self.query_one("#help").scrollable_content_region.width
        self.query_one("#help Static", Static).update(self._text(max(30, width - 1)))

    def _text(self, width: int) -> Content:
        parts: list[Content] = []
        for group, actions in groups(actions_of(*self._places)).items():
            parts.append(Content.assemble((f"{group}\n", "bold $text-primary")))
            for action in actions:
                parts += _entry(
                    keys_of(action, self._names.chosen), action.title, action.help, width
                )
            parts.append(Content("\n"))
        self._words = sum(part.plain.count("\n") for part in parts)
        parts.append(Content.assemble(("Words\n", "bold $text-primary")))
        for word, meaning in WORDS:
            parts += _entry("", word, self._names.say(meaning), width)
        return Content("").join(parts)

    def action_scroll(self, by: int) -> None:
        """Scroll by a line."""
        self.query_one("#help").scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        """Scroll by a page."""
        shown = self.query_one("#help")
        shown.scroll_relative(y=by * max(1, shown.size.height - 1), animate=False)

    def action_first(self) -> None:
        """To the beginning."""
        self.query_one("#help").scroll_home(animate=False)

    def action_last(self) -> None:
        """To the end."""
        self.query_one("#help").scroll_end(animate=False)

    def action_words(self) -> None:
        """To the words."""
        self.query_one("#help").scroll_to(y=self._words, animate=False)

    def action_close(self) -> None:
        """Back."""
        self.dismiss(None)


def _entry(keys: str, name: str, text: str, width: int) -> list[Content]:
    """Keys and name in columns, the explanation beside them, wrapped under itself."""
    first = f" {keys:<9}" if keys else " "
    indent = len(first) + NAMES
    if width < NARROW:
        below = "".join(f"    {line}\n" for line in textwrap.wrap(text, width - 4))
        return [
            Content.assemble((first, "bold $text-accent"), (name, "bold"), f"\n{below}"),
        ]
    lines = textwrap.wrap(text, max(20, width - indent))
    more = "".join(f"\n{' ' * indent}{line}" for line in lines[1:])
    return [
        Content.assemble(
            (first, "bold $text-accent"), (f"{name:<{NAMES}}", "bold"), f"{lines[0]}{more}\n"
        )
    ]
