"""How a session stands after its last row, computed by whoever writes the next one: the same in every engine."""

from __future__ import annotations

from loopguard_core.store import schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard_core.store.rows import Row

#: Open calls of which the tier is kept.
OPEN_CALLS = 200


class Running:
    """What the next row takes from the last one."""

    __slots__ = ("calls", "ended", "level", "tiers", "worst")

    def __init__(self, calls: int, worst: int, level: int, ended: int) -> None:
        self.calls = calls
        self.worst = worst
        self.level = level
        self.ended = ended
        self.tiers: dict[str | None, int] = {}

    def step(
        self, kind: str, row: Row, started: Callable[[str | None], int]
    ) -> tuple[int | None, int | None]:
        """Take in the next row: its ``tier`` and ``mark``.

        *started* tells the tier of the verdict on the start of a call that is not known here.
        """
        tier, mark = row.tier, row.mark
        if kind == "call_start":
            self.calls += 1
            if len(self.tiers) > OPEN_CALLS:
                self.tiers.clear()
            self.tiers[row.call] = tier or 0
            if (tier or 0) > self.level:
                mark, self.level = schema.CHANGE, tier or 0
        elif kind == "call_end":
            known = self.tiers.pop(row.call, None)
            tier = max(tier or 0, started(row.call) if known is None else known)
            if tier != self.level:
                mark, self.level = schema.CHANGE, tier
        elif kind == "session_start":
            self.ended = 0
        elif kind == "session_end":
            self.ended = 1
        if tier is not None and tier > self.worst:
            self.worst = tier
        return tier, mark
