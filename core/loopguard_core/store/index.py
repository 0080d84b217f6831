"""What an index for full-text search is, whatever the engine: what it holds of an event, and what it finds."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from loopguard_core.events import Event

#: Characters of one event that are indexed, and events that are indexed in one go.
INDEXED = 20_000
BATCH = 100
# Marks around what was found, in a snippet: they stand in no text that is indexed.
OPEN, CLOSE = "\x02", "\x03"
_FIELDS = ("tool", "args", "result", "error", "text", "note")
_DEEPEST = 30


class Hit:
    """An event that was found. ``parts``: its text around the words, found and not found in turn.

    ``again``: how many later events of the session hold the very same text.
    """

    __slots__ = ("again", "parts", "seq", "session")

    def __init__(self, session: str, seq: int, again: int, parts: list[tuple[str, bool]]) -> None:
        self.session = session
        self.seq = seq
        self.again = again
        self.parts = parts

    @property
    def text(self) -> str:
        """The text around what was found."""
        return "".join(text for text, _ in self.parts)


class Index:
    """The index of one store. For one thread. Raises ``StoreError``."""

    def update(self, seconds: float = 0.05) -> bool:
        """Index what is new, for about *seconds*, at least a little; True where nothing is left to do."""
        raise NotImplementedError

    def search(self, words: str, *, session: str = "", limit: int = 100) -> list[Hit]:
        """Events that hold all *words*, the best first. ``"several words"`` stand together; a word also
        finds what begins with it. Case and accents do not matter.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the index."""
        raise NotImplementedError


def text_of(event: Event) -> str:
    """What of *event* is searched: the texts in what it says, in order."""
    texts: list[str] = []
    size = 0
    for field in _FIELDS:
        for text in _texts(event.data.get(field), 0):
            texts.append(text)
            size += len(text)
            if size > INDEXED:
                return " ".join(texts)[:INDEXED]
    return " ".join(texts).replace(OPEN, " ").replace(CLOSE, " ")


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value[:INDEXED]
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield str(value)[:100]
    elif isinstance(value, dict) and depth < _DEEPEST:
        for key, inner in value.items():
            yield key
            yield from _texts(inner, depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        for inner in value:
            yield from _texts(inner, depth + 1)
