"""Arguments that a human changed, with the secrets back in that the log never held.

A person sees a marker where a secret stood, and leaves it standing. The agent, which has the original
arguments in memory, knows what each marker stands for.
"""

from __future__ import annotations

from loopguard_core.events import dump, load
from loopguard_core.patterns import compiled
from loopguard_core.redaction.redact import MARK, Redaction, Redactor
from loopguard_core.store.rows import to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


#: what a secret that goes wherever it stands is made of, in characters; how many such words are tried
_RUN = r"[A-Za-z0-9+/=_.~!@#$%^&*-]{8,}"
_SHORTEST, _LONGEST, _MOST = 8, 400, 20_000


class Unknown(Exception):
    """A marker that stands for nothing in the original arguments."""


class _Recalling(Redactor):
    """Remembers what its markers stand for."""

    __slots__ = ("found",)

    def __init__(self, key: bytes, rules: Redaction | None) -> None:
        super().__init__(key, rules)
        self.found: dict[str, Any] = {}

    def marker(self, secret: str) -> str:
        mark = super().marker(secret)
        self.found.setdefault(mark, _unescaped(secret))
        return mark

    def numbers(self, value: object) -> None:
        """Let the marker of a number in *value* stand for the number, not for its digits."""
        if isinstance(value, list):
            for inner in value:
                self.numbers(inner)
        elif isinstance(value, dict):
            for inner in value.values():
                self.numbers(inner)
        elif isinstance(value, (int, float)):
            self.found[super().marker(to_json(value))] = value

    def words(self, text: str) -> None:
        """Let the marker of each word in *text* stand for it: one of them may have been a secret elsewhere."""
        tried = 0
        for run in compiled(_RUN).finditer(text):
            at, end = run.span()
            begins = [n for n in range(at, end) if n == at or not text[n - 1].isalnum()]
            ends = [n for n in range(at + 1, end + 1) if n == end or not text[n].isalnum()]
            for begin in begins:
                for stop in ends:
                    if _SHORTEST <= stop - begin <= _LONGEST and tried < _MOST:
                        tried += 1
                        self.marker(text[begin:stop])


def restore(changed: object, original: object, key: bytes, rules: Redaction | None) -> Any:
    """*changed* with every marker replaced by what it stands for in *original*.

    Raises ``Unknown`` where a marker stands for something else, so that it is never taken for a value.
    """
    if MARK not in dump(changed):
        return changed
    recalling = _Recalling(key, rules)
    recalling.numbers(original)
    text = to_json(original)  # as the log has it: a marker is made of the text
    recalling(text)
    restored = _walk(changed, recalling.found)
    if MARK in dump(restored):
        recalling.words(text)
        restored = _walk(changed, recalling.found)
    if MARK in dump(restored):
        raise Unknown("the arguments hold a secret that the log did not store")
    return restored


def holds_new_secret(changed: object) -> bool:
    """True where *changed* holds what the log would not store, beside markers that stand there already."""
    text = dump(changed)
    return Redactor()(text) is not text


def is_marker(stored: object) -> bool:
    """True where nothing but a marker was stored, as of a tool whose arguments never are."""
    return (
        isinstance(stored, str) and stored.startswith(MARK) and stored.find("]") == len(stored) - 1
    )


def _walk(value: Any, found: dict[str, Any]) -> Any:
    if isinstance(value, str):
        if MARK in value:
            if value in found:
                return found[value]
            for mark, secret in found.items():
                value = value.replace(mark, str(secret))
        return value
    if isinstance(value, list):
        return [_walk(item, found) for item in value]
    if isinstance(value, dict):
        return {name: _walk(item, found) for name, item in value.items()}
    return value


def _unescaped(secret: str) -> str:
    """A slice of JSON text as the string that it was in."""
    try:
        return str(load(f'"{secret}"'))
    except ValueError:
        return secret
