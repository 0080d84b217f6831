"""A dict whose objects are made when somebody looks at them.

A hook process brings back what a policy knows of a turn's thousand calls, and looks at one of them. To make all of
them costs it 2.5 of 28 ms.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any


class Later(dict):  # type: ignore[type-arg]
    """Objects of the class *name*, which *make* makes of their *rows*. In all else a dict as any."""

    __slots__ = ("_make", "name")

    def __init__(self, name: str, rows: dict[Any, bytes], make: Callable[[bytes], Any]) -> None:
        super().__init__(rows)
        self.name = name
        self._make = make

    def untouched(self) -> Iterable[tuple[Any, Any]]:
        """The items, with the row of each object that was not made yet."""
        return super().items()

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        if type(value) is bytes:
            value = self[key] = self._make(value)
        return value

    def get(self, key: Any, default: Any = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401 - this is what it would call

    def __iter__(self) -> Iterator[Any]:  # so that whatever copies a dict asks for its items
        return super().__iter__()

    def values(self) -> list[Any]:  # type: ignore[override]
        return [self[key] for key in self]

    def items(self) -> list[tuple[Any, Any]]:  # type: ignore[override]
        return [(key, self[key]) for key in self]

    def pop(self, key: Any, *default: Any) -> Any:
        self.get(key)
        return super().pop(key, *default)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        self.get(key)
        return super().setdefault(key, default)

    def popitem(self) -> tuple[Any, Any]:
        self.values()
        return super().popitem()

    def __eq__(self, other: object) -> bool:
        return dict(self) == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)
