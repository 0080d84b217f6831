"""The numbers of ``progress``. Counts are answers that a call gave so far, steps are steps without news."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.policies.options import Options

WARN_AT, BLOCK_AT, HALT_AT = 3, 6, 16
NAMES = ("warn_at", "block_at", "halt_at")
NEVER = 1 << 30
#: A tool that is asked again on purpose is given this many times more.
POLL = 2
#: Identical calls in one message, beyond the first.
BURST_WARN, BURST_BLOCK = 2, 4
#: Points of varying calls that come back empty-handed in a row, and what each is worth: the same failure
#: pattern; nothing found, or lines that were read before; only the same kind of failure, or an answer that
#: another call gave.
DRY_WARN, DRY_BLOCK = 12, 24
SAME, EMPTY, ALIKE = 4, 3, 2
#: Outages: answers before the next is blocked, by what is known of the time between.
OUTAGE_WARN, OUTAGE_FAST, OUTAGE_UNKNOWN, OUTAGE_SLOW = 3, 7, 9, 40
#: A refused connection may well be the agent's own fault.
NETWORK_SLOW = 20
#: Seconds between two tries that count as backing off.
BACK_OFF = 2.0
#: Seconds after which asking again is waiting: a poller; a search or a reader of files; and how many times
#: the agent's usual pace that must be.
POLL_WAIT, READ_WAIT, PACES = 1.0, 20.0, 3.0
#: Anything else, with how many times it is excused; a shorter gap is soon no excuse.
ASK_WAITS = ((20.0, 1 << 30), (10.0, 24), (5.0, 10))
#: Seconds after which a failure that does not pass by itself may have passed.
FAILED_WAIT = 30.0
#: Answers in which nothing but a time changed, by poller or not; unchanged answers over real time.
CLOCK_WARN, CLOCK_WARN_POLL, WAITS_WARN = 4, 8, 60
#: Answers that one call may alternate between before that counts as repeating.
FLIPS = 8


class Limits:
    """When identical calls of one tool are warned about and stopped.

    *block_at* is the number of the first identical call in a row that is stopped. In a cycle fewer answers
    of the same call are enough, but more steps without news: see ``worn``.
    """

    __slots__ = ("block_at", "cycles", "options", "refusals", "warn_at")

    def __init__(self, warn_at: int, block_at: int, halt_at: int) -> None:
        self.options = (warn_at, block_at, halt_at)
        self.warn_at = warn_at or NEVER
        self.block_at = block_at or NEVER
        self.refusals = halt_at - block_at if halt_at and block_at else NEVER
        row = self.block_at - 1
        self.cycles = (
            (row, row - 1),
            (max(2, row * 3 // 5), row),
            (max(2, row * 2 // 5), row + 3),
        )

    def worn(self, answers: int, steps: int) -> bool:
        """True where a call that gave *answers* equal answers, after *steps* without news, is stopped."""
        for least, after in self.cycles:  # noqa: SIM110 - twice as fast as any()
            if answers >= least and steps >= after:
                return True
        return False

    def stopped_at(self, answers: int, steps: int, times: int = 1) -> int:
        """The number of the first call that is stopped, if things go on as they do.

        *times*: how many times more the call may be asked than others. ``NEVER`` where none is stopped.
        """
        if self.block_at >= NEVER:
            return NEVER
        due = (reached(answers, steps, n * times, after * times) for n, after in self.cycles)
        return min(due) + 1

    @classmethod
    def take(cls, options: Options, default: tuple[int, int, int]) -> Limits:
        """The limits in *options*. Raises ``PolicyError`` for a limit that can never be reached."""
        warn, block, halt = (
            options.take_int(name, at, least=0, unit="calls, 0 for never")
            for name, at in zip(NAMES, default, strict=True)
        )
        if warn == 1 or block in (1, 2):
            raise options.error("a first call repeats nothing: warn_at is at least 2, block_at 3")
        if block and warn and block <= warn:
            raise options.error(f"block_at {block} must lie above warn_at {warn}")
        if halt and not block and halt != default[2]:
            raise options.error(
                f"halt_at {halt} can never fire: block_at is 0, and halts follow it"
            )
        if halt and halt <= block:
            raise options.error(f"halt_at {halt} must lie above block_at {block}")
        if not (warn or block):
            raise options.error("every tier is off, so this policy can never fire")
        return cls(warn, block, halt)


def reached(answers: int, steps: int, least: int, after: int) -> int:
    """How many equal answers there are once there are *least*, and *after* steps without news, if things go on as they do."""
    period = max(1, round((steps + 1) / (answers - 1))) if answers > 1 else 1
    return max(least, answers, answers - (steps - after) // period)
