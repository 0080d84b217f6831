"""The clock that waits go by: one that goes on where an agent's tests stop the time (freezegun does, for all of ``time``)."""

from __future__ import annotations

from functools import partial
from time import CLOCK_MONOTONIC, clock_gettime, clock_gettime_ns

#: seconds of the monotonic clock
monotonic = partial(clock_gettime, CLOCK_MONOTONIC)
#: the same in nanoseconds
monotonic_ns = partial(clock_gettime_ns, CLOCK_MONOTONIC)
