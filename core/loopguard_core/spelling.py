"""Canonical text: compact JSON with sorted keys, quickly for what JSON has, somehow for everything else."""

from __future__ import annotations

from loopguard_core.foreign import is_a, unsaid
from loopguard_core.interrupts import pass_on
from loopguard_core.plain_json import quote, writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

write = writer(sort_keys=True)
_comma = ",".join
#: What is written in one way only, beside texts.
_FLAT = frozenset((int, bool, type(None)))


#: Names as they were given -> sorted; how many such sets are kept, and how many characters of one.
_orders: dict[tuple[str, ...], tuple[str, ...]] = {}
_ORDERS, _NAMES = 512, 1_024


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """*names* sorted. The arguments of a tool mostly have the same ones, and after a pause sorting takes long."""
    given = tuple(names)
    found = _orders.get(given)
    if found is None:
        found = tuple(sorted(given))
        if sum(map(len, given)) <= _NAMES:
            if len(_orders) >= _ORDERS:
                _orders.clear()
            _orders[given] = found
    return found


def by_member(value: dict[Any, Any]) -> tuple[str, str, dict[str, str] | None]:
    """An object as canonical text, as JSON in its own order, and its members' canonical texts by name.

    What both texts have in common is written once. The second is empty where a member is more than a text or
    a whole number, and so may be ordered in itself; there are no members where a name is no text. Raises for
    what JSON lacks.
    """
    members: dict[str, str] = {}
    texts: list[str] = []
    flat = True
    for name, inner in value.items():
        if type(name) is not str:
            return write(value), "", None
        if type(inner) is str:
            text = f"{quote(name)}:{quote(inner)}"
        else:
            text = f"{quote(name)}:{write(inner)}"
            flat = flat and type(inner) in _FLAT
        members[name] = text
        texts.append(text)
    ordered, names = texts, in_order(members)
    if names != tuple(members):
        ordered = []
        for name in names:
            ordered.append(members[name])
    text = in_braces(ordered)
    if not flat:
        return text, "", members
    return text, text if ordered is texts else in_braces(texts), members


def in_braces(texts: list[str]) -> str:
    """An object with these members. A list, since ``map`` and its like bring much code that no call has at hand."""
    return f"{{{_comma(texts)}}}"


def member(name: str, value: object) -> str:
    """One member of an object as canonical text. Raises for what JSON lacks."""
    return f"{quote(name)}:{quote(value) if type(value) is str else write(value)}"


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
        if is_a(item, _Text):
            out.append(item.text)
            above.discard(item.closes)
        elif not is_a(item, (dict, list, tuple)):
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
        if is_a(item, dict):
            pairs = sorted(((_key(k), v) for k, v in item.items()), key=lambda pair: pair[0])
            for index, (key, inner) in enumerate(pairs):
                pieces += [_Text(f"{',' if index else '{'}{key}:"), inner]
            return [*(pieces or [_Text("{")]), _Text("}", id(item))]
        for index, inner in enumerate(item):
            pieces += [_Text("," if index else "["), inner]
        return [*(pieces or [_Text("[")]), _Text("]", id(item))]
    except BaseException as error:  # noqa: BLE001 - a foreign mapping may raise anything
        pass_on(error)
        return [_Text(quote(unsaid(item, error)), id(item))]


def _key(key: object) -> str:
    if is_a(key, str):
        return _atom(key)
    if key is None or is_a(key, (bool, int, float)):
        return f'"{_atom(key)}"'
    return quote(_atom(key))


def _atom(item: object) -> str:
    try:
        if is_a(item, str):
            return quote(item)
        if item is None or is_a(item, (bool, float)):
            return write(item)
        if is_a(item, int):
            return str(item) if item.bit_length() < 14_000 else f"{item:#x}"
        return quote(str(item))
    except BaseException as error:  # noqa: BLE001 - a foreign str may raise anything
        pass_on(error)
        return quote(unsaid(item, error))
