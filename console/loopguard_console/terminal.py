"""The terminal under the console: is there one, take it back from a pipe, give it back when asked to end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable

from loopguard_console.errors import Refused

#: Signals that end a program in a terminal: somebody ends it, or closes the window.
ENDING = (signal.SIGTERM, signal.SIGHUP)


def needs_terminal() -> None:
    """Raises ``Refused`` where there is no terminal to draw on."""
    if not (
        sys.__stdin__ and sys.__stdin__.isatty() and sys.__stderr__ and sys.__stderr__.isatty()
    ):
        raise Refused(
            "the console needs a terminal; sessions, show, pending and status work without one"
        )


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


def on_ending(then: Callable[[int], None]) -> None:
    """Call *then* with the exit code when a signal asks the program to end, inside the running loop.

    Unasked, a signal would leave the terminal as the console uses it: no echo, no cursor, mouse on.
    """
    loop = asyncio.get_running_loop()
    for number in ENDING:
        loop.add_signal_handler(number, then, 128 + number)
