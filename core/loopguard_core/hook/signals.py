"""What ends a hook before it has its answer: the host's limit, and whoever stops the process.

Both are one exception, raised once at most, wherever the hook is. So it can still answer as configured.
"""

from __future__ import annotations

# The module below ``signal``, which makes enumerations first.
import _signal  # type: ignore[import-not-found]
import os

from loopguard_core.clock import hurry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The host's limit is a timer's signal; with the others the host, a shell or a person stops the process.
_TIMER = getattr(_signal, "SIGALRM", 0)
_STOPS = tuple(
    number for name in ("SIGTERM", "SIGINT", "SIGHUP") if (number := getattr(_signal, name, 0))
)


class CutShort(BaseException):
    """The hook has to end. Not an ``Exception``: nothing on the way may take it for its own.

    ``signal`` is the number of the signal that stopped the process, 0 where its time is over.
    """

    def __init__(self, signal: int) -> None:
        self.signal = signal


def watch(seconds: float) -> None:
    """Raise ``CutShort`` in *seconds*, or when the process is stopped; not by a signal that it was told to ignore.

    A host may have held the timer's signal back, as a thread pool does; a process that it starts inherits that.
    """
    for number in _STOPS:
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, _cut)
    if _TIMER:
        _signal.signal(_TIMER, _cut)
        _heard()
        _signal.setitimer(_signal.ITIMER_REAL, seconds)


def finish() -> None:
    """What there is to do takes a moment: whoever stops the process waits for it, unless the time is over."""
    for number in _STOPS:
        _signal.signal(number, _signal.SIG_IGN)


def answered(code: int) -> None:
    """There is an answer, which only has to be written: nothing is raised any more.

    A host that does not read it keeps the process no longer than until the time of ``watch`` is over, and gets
    its exit *code* then.
    """
    finish()
    if _TIMER:
        _signal.signal(_TIMER, lambda *_: os._exit(code))


def leave_within(seconds: float, code: int) -> bool:
    """End the process with *code* in *seconds*, wherever it is; False where that cannot be had."""
    if _TIMER:
        _signal.signal(_TIMER, lambda *_: os._exit(code))
        _heard()
        _signal.setitimer(_signal.ITIMER_REAL, seconds)
    return bool(_TIMER)


def _heard() -> None:
    """Let the timer's signal through."""
    if mask := getattr(_signal, "pthread_sigmask", None):
        mask(_signal.SIG_UNBLOCK, (_TIMER,))


def _cut(number: int, frame: Any) -> None:
    for each in (*_STOPS, *filter(None, (_TIMER,))):
        _signal.signal(each, _signal.SIG_IGN)
    if number == _TIMER:
        hurry()
    raise CutShort(0 if number == _TIMER else number)
