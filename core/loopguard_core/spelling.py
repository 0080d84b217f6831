"""Canonical text: compact JSON with sorted keys, quickly for what JSON has, somehow for everything else."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SAMPLE = {"b": [1, 2.5, None, True], "a": "\u00e9\n"}


def encoder() -> Callable[[object], str]:
    """A function that writes JSON values and raises for others.

    ``JSONEncoder`` sets up its C part again for each value, which costs more than writing small ones.
    Where that part can be set up once, and writes what it should, it is; it then keeps no list of open
    containers, so a cycle ends in ``RecursionError``.
    """
    slow = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    quote = getattr(json.encoder, "encode_basestring", None)
    try:
        write = make(None, _refuse, quote, None, ":", ",", True, False, True)

        def fast(value: object) -> str:
            return "".join(write(value, 0))

        return fast if fast(_SAMPLE) == slow(_SAMPLE) else slow
    except TypeError:  # no C part, or another one
        return slow


def _refuse(value: object) -> object:
    raise TypeError(f"{type(value).__name__} is not JSON")


_STRING = json.JSONEncoder(ensure_ascii=False).encode


class _Text:
    """A piece of output on the stack; it closes the container with the id *closes*."""

    __slots__ = ("closes", "text")

    def __init__(self, text: str, closes: int = 0) -> None:
        self.text = text
        self.closes = closes


def spell(value: object) -> str:
    """*value* as compact JSON with sorted keys, whatever it holds. Never raises."""
    out: list[str] = []
    stack: list[object] = [value]
    above: set[int] = set()
    while stack:
        item = stack.pop()
        if isinstance(item, _Text):
            out.append(item.text)
            above.discard(item.closes)
        elif not isinstance(item, (dict, list, tuple)):
            out.append(_atom(item))
        elif id(item) in above:
            out.append('"<cycle>"')
        else:
            above.add(id(item))
            stack.extend(reversed(_opened(item)))
    return "".join(out)


def _opened(item: dict[object, object] | list[object] | tuple[object, ...]) -> list[object]:
    pieces: list[object] = []
    try:
        if isinstance(item, dict):
            pairs = sorted(((_key(k), v) for k, v in item.items()), key=lambda pair: pair[0])
            for index, (key, inner) in enumerate(pairs):
                pieces += [_Text(f"{',' if index else '{'}{key}:"), inner]
            return [*(pieces or [_Text("{")]), _Text("}", id(item))]
        for index, inner in enumerate(item):
            pieces += [_Text("," if index else "["), inner]
        return [*(pieces or [_Text("[")]), _Text("]", id(item))]
    except Exception as error:  # noqa: BLE001 - a foreign mapping may raise anything
        return [_Text(_STRING(f"<{type(item).__name__}: {type(error).__name__}>"), id(item))]


def _key(key: object) -> str:
    if isinstance(key, str):
        return _atom(key)
    if key is None or isinstance(key, (bool, int, float)):
        return f'"{_atom(key)}"'
    return _STRING(_atom(key))


def _atom(item: object) -> str:
    try:
        if isinstance(item, str):
            return _STRING(item)
        if item is None or isinstance(item, (bool, float)):
            return json.dumps(item)
        if isinstance(item, int):
            return str(item) if item.bit_length() < 14_000 else f"{item:#x}"
        return _STRING(str(item))
    except Exception as error:  # noqa: BLE001 - a foreign str may raise anything
        return _STRING(f"<{type(item).__name__}: {type(error).__name__}>")
