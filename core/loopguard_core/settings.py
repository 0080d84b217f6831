"""Reading a table of settings: every wrong value is one line with its file and key."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any


#: Beyond it a whole number may be none that counts as seconds do.
_FAR = 1e300


class ConfigError(ValueError):
    """A configuration that cannot be meant: the file, the key, and what it should be."""


class Reader:
    """One table. Every method takes a key; ``finish`` refuses what nobody took."""

    __slots__ = ("_left", "_prefix", "_seen", "place")

    def __init__(self, raw: Mapping[str, Any], place: str, prefix: str = "") -> None:
        self._left = dict(raw)
        self._seen: list[str] = []
        self._prefix = prefix
        self.place = place

    def error(self, key: str, says: str) -> ConfigError:
        """The error to raise for *key*."""
        place = f"{self.place}: " if self.place else ""
        return ConfigError(f"{place}{self._prefix}{key} {says}")

    def _take(self, key: str) -> Any:
        self._seen.append(key)
        return self._left.pop(key, None)

    def choice(self, key: str, words: Sequence[str], default: str) -> str:
        """One of *words*."""
        value = self._take(key)
        if value is None:
            return default
        if not isinstance(value, str) or value not in words:
            raise self.error(key, f"is one of {', '.join(words)}, not {value!r}")
        return value

    def text(self, key: str, default: str) -> str:
        """A string."""
        value = self._take(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.error(key, f"is a text, not {value!r}")
        return value

    def flag(self, key: str) -> bool | None:
        """true or false; None where it is not given."""
        value = self._take(key)
        if value is not None and not isinstance(value, bool):
            raise self.error(key, f"is true or false, not {value!r}")
        return value

    def seconds(self, key: str, default: float) -> float:
        """A number from 0."""
        value = self.optional_seconds(key)
        return default if value is None else value

    def optional_seconds(self, key: str) -> float | None:
        """A number from 0; None where it is not given."""
        value = self._take(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(key, f"is a number, not {value!r}")
        if not 0 <= value <= _FAR:
            raise self.error(key, f"is a number from 0, not {str(value)[:40]}")
        return float(value)

    def whole(self, key: str, default: int) -> int:
        """A whole number from 1."""
        value = self._take(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.error(key, f"is a whole number from 1, not {value!r}")
        return value

    def names(self, key: str) -> list[str]:
        """A list of strings; empty where it is not given."""
        value = self._take(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(key, f"is a list of texts, not {value!r}")
        return value

    def names_or_name(self, key: str, default: str) -> str | list[str]:
        """A string, or a list of them."""
        value = self._left.get(key)
        return self.names(key) if isinstance(value, list) else self.text(key, default)

    def table(self, key: str) -> Reader:
        """The table under *key*; an empty one where it is not given."""
        value = self._take(key)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise self.error(key, f"is a table, not {value!r}")
        return Reader(value, self.place, f"{self._prefix}{key}.")

    def tables(self) -> Iterator[tuple[str, Reader]]:
        """Every key of this table with the table under it."""
        for key in list(self._left):
            yield key, self.table(key)

    def rest(self) -> dict[str, Any]:
        """Everything that is left, each a table."""
        rest, self._left = self._left, {}
        for key, value in rest.items():
            if not isinstance(value, dict):
                raise self.error(key, f"is a table, not {value!r}")
        return rest

    def finish(self) -> None:
        """Raise ``ConfigError`` for a key that nobody knows."""
        for key in self._left:
            raise self.error(key, f"is not a setting; known here: {', '.join(self._seen)}")
