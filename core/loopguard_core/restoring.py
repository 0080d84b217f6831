"""Arguments that a human changed, with the secrets back in that the log never held.

A person sees a marker where a secret stood, and leaves it standing. The agent, which has the original
arguments in memory, knows what each marker stands for.
"""

from __future__ import annotations

from loopguard_core.events import dump, load
from loopguard_core.redact import MARK, Redaction, Redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Unknown(Exception):
    """A marker that stands for nothing in the original arguments."""


class _Recalling(Redactor):
    """Remembers what its markers stand for."""

    __slots__ = ("found",)

    def __init__(self, key: bytes, rules: Redaction | None) -> None:
        super().__init__(key, rules)
        self.found: dict[str, str] = {}

    def marker(self, secret: str) -> str:
        mark = super().marker(secret)
        self.found[mark] = _unescaped(secret)
        return mark


def restore(changed: object, original: object, key: bytes, rules: Redaction | None) -> Any:
    """*changed* with every marker replaced by what it stands for in *original*.

    Raises ``Unknown`` where a marker stands for something else, so that it is never taken for a value.
    """
    if MARK not in dump(changed):
        return changed
    recalling = _Recalling(key, rules)
    recalling(dump(original))
    restored = _walk(changed, recalling.found)
    if MARK in dump(restored):
        raise Unknown("the arguments hold a secret that the log did not store")
    return restored


def holds_new_secret(changed: object) -> bool:
    """True where *changed* holds what the log would not store, beside markers that stand there already."""
    text = dump(changed)
    return Redactor()(text) is not text


def _walk(value: Any, found: dict[str, str]) -> Any:
    if isinstance(value, str):
        if MARK in value:
            for mark, secret in found.items():
                value = value.replace(mark, secret)
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
