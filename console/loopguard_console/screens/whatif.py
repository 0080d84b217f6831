"""What if another policy had guarded this session: one line of tiers for each, below the recorded one."""

from __future__ import annotations

from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from loopguard_console.gauges import tier_line
from loopguard_console.render import pad, safe
from loopguard_console.view import View
from loopguard_console.whatif import CALLS, Answer, answers, every_policy, read_policy
from loopguard_core.policies.base import Policy
from loopguard_core.policies.options import PolicyError
from loopguard_core.traits import TraitTable

_NAME = 20


class WhatIf(ModalScreen[None]):
    """The answers of every policy, and of one with thresholds that a person types."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,p", "close", "close"),
        Binding("t", "type", "thresholds"),
        Binding("j,down", "scroll(1)", "down"),
        Binding("k,up", "scroll(-1)", "up"),
    ]

    def __init__(self, view: View, traits: TraitTable) -> None:
        super().__init__()
        self._view = view
        self._traits = traits
        self._answers: list[Answer] = []
        self._says = "Asking every policy about every call…"

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
        self._says = "t another policy or other thresholds · j k scroll · Esc closes"
        if len(self._view.recording) > CALLS:
            self._says += f" · the last {CALLS:,} calls"
        self._draw()

    def _draw(self) -> None:
        width = max(20, self.query_one("#answers").scrollable_content_region.width - _NAME - 2)
        view = self._view
        tiers = bytes(view.recording.tiers[-CALLS:])
        lines = [
            Content.assemble(
                (pad("as recorded", _NAME), "bold"), tier_line(tiers, width, view.cursor), "\n"
            )
        ]
        for answer in self._answers:
            beside = min(len(answer.tiers), width) + len(answer.words) + 2 <= width
            between = "  " if beside else f"\n{' ' * _NAME}"
            lines.append(
                Content.assemble(
                    (pad(safe(answer.policy), _NAME), "bold $text-primary"),
                    tier_line(answer.tiers, width, view.cursor),
                    (f"{between}{answer.words}", "$dim"),
                )
            )
        self.query_one("#lines", Static).update(Content("\n").join(lines))
        self.query_one("#says", Static).update(safe(self._says))

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
            self._says = str(error)
            self._draw()
            return
        self.query_one(Input).display = False
        self.set_focus(None)
        self._ask({name: policy})

    def action_scroll(self, by: int) -> None:
        """Scroll by a line."""
        self.query_one("#answers").scroll_relative(y=by, animate=False)

    def action_close(self) -> None:
        """Back."""
        self.dismiss(None)
