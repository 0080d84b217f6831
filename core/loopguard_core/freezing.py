"""State of our own classes as plain containers, and back.

What comes out holds only what ``marshal`` carries. Nothing but classes of this package is ever made from
it, and none of their code runs: their attributes are set as they were.
"""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PLAIN = frozenset((str, int, float, bool, type(None), bytes))
_PACKAGE = "loopguard_core."
_classes: dict[str, tuple[Any, tuple[str, ...]]] = {}


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
        return {k: v if type(v) in _PLAIN else freeze(v) for k, v in value.items()}
    if kind is tuple or kind is list or kind is set or kind is frozenset:
        return kind([v if type(v) in _PLAIN else freeze(v) for v in value])
    if kind is deque:
        return (..., "deque", value.maxlen, [freeze(item) for item in value])
    name = f"{kind.__module__}:{kind.__qualname__}"
    if not name.startswith(_PACKAGE):
        raise Unfreezable(name)
    if isinstance(value, int):
        return (..., name, int(value))
    slots = _class(name)[1]
    if slots:
        return (..., name, tuple([freeze(getattr(value, slot)) for slot in slots]))
    return (..., name, attributes(value))


def attributes(value: Any, *, private: bool = False) -> dict[str, Any]:
    """The frozen attributes of an object; with *private* only those that begin with an underscore."""
    return {
        name: freeze(item)
        for name, item in vars(value).items()
        if name.startswith("_") or not private
    }


def thaw(frozen: Any) -> Any:
    """What ``freeze`` was given. Raises ``Unfreezable`` for what it cannot have made."""
    kind = type(frozen)
    if kind in _PLAIN:
        return frozen
    if kind is dict:
        return {k: v if type(v) in _PLAIN else thaw(v) for k, v in frozen.items()}
    if kind is tuple and frozen[:1] == (...,):
        return _object(*frozen[1:])
    if kind is tuple or kind is list or kind is set or kind is frozenset:
        return kind([v if type(v) in _PLAIN else thaw(v) for v in frozen])
    raise Unfreezable(kind.__qualname__)


def _object(name: str, state: Any, items: Any = ()) -> Any:
    if name == "deque":
        return deque([thaw(item) for item in items], state)
    made, slots = _class(name)
    if issubclass(made, int):
        return made(state)
    value = made.__new__(made)
    if slots:
        for slot, item in zip(slots, state, strict=True):
            setattr(value, slot, item if type(item) in _PLAIN else thaw(item))
    else:
        set_attributes(value, state)
    return value


def set_attributes(value: Any, frozen: dict[str, Any]) -> None:
    """Give *value* the attributes that ``attributes`` took."""
    for name, item in frozen.items():
        setattr(value, name, thaw(item))


def _class(name: str) -> tuple[Any, tuple[str, ...]]:
    """A class of ours by its name, and its slots where all of its state is in them."""
    known = _classes.get(name)
    if known is not None:
        return known
    module, _, qualname = name.partition(":")
    kind = None
    if module.startswith(_PACKAGE):
        kind = getattr(__import__(module, fromlist=("",)), qualname, None)
    if not isinstance(kind, type) or kind.__module__ != module:
        raise Unfreezable(name)
    slots: list[str] = []
    if not kind.__dictoffset__:
        for base in kind.__mro__:
            own = base.__dict__.get("__slots__", ())
            slots += [own] if isinstance(own, str) else own
    found = _classes[name] = (kind, tuple(slots))
    return found
