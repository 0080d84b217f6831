"""Reading a policy's options: upstream's own names, and one clear error for what cannot be meant."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    T = TypeVar("T")
    Tell = Callable[[str, str], None]

_WORDS = {
    **dict.fromkeys(("1", "true", "yes", "on", "enabled"), True),
    **dict.fromkeys(("0", "false", "no", "off", "disabled"), False),
}


class PolicyError(ValueError):
    """A policy that cannot be made as asked: what is wrong, and where it stands."""

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(f"{where}: {what}" if where else what)
        self.what = what
        self.where = where


class NotLoaded(PolicyError):
    """A function of a person's own that cannot be loaded. ``missing``: the module of it that is not here, if one is."""

    def __init__(self, what: str, where: str, missing: str) -> None:
        super().__init__(what, where)
        self.missing = missing


class Options:
    """The options of one policy. Every ``take_…`` consumes one; ``finish`` refuses what is left over.

    *where* is the place named in errors, for instance ``loopguard.toml, policy hermes``. *tell* tells the person of
    what fails later on: what that is about, and one line.
    """

    __slots__ = ("_known", "_left", "tell", "where")

    def __init__(self, raw: Mapping[str, Any] | None, where: str, tell: Tell | None = None) -> None:
        if raw is not None and not hasattr(raw, "items"):
            raise PolicyError(f"options are a table of names and values, not {raw!r}", where)
        self._left = dict(raw or {})
        self._known: list[str] = []
        self.where = where
        self.tell = tell

    def error(self, what: str) -> PolicyError:
        """The error to raise for a wrong value here."""
        return PolicyError(what, self.where)

    def given(self, name: str) -> bool:
        """True where *name* was given and is not taken yet."""
        return name in self._left

    def take(self, name: str, default: Any = None) -> Any:
        """The raw value of *name*; null counts as not given."""
        self._known.append(name)
        value = self._left.pop(name, None)
        return default if value is None else value

    def take_int(self, name: str, default: int, *, least: int = 1, unit: str = "") -> int:
        """A whole number from *least*; a string of digits counts as one."""
        value = self.take(name, default)
        number = _whole(value)
        if number is None or number < least:
            wanted = f"a whole number from {least}" + (f" ({unit})" if unit else "")
            raise self.error(f"{name} is {wanted}, not {value!r}")
        return number

    def take_bool(self, name: str, default: bool) -> bool:
        """A truth value, or one of the words on/off, yes/no, true/false, enabled/disabled."""
        value = self.take(name, default)
        if isinstance(value, str):
            value = _WORDS.get(value.strip().lower())
        if not isinstance(value, (bool, int)) or value not in (0, 1):
            raise self.error(f"{name} is true or false")
        return bool(value)

    def take_names(self, name: str, default: frozenset[str]) -> frozenset[str]:
        """A list of tool names."""
        value = self.take(name)
        if value is None:
            return default
        if isinstance(value, str) or not _texts(value):
            raise self.error(f"{name} is a list of tool names, not {value!r}")
        return frozenset(value)

    def take_table(self, name: str) -> Options | None:
        """The options inside the table *name*, None where it is not given."""
        value = self.take(name)
        return None if value is None else Options(value, f"{self.where}, {name}")

    def take_tools(self, read: Callable[[Options], T]) -> dict[str, T]:
        """``tools``: a table of options for each tool, read by *read*."""
        table = self.take_table("tools")
        if table is None:
            return {}
        found: dict[str, T] = {}
        for tool, raw in table._left.items():
            inner = Options(raw, f"{table.where}.{tool}")
            found[tool] = read(inner)
            inner.finish()
        return found

    def take_rest(self) -> dict[str, Any]:
        """Everything that is left."""
        rest, self._left = self._left, {}
        return rest

    def finish(self) -> None:
        """Raise ``PolicyError`` for an option nobody knows."""
        for name in self._left:
            known = ", ".join(self._known) or "none"
            raise self.error(f"there is no option {name!r} here; known: {known}")


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and len(value) < 20 and value.strip().isdecimal():
        return int(value)
    return None


def _texts(value: object) -> bool:
    return isinstance(value, (list, tuple, set, frozenset)) and all(
        isinstance(item, str) for item in value
    )
