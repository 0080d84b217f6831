"""An interrupt that comes at a chosen moment, as Ctrl-C may at any."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any


class Interrupt:
    """Raises ``KeyboardInterrupt`` as the *nth* function of ours is entered, as a signal's handler does.

    *within* a file: at its *nth* line.
    """

    def __init__(self, nth: int, within: str = "") -> None:
        self.left = nth
        self.within = within

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Interrupt | None:
        if (self.within or "loopguard_core") in frame.f_code.co_filename:
            self.left -= 1
            if not self.left:
                sys.settrace(None)
                frame.f_trace = None
                raise KeyboardInterrupt
        return self if self.within else None

    def __enter__(self) -> Interrupt:
        self._before = sys.gettrace()
        sys.settrace(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)
