"""What comes into the guard from outside, at any moment: the agent's own exceptions, which are to reach it."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what stands on it, ``signal``, makes enums of its numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

_OURS = f"{__name__.partition('.')[0]}."


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


def pass_on(error: BaseException) -> None:
    """Raise *error*, which was caught where a foreign object's code may have run, if it is the agent's."""
    if is_the_agents(error) and (isinstance(error, Exception) or not _is_an_objects(error)):
        raise error


def _is_an_objects(error: BaseException) -> bool:
    """Whether *error*, an exit or the like, is a foreign object's own doing.

    What comes from outside comes between two steps of whatever runs then. An object's code says ``raise``, or has
    ``sys.exit`` say it.
    """
    step = error.__traceback__
    if step is None:
        return False
    handlers = _handlers()
    while step.tb_next is not None:
        step = step.tb_next
        if step.tb_frame.f_code in handlers:
            return False
    if str(step.tb_frame.f_globals.get("__name__")).startswith(_OURS):
        return False
    if isinstance(error, SystemExit):
        return True
    try:
        from opcode import opmap
    except (OSError, ImportError):  # no file descriptor left to load it
        return False
    return step.tb_frame.f_code.co_code[step.tb_lasti] == opmap["RAISE_VARARGS"]


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
