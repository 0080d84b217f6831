"""State of our own classes as plain containers, and back.

What comes out holds only what ``marshal`` carries. Nothing but classes of this package is ever made from
it, and none of their code runs: their attributes are set as they were.
"""

from __future__ import annotations

import sys
from collections import deque
from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PLAIN = (str, int, float, bool, type(None), bytes)
_PACKAGE = "loopguard_core."


class Unfreezable(Exception):
    """A value that has no frozen form."""


def freeze(value: Any) -> Any:
    """*value* in plain containers; an object is a tuple that begins with ``...``.

    Raises ``Unfreezable`` for functions, foreign objects and whatever else is no state.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict:
        return {key: freeze(item) for key, item in value.items()}
    if kind is tuple:
        return tuple([freeze(item) for item in value])
    if kind is list:
        return [freeze(item) for item in value]
    if kind is set or kind is frozenset:
        return kind([freeze(item) for item in value])
    if kind is deque:
        return (..., "deque", value.maxlen, [freeze(item) for item in value])
    if not kind.__module__.startswith(_PACKAGE):
        raise Unfreezable(f"{kind.__module__}.{kind.__qualname__}")
    name = f"{kind.__module__}:{kind.__qualname__}"
    if isinstance(value, IntEnum):
        return (..., name, int(value))
    return (..., name, attributes(value))


def attributes(value: Any, *, private: bool = False) -> dict[str, Any]:
    """The frozen attributes of an object; with *private* only those that begin with an underscore."""
    names = [*getattr(value, "__dict__", ())]
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    return {
        name: freeze(getattr(value, name))
        for name in names
        if hasattr(value, name) and (name.startswith("_") or not private)
    }


def thaw(frozen: Any) -> Any:
    """What ``freeze`` was given. Raises ``Unfreezable`` for what it cannot have made."""
    kind = type(frozen)
    if kind in _PLAIN:
        return frozen
    if kind is dict:
        return {key: thaw(item) for key, item in frozen.items()}
    if kind is list:
        return [thaw(item) for item in frozen]
    if kind is set or kind is frozenset:
        return kind([thaw(item) for item in frozen])
    if kind is not tuple:
        raise Unfreezable(kind.__qualname__)
    if frozen[:1] != (...,):
        return tuple([thaw(item) for item in frozen])
    if frozen[1] == "deque":
        return deque([thaw(item) for item in frozen[3]], frozen[2])
    made = _class(frozen[1])
    if issubclass(made, IntEnum):
        return made(frozen[2])
    value = made.__new__(made)
    set_attributes(value, frozen[2])
    return value


def set_attributes(value: Any, frozen: dict[str, Any]) -> None:
    """Give *value* the attributes that ``attributes`` took."""
    for name, item in frozen.items():
        setattr(value, name, thaw(item))


def _class(name: str) -> Any:
    module, _, qualname = name.partition(":")
    found = sys.modules.get(module) if module.startswith(_PACKAGE) else None
    if found is None and module.startswith(_PACKAGE):
        found = __import__(module, fromlist=("",))
    kind = getattr(found, qualname, None)
    if not isinstance(kind, type):
        raise Unfreezable(name)
    return kind
