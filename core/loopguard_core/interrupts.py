"""What comes into the guard from outside, at any moment: the agent's own exceptions, which are to reach it."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what stands on it, ``signal``, makes enums of its numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType


def is_the_agents(error: BaseException) -> bool:
    """Whether *error* is no fault but an interrupt: Ctrl-C, an exit, the end of a task, or whatever a signal's handler raised.

    A soft limit on time is such a handler: it raises an ordinary exception, wherever the process happens to be.
    """
    if not isinstance(error, Exception):
        return True
    codes = None
    step = error.__traceback__
    step = step and step.tb_next  # the first is who caught it
    while step is not None:
        codes = codes or _handlers()
        if step.tb_frame.f_code in codes:
            return True
        step = step.tb_next
    return False


def pass_on(error: Exception) -> None:
    """Raise *error*, which was caught, where it is the agent's."""
    if is_the_agents(error):
        raise error


def _handlers() -> set[CodeType | None]:
    """The code of each signal's handler."""
    known = {_code(_signal.getsignal(n)) for n in range(1, _signal.NSIG)}
    known.discard(None)
    return known


def _code(handler: object) -> CodeType | None:
    """The code that runs first where *handler* is called; None where that is not Python's."""
    if handler is None or isinstance(handler, int):
        return None
    try:
        while (inner := getattr(handler, "func", None)) is not None:  # functools.partial
            handler = inner
        code = getattr(handler, "__code__", None) or getattr(
            type(handler).__call__, "__code__", None
        )
    except Exception:  # noqa: BLE001 - a foreign object may raise anything
        return None
    return code if isinstance(code, type(_code.__code__)) else None
