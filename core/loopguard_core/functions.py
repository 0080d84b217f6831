"""A function that is guarded: its name, whether it is awaited, and its arguments by name."""

from __future__ import annotations

from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: the flag of a coroutine function's code (``inspect.CO_COROUTINE``)
_COROUTINE = 0x80


def name_of(function: Any) -> str:
    """What *function* is called; where it has no name, what it is."""
    if not hasattr(function, "__name__"):
        function = _unwrapped(function)
    return str(getattr(function, "__name__", type(function).__name__))


def _unwrapped(function: Any) -> Any:
    while isinstance(function, partial):
        function = function.func
    return function


def not_taken(why: object) -> str:
    """What the model gets where the tool does not take the arguments that a human gave."""
    return f"The tool does not take these arguments: {why}. It was not run."


def mark(function: Any, guard: object) -> None:
    """Remember that *function* is what *guard* made."""
    function.__loopguard__ = guard, function


def made_by(function: Any) -> tuple[Any, Any]:
    """The guard that *function* calls already, through ``wraps``, a partial, a method or a ``__call__``, and what it made.

    Both None where there is none.
    """
    inner = _unwrapped(function)
    for where in (inner, type(inner).__call__):
        found = getattr(where, "__loopguard__", None)
        if isinstance(found, tuple):
            return found
    return None, None


def beneath(made: Any) -> Any:
    """The function around which a guard *made* another."""
    return made.__wrapped__


def is_awaited(function: Any) -> bool:
    """True for what is defined by ``async def``."""
    try:
        from inspect import iscoroutinefunction
    except (OSError, ImportError):  # no file descriptor left to load it
        code = getattr(_unwrapped(function), "__code__", None)
        return bool(getattr(code, "co_flags", 0) & _COROUTINE)
    return iscoroutinefunction(function)


class Inputs:
    """How a function's arguments are called, so that the same call looks the same however it is spelled."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        code = getattr(function, "__code__", None)
        names: tuple[str, ...] = ()
        self._defaults: dict[str, Any] = {}
        if code is not None:
            names = code.co_varnames[: code.co_argcount]
            if getattr(function, "__self__", None) is not None:
                names = names[1:]  # a method taken from its object: that is not given with the call
            values = getattr(function, "__defaults__", None) or ()
            self._defaults = dict(zip(names[len(names) - len(values) :], values, strict=True))
            self._defaults |= getattr(function, "__kwdefaults__", None) or {}
        self._own = 1 if names[:1] in (("self",), ("cls",)) else 0
        self._names = names[self._own :]
        left_out = code.co_argcount - len(self._names) if code else 0
        self._positional = max(0, (code.co_posonlyargcount if code else 0) - left_out)

    def named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, defaults filled in; positional ones without a name under ``*``."""
        rest = args[self._own :]
        given = dict(zip(self._names, rest, strict=False))
        found = {**self._defaults, **given, **kwargs}
        if len(rest) > len(self._names):
            found["*"] = list(rest[len(self._names) :])
        return found

    def changed(self, args: tuple[Any, ...], new: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments to call with after a human changed them."""
        named = dict(new) if isinstance(new, dict) else {}
        more = named.pop("*", None)
        first = list(args[: self._own])
        named_first = self._names if more else self._names[: self._positional]
        first += [named.pop(n) for n in named_first if n in named]
        return (*first, *(more or ())), named

    def unfit(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """What the model is told where the function does not take such arguments; empty where it may."""
        try:
            from inspect import signature

            signature(self._function).bind(*args, **kwargs)
        except TypeError as error:
            return not_taken(error)
        except (ValueError, OSError, ImportError):  # it does not say what it takes
            pass
        return ""
