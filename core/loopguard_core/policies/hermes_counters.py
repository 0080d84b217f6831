"""The three counters of a turn that every version of Hermes' guard keeps.

Failures of a signature, failures of a tool, and the last result of a signature with how often it came.
"""

from __future__ import annotations

from loopguard_core.policies.base import Policy
from loopguard_core.policies.flight import Flight
from loopguard_core.verdict import tool_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.identity import Scheme


class HermesCounters(Policy):
    """The counters, and what clears them: a turn, a reset of all, of one tool or of one signature."""

    state: tuple[str, ...] = ("_failures", "_tool_failures", "_results", "_flight")

    def __init__(self, scheme: Scheme) -> None:
        super().__init__(scheme)
        self._failures: dict[str, int] = {}
        self._tool_failures: dict[str, int] = {}
        self._results: dict[str, tuple[str, int]] = {}
        self._flight = Flight()

    def turn(self, reason: str) -> None:
        self._flight.clear()
        self.reset()

    def reset(self, *, tool: str = "", signature: str = "") -> None:
        if not tool and not signature:
            self._failures.clear()
            self._tool_failures.clear()
            self._results.clear()
            return
        for counters in (self._failures, self._results):
            for key in [k for k in counters if k == signature or (tool and tool_of(k) == tool)]:
                del counters[key]
        self._tool_failures.pop(tool or tool_of(signature), None)
