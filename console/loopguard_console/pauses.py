"""What keeps a key waiting in a Python process, and is kept short: garbage collection and other threads.

A console holds some hundred thousand objects that stay as long as it is open: modules, styles, widgets, the
snapshots of a fold. Looking through all of them takes a tenth of a second, in which no key is answered. So
what stays is set aside once it is there, and new objects are looked at in larger lots.

The thread that reads the store gives the interpreter back only when it is asked to, and then after an
interval. Answering a key takes a dozen rounds of the event loop, which gives it away in each of them.
"""

from __future__ import annotations

import gc
import sys

#: New objects until the young are looked at, looks at the young until the older are, and so on.
LOTS = (2_000, 10, 50)
#: Seconds after which a thread that computes lets another one go on.
INTERVAL = 0.0005


class Pauses:
    """How long a console may be kept from its keys while it is open."""

    def __init__(self) -> None:
        self._before: tuple[tuple[int, int, int], float] | None = None

    def begin(self) -> None:
        """The console opens."""
        self._before = gc.get_threshold(), sys.getswitchinterval()
        gc.set_threshold(*LOTS)
        sys.setswitchinterval(INTERVAL)

    def settle(self) -> None:
        """What is there now stays: the first picture was drawn, or a recording has been read."""
        if self._before is not None:
            gc.freeze()

    def end(self) -> None:
        """The console is closed: all is as it was before ``begin``."""
        if self._before is not None:
            gc.unfreeze()
            lots, interval = self._before
            gc.set_threshold(*lots)
            sys.setswitchinterval(interval)
            self._before = None
