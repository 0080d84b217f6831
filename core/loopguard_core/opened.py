"""A call between its start and its end."""

from __future__ import annotations

from loopguard_core.identity import EXACT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.events import Event
    from loopguard_core.policies.base import Call
    from loopguard_core.verdict import Ruling


class OpenCall:
    """A call that has started and not ended, and the ruling under which it did.

    *spoken*: the event of the human's message after which it started. *start* and *args* are not known of one that
    comes from a checkpoint.
    """

    __slots__ = ("args", "call", "hit", "request", "ruling", "spoken", "start", "started")

    def __init__(
        self,
        start: Event | None,
        call: Call,
        args: object,
        hit: str,
        ruling: Ruling,
        spoken: int,
    ) -> None:
        self.start = start
        self.call = call
        self.args = args
        self.hit = hit
        self.ruling = ruling
        self.spoken = spoken
        self.started = ruling.action == "run" and not ruling.released
        self.request = ""

    @property
    def digest(self) -> str:
        """That of its arguments in the scheme ``exact``; empty where it has none."""
        return str(self.call.records.get(EXACT, {}).get("a", ""))
