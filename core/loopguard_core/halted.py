"""The exception that ends a turn where an author's loop has no other way to learn of it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard_core.decision import Decision


class TurnHalted(Exception):
    """The turn is halted: stop calling tools and give the word back to the human.

    ``tool`` and ``signature`` of the call that was refused, ``count``: how often it was seen,
    ``window``: signatures of the last calls, the newest last, ``message``: what the model may be told,
    ``request``: what a human can approve, or empty.
    """

    def __init__(self, decision: Decision, window: Sequence[str] = ()) -> None:
        super().__init__(decision.message)
        self.tool = decision.tool
        self.signature = decision.ruling.verdict.signature
        self.count = decision.ruling.why.count
        self.window = list(window)
        self.message = decision.message
        self.request = decision.request
