"""What a session decides about one call."""

from __future__ import annotations

import os
import time

from loopguard_core.foreign import raised
from loopguard_core.verdict import Ruling, Tier, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from loopguard_core.identity import Payload, Record

#: the ruling on a call of which nothing is known
ALLOWED = Ruling("run", Verdict(Tier.ALLOW, ""))


def ended_by(error: BaseException) -> tuple[str, str]:
    """How a call ended that raised *error*: its outcome, and what stands for its result."""
    outcome = "error" if isinstance(error, Exception) else "cancelled"
    return outcome, raised(error)


class Decision:
    """What happens to one call.

    ``run``: it runs, with ``args`` (``modified``: a human changed them). ``message``: where it does not
    run, what the model gets instead of a result; else what it is told beside it, or empty. ``ends_turn``:
    the turn is halted, an author's loop should stop; on a call that ran it is set once its result is known.
    ``request`` names the request that was opened.
    """

    __slots__ = (
        "annotations",
        "args",
        "began",
        "call",
        "ends_turn",
        "ids",
        "message",
        "modified",
        "payload",
        "request",
        "ruling",
        "run",
        "tier",
        "tool",
        "verdict",
    )

    def __init__(
        self,
        call: str,
        tool: str,
        payload: Payload,
        ruling: Ruling = ALLOWED,
        ids: Mapping[str, Record] = {},
        annotations: Mapping[str, Any] | None = None,
    ) -> None:
        self.call = call
        self.tool = tool
        self.payload = payload
        self.args = payload.value
        self.ruling = ruling
        self.run = True
        self.modified = False
        self.message = ""
        self.tier = ruling.tier
        self.ends_turn = False
        self.request = ""
        self.ids = ids
        self.annotations = annotations
        self.verdict: Verdict | None = None
        self.began = time.monotonic()

    def __repr__(self) -> str:
        does = "run" if self.run else "refuse"
        return f"Decision({self.call!r}, {does}, {self.tier.word}, request={self.request!r})"


class CallNames:
    """Names for calls of a host that names none: unique in a session, whoever else writes to it.

    Two processes with the same 48 random bits at the beginning of their names would have to meet in it.
    """

    __slots__ = ("_count", "_prefix")

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin anew, as a forked child has to."""
        self._prefix, self._count = f"{os.urandom(6).hex()}-", 0

    def another(self) -> str:
        """The next one."""
        self._count += 1
        return f"{self._prefix}{self._count}"
