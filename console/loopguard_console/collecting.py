"""Garbage collection out of the way of keys.

A console holds some hundred thousand objects that stay as long as it is open: modules, styles, widgets, the
snapshots of a fold. Looking through all of them takes a tenth of a second, in which no key is answered. So
what stays is set aside once it is there, and new objects are looked at in larger lots. See ``gc`` in Python's library.
"""

from __future__ import annotations

import gc

#: New objects until the young are looked at, young looks until the middle-aged are, and so on.
LOTS = (2_000, 10, 50)


class Collecting:
    """How garbage is collected while a console is open."""

    def __init__(self) -> None:
        self._before: tuple[int, int, int] | None = None

    def begin(self) -> None:
        """The console opens."""
        self._before = gc.get_threshold()
        gc.set_threshold(*LOTS)

    def settle(self) -> None:
        """What is there now stays: the first picture was drawn, or a recording has been read."""
        if self._before is not None:
            gc.freeze()

    def end(self) -> None:
        """The console is closed: all is as it was before ``begin``."""
        if self._before is not None:
            gc.unfreeze()
            gc.set_threshold(*self._before)
            self._before = None
