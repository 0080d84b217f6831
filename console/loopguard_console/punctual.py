"""Timers that come however busy the machine is.

Textual leaves out what a timer missed. For one that fires once this means never: where the process is held up
for longer than its delay, just as it starts, what it was set for does not happen at all. What the feed brings
would not be taken in, and the screen would stand still.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message_pump import MessagePump

if TYPE_CHECKING:
    from textual.timer import Timer, TimerCallback


class Punctual(MessagePump):
    """What sets timers that fire once; late rather than never."""

    def set_timer(
        self,
        delay: float,
        callback: TimerCallback | None = None,
        *,
        name: str | None = None,
        pause: bool = False,
    ) -> Timer:
        timer = super().set_timer(delay, callback, name=name, pause=pause)
        timer._skip = False  # its task has not begun yet
        return timer
