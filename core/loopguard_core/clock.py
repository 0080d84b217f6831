"""What waits go by: a clock that goes on where an agent's tests stop the time, and whether there is any time left.

freezegun stops all of ``time`` but ``clock_gettime``.
"""

from __future__ import annotations

from functools import partial
from time import CLOCK_MONOTONIC, clock_gettime, clock_gettime_ns

#: seconds of the monotonic clock
monotonic = partial(clock_gettime, CLOCK_MONOTONIC)
#: the same in nanoseconds
monotonic_ns = partial(clock_gettime_ns, CLOCK_MONOTONIC)

_in_haste = False


def hurry() -> None:
    """There is no time left: from now on this process waits for nothing that it can do without."""
    global _in_haste
    _in_haste = True


def in_haste() -> bool:
    """Whether ``hurry`` was called in this process."""
    return _in_haste
