"""What a foreign object says of itself: its own code may raise anything, and must not reach the agent."""

from __future__ import annotations

from loopguard_core.interrupts import pass_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import isinstance as is_a
    from collections.abc import Callable, Mapping
    from typing import Any

__all__ = [
    "fields_of",
    "is_a",
    "is_a_time",
    "listening",
    "once",
    "raised",
    "text_of",
    "told",
    "unsaid",
    "why",
]

#: a class's name, whatever its own class makes of ``__name__``
_name: Callable[[type], str] = type.__dict__["__name__"].__get__

if not TYPE_CHECKING:

    def is_a(value, kinds):
        """``isinstance`` by what *value* is. What it says of its class, as proxies do of another's, may be anything."""
        return issubclass(type(value), kinds)


def text_of(value: object) -> str:
    """*value* as a plain string, whatever it is; nothing is the empty one. Never raises."""
    if type(value) is str:
        return value
    if value is None:
        return ""
    try:
        return str.__str__(value) if is_a(value, str) else "".join(str(value))
    except BaseException as error:  # noqa: BLE001 - a foreign str may raise anything
        pass_on(error)
        return unsaid(value, error)


def unsaid(value: object, error: BaseException) -> str:
    """What stands for *value*, whose own code raised *error*. Never raises."""
    return f"<{_name(type(value))}: {_name(type(error))}>"


def raised(error: BaseException) -> str:
    """What *error* is and says, for the model. Never raises."""
    return f"{type(error).__name__}: {text_of(error)}"


def told(error: BaseException) -> str:
    """The same on one line, for the person. Never raises."""
    return f"{type(error).__name__}({text_of(error)!r})"


def why(error: Exception) -> str:
    """What went wrong in an *error* of the system or of a module that was loaded, for the person."""
    return (error.strerror if isinstance(error, OSError) else "") or text_of(error)


def is_a_time(value: object) -> bool:
    """Whether *value* can be a number of seconds that something took. NaN is not, either."""
    return isinstance(value, (float, int)) and 0.0 <= value < 1e9


def fields_of(value: Any) -> Mapping[str, Any] | None:
    """*value* as a mapping, also where it is a model with fields; None where it is neither."""
    if value is None or type(value) is dict:
        return value
    try:
        return {text_of(name): said for name, said in dict(value).items()}
    except BaseException as error:  # noqa: BLE001 - a foreign mapping may raise anything
        pass_on(error)
        return None


def once(say: Callable[[str], None]) -> Callable[[str, str], None]:
    """*say* for what comes up again and again: takes what a line is about, and says the first one about it."""
    said: set[str] = set()

    def tell(about: str, line: str) -> None:
        if about not in said:
            said.add(about)
            say(line)

    return tell


def listening(say: Callable[[str], object]) -> Callable[[str], None]:
    """*say*, an author's function, as one that never raises."""

    def tell(line: str) -> None:
        try:
            say(line)
        except Exception as error:  # noqa: BLE001 - nobody can be told that nobody can be told
            pass_on(error)

    return tell
