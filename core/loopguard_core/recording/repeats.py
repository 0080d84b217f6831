"""Where a call came before: the repeats, and the failures, to which it belongs.

The searches go back 10,000 calls at most: what came again after so many is no streak.
"""

from __future__ import annotations

from bisect import bisect_right

from loopguard_core.recording.calls import STATES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array

    from loopguard_core.guard import Guard
    from loopguard_core.recording.calls import Mark


class Repeats:
    """The part of a ``Recording`` that looks back from a call."""

    guard: Guard
    window: int
    keys: array[int]
    tools: list[str]
    outcomes: bytearray
    _turn_rows: array[int]
    _afresh: list[Mark]
    _key_signature: array[int]
    _odd_signatures: dict[int, int]
    _signatures: list[str]

    def turn_at(self, index: int) -> int:
        """The turn in which a call was made; 0 before the first message."""
        return bisect_right(self._turn_rows, index)

    def _signature_at(self, index: int) -> int:
        odd = self._odd_signatures.get(index)
        return self._key_signature[self.keys[index]] if odd is None else odd

    def reset_before(self, index: int) -> Mark | None:
        """A human's reset from which on this call is counted; None where none covers it, or a turn began since."""
        tool = self.tools[self.keys[index]]
        signature = self._signatures[self._signature_at(index)]
        about = {"tool": tool, "signature": signature}
        for at in range(bisect_right(self._afresh, index, key=_row) - 1, -1, -1):
            mark = self._afresh[at]
            if mark.event.type == "reset":
                scope = mark.event.text("scope")
                if scope not in about or mark.event.text("key") == about[scope]:
                    return mark
            elif not self.guard.policy.spans_turns:
                return None
        return None

    def first_of_streak(self, index: int) -> int:
        """The first of the repeats to which a call belongs, within 10,000 calls: no gap of a window."""
        key, first, missed = self.keys[index], index, 0
        for at in range(index - 1, max(-1, index - 10_001), -1):
            if self.keys[at] == key:
                first, missed = at, 0
            else:
                missed += 1
                if missed >= self.window:
                    break
        return first

    def repeats_before(self, index: int) -> int | None:
        """The call before *index* with the same key, None where there is none within 10,000 calls."""
        key = self.keys[index]
        for at in range(index - 1, max(-1, index - 10_001), -1):
            if self.keys[at] == key:
                return at
        return None

    def like_before(self, index: int) -> int | None:
        """The call before *index* that the policy holds for the same, None within 10,000 calls.

        Its arguments may differ in what the policy ignores.
        """
        signature = self._signature_at(index)
        if not self._signatures[signature]:
            return self.repeats_before(index)
        for at in range(index - 1, max(-1, index - 10_001), -1):
            if self._signature_at(at) == signature:
                return at
        return None

    def first_failure_like(self, index: int) -> int | None:
        """The first failure of this tool in the turn of call *index*, up to that call; None for none."""
        tool, turn = self.tools[self.keys[index]], self.turn_at(index)
        begin = self._turn_rows[turn - 1] if turn else 0
        error = STATES.index("error")
        at = self.outcomes.find(error, max(begin, index - 10_000), index + 1)
        while at >= 0:
            if self.tools[self.keys[at]] == tool:
                return at
            at = self.outcomes.find(error, at + 1, index + 1)
        return None


def _row(mark: Mark) -> int:
    return mark.row
