"""What if another policy had guarded this session: one line of tiers for each, below the recorded one."""

from __future__ import annotations

from textwrap import wrap
from typing import ClassVar, NamedTuple

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from loopguard_console.inspector.gauges import tier_line
from loopguard_console.render import pad, safe
from loopguard_console.viewing.view import View
from loopguard_console.whatif import CALLS, Answer, answers, every_policy, read_policy, typed
from loopguard_core.policies.base import Policy
from loopguard_core.policies.options import PolicyError
from loopguard_core.traits import TraitTable

_NAME = 23


class Chosen(NamedTuple):
    """A policy that a person chose, as typed; empty for the recorded one. ``write``: into the settings."""

    policy: str
    write: bool = False


class WhatIf(ModalScreen[Chosen | None]):
    """The answers of every policy, and of one with thresholds that a person types."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,p", "close", "close"),
        Binding("t", "type", "thresholds"),
        Binding("j,down", "move(1)", "down"),
        Binding("k,up", "move(-1)", "up"),
        Binding("enter", "judge", "judge with it"),
        Binding("w", "write", "write it"),
    ]

    def __init__(self, view: View, traits: TraitTable) -> None:
        super().__init__()
        self._view = view
        self._traits = traits
        self._answers: list[Answer] = []
        self._asking = True
        self._wrong = ""
        self._at = 0

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="wide"):
            yield Static("What would other policies have done?", classes="heading", markup=False)
            with VerticalScroll(id="answers"):
                yield Static(id="lines", markup=False)
            yield Input(placeholder='graded {"block_at": 5}', id="policy")
            yield Static(id="says", markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).display = False
        self._draw()
        self._ask(every_policy())

    @work(thread=True, exit_on_error=False, group="whatif")
    def _ask(self, policies: dict[str, Policy]) -> None:
        recording = self._view.recording
        first = recording.seq_at(max(0, len(recording) - CALLS) - 1)
        events = recording.source.after(first, recording.seq)
        found = answers(events, policies, self._traits)
        self.app.call_from_thread(self._take, found)

    def _take(self, found: list[Answer]) -> None:
        self._answers += found
        self._asking = False
        self._draw()

    def _draw(self) -> None:
        width = max(20, self.query_one("#answers").scrollable_content_region.width - _NAME - 4)
        view = self._view
        tiers = bytes(view.recording.tiers[-CALLS:])
        lines = [self._line(0, self._first, tier_line(tiers, width, view.cursor), ("", ""))]
        tops = [0]
        for number, answer in enumerate(self._answers, 1):
            beside = min(len(answer.tiers), width) + len(answer.words) + 2 <= width
            below = "".join(f"\n    {part}" for part in wrap(answer.words, width + _NAME))
            words = (f"  {answer.words}" if beside else below, "$dim")
            tops.append(sum(line.plain.count("\n") + 1 for line in lines))
            shown = tier_line(answer.tiers, width, view.cursor)
            lines.append(self._line(number, answer.policy, shown, words))
        self.query_one("#lines", Static).update(Content("\n").join(lines))
        self.query_one("#says", Static).update(safe(self._wrong or self._keys(), lines=True))
        self.query_one("#answers").scroll_to_region(
            Region(0, tops[self._at], 1, 3), animate=False, force=True
        )

    @property
    def _first(self) -> str:
        return "judged now" if self._view.recording.judges else "as recorded"

    def _line(self, number: int, name: str, tiers: Content, words: tuple[str, str]) -> Content:
        here = number == self._at
        style = "bold reverse" if here else "bold $text-primary" if number else "bold"
        mark = "› " if here else "  "
        return Content.assemble((mark, "bold"), (pad(safe(name), _NAME), style), tiers, words)

    def _keys(self) -> str:
        if self._asking:
            return "Asking every policy about every call…"
        what = "w writes it into loopguard.toml"
        if not self._view.live:
            own = (
                "back to the recorded verdicts" if not self._at else "judge this recording with it"
            )
            what = f"Enter {own} · {what}" if self._at or self._view.recording.judges else ""
        elif not self._at:
            what = ""
        many = len(self._view.recording)
        last = f" · the last {CALLS:,} calls" if many > CALLS else ""
        first = f"j k choose{last}" + (f" · {what}" if what else "")
        return f"{first}\nt another policy or other thresholds · Esc closes"

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    def action_type(self) -> None:
        """Type a policy with its options."""
        box = self.query_one(Input)
        box.display = True
        self.set_focus(box)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Ask the policy that was typed."""
        try:
            name, policy = read_policy(event.value)
        except PolicyError as error:
            self._wrong = str(error)
            self._draw()
            return
        self._wrong = ""
        self.query_one(Input).display = False
        self.set_focus(None)
        self._ask({name: policy})

    def action_move(self, by: int) -> None:
        """Choose the next answer."""
        self._wrong = ""
        self._at = max(0, min(len(self._answers), self._at + by))
        self._draw()

    def action_judge(self) -> None:
        """Judge this recording with the chosen policy from now on."""
        if self._view.live:
            self._say(
                "A live session is judged as it runs: w puts another policy into loopguard.toml."
            )
        elif self._at:
            self.dismiss(Chosen(typed(self._answers[self._at - 1].policy)))
        elif self._view.recording.judges:
            self.dismiss(Chosen(""))
        else:
            self._say("That is how it is judged now: choose a policy with j and k.")

    def action_write(self) -> None:
        """Write the chosen policy into the settings of the project."""
        if self._at:
            self.dismiss(Chosen(typed(self._answers[self._at - 1].policy), write=True))
        else:
            self._say("Choose a policy with j and k.")

    def _say(self, words: str) -> None:
        self._wrong = words
        self._draw()

    def action_close(self) -> None:
        """Back."""
        self.dismiss(None)
