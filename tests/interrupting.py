"""An interrupt that comes at a chosen moment, as Ctrl-C may at any."""

from __future__ import annotations

import linecache
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interrupt:
    """Raises ``KeyboardInterrupt`` as the *nth* function of ours is entered, as a signal's handler does.

    *within* a file: at its *nth* line. Python lets no signal come between the end of a ``with`` block and what it
    lets go of, so none comes at such a line.
    """

    def __init__(self, nth: int, within: str = "") -> None:
        self.left = nth
        self.within = within

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Interrupt | None:
        file = frame.f_code.co_filename
        if (self.within or "loopguard_core") in file and not (
            event == "line" and linecache.getline(file, frame.f_lineno).lstrip().startswith("with ")
        ):
            self.left -= 1
            if not self.left:
                sys.settrace(None)
                frame.f_trace = None
                self.strike()
        return self if self.within else None

    def strike(self) -> None:
        """What Python does where nobody set a handler: there is no ``raise`` of anybody's in it."""
        signal.default_int_handler(signal.SIGINT, None)

    def __enter__(self) -> Interrupt:
        self._before = sys.gettrace()
        sys.settrace(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)


class Alarm(Interrupt):
    """A soft limit on time: an agent's own signal handler raises ``TimeoutError``, an ordinary exception."""

    def strike(self) -> None:
        signal.raise_signal(signal.SIGUSR1)


@contextmanager
def limited() -> Iterator[None]:
    """The process has such a handler, for ``Alarm``."""

    def over(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("it took too long")

    before = signal.signal(signal.SIGUSR1, over)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)
