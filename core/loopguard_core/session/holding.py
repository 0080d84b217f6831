"""Which of a human's breakpoints a call meets, so that its event can say so and the fold need not ask."""

from __future__ import annotations

from loopguard_core.condition import Condition, ConditionError
from loopguard_core.refusal import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard_core.controls import Controls
    from loopguard_core.events import Event
    from loopguard_core.verdict import Verdict


class Holding:
    """The conditions of one session's breakpoints, each read once. *say* hears of one that cannot be read."""

    __slots__ = ("_conditions", "_say")

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._conditions: dict[str, Condition] = {}

    def met(self, start: Event, verdict: Verdict, controls: Controls) -> str:
        """The latest breakpoint that the call of *start* meets, empty for none."""
        for point in reversed(controls.breakpoints.values()):
            condition = self._conditions.get(point.condition)
            if condition is None:
                condition = self._conditions[point.condition] = self._read(point.condition)
            if condition.holds(start.text("tool"), start.data.get("args"), verdict):
                return point.breakpoint
        return ""

    def _read(self, text: str) -> Condition:
        try:
            return Condition(text)
        except ConditionError as error:
            self._say(
                f"the breakpoint {plain(text, 80)} cannot be read ({error}): every call is held"
            )
            return Condition("")
