"""The terminal under the console: is there one, take it back from a pipe, give it back when asked to end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from io import TextIOWrapper
from types import FrameType

from loopguard_console.errors import Refused

#: Signals that end a program in a terminal: somebody ends it, or closes the window. The keys ``^C`` and ``^\\``
#: send none while the console is open, so that interrupt and quit come from elsewhere, too.
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)


def needs_terminal() -> None:
    """Raises ``Refused`` where there is no terminal to draw on; what is drawn goes there as UTF-8.

    A locale without it, as of a bare shell in a container, says nothing of the terminal around it. Python
    would write `\\u2500` for a line, six characters for one, and no pane would stand where it belongs.
    """
    if not (
        sys.__stdin__ and sys.__stdin__.isatty() and sys.__stderr__ and sys.__stderr__.isatty()
    ):
        raise Refused(
            "the console needs a terminal; open --json, sessions, show, pending and status work without one"
        )
    if isinstance(sys.__stderr__, TextIOWrapper):  # on which Textual draws
        sys.__stderr__.reconfigure(encoding="utf-8", errors="backslashreplace")


def keys_from_terminal() -> None:
    """Take keys from the terminal from now on, where standard input was a pipe that has been read.

    Where there is no terminal at all nothing changes.
    """
    if sys.__stdin__ is None or sys.__stdin__.isatty():
        return
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return
    os.dup2(terminal, 0)
    os.close(terminal)


def obey_signals(end: Callable[[int], None], draw: Callable[[], object]) -> None:
    """Call *end* with the exit code when a signal asks the program to end, and *draw* when it goes on, inside
    the running loop.

    Unasked, a signal would leave the terminal as the console uses it: no echo, no cursor, mouse on.
    """
    loop = asyncio.get_running_loop()
    for number in ENDING:
        loop.add_signal_handler(number, end, 128 + number)
    _on_continuing(loop, draw)


def _on_continuing(loop: asyncio.AbstractEventLoop, draw: Callable[[], object]) -> None:
    """Draw anew when the program goes on that somebody stopped from outside.

    Textual takes every continuation for one after ``^Z``, and would begin to read keys a second time: beside
    those that it reads already, of whom one would never end.
    """
    suspend, resume = (signal.getsignal(number) for number in (signal.SIGTSTP, signal.SIGCONT))
    if not (callable(suspend) and callable(resume)):
        return  # another driver, which does neither
    left = False

    def stops(number: int, frame: FrameType | None) -> None:
        nonlocal left
        left = True
        suspend(number, frame)

    def goes_on(number: int, frame: FrameType | None) -> None:
        nonlocal left
        if left:
            left = False
            resume(number, frame)
        else:
            loop.call_soon_threadsafe(draw)

    signal.signal(signal.SIGTSTP, stops)
    signal.signal(signal.SIGCONT, goes_on)
