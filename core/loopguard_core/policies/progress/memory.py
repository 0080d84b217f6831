"""What a long-lived process remembers so that it need not normalise results that nothing is compared with.

The fold reads the normalised digests of a result only from the second answer of a call on, and only where
the answer is not one that it had. So a process that knows that a call is new, that its answer repeats to
the letter, or that it resembles none of the last ones, may leave them out: the verdicts are the same.
A process that has just begun knows nothing and leaves nothing out, as a hook must not.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.identity import Record

_FRESH = 8
_CALLS, _FAILURES, _SKETCHES = 4096, 256, 4
_SMALL, _EDGE = 256, 48

Sketch = tuple[int, str, str, str, str]


class Memory:
    """The calls that this process has seen, with the outlines of their latest answers."""

    __slots__ = ("_failures", "_left", "_old", "_seen")

    def __init__(self) -> None:
        self._left = _FRESH
        self._seen: dict[str, list[Sketch]] = {}
        self._old: dict[str, list[Sketch]] = {}
        self._failures: dict[str, Record] = {}

    def first(self, signature: str) -> bool:
        """Remember a request; True where it is known to be the first of its kind."""
        if signature in self._seen:
            return False
        if signature in self._old:
            self._seen[signature] = self._old[signature]
            return False
        if len(self._seen) >= _CALLS:
            self._old, self._seen = self._seen, {}
        self._seen[signature] = []
        if self._left:
            self._left -= 1
            return False
        return True

    def again(self, signature: str, text: str, digest: str) -> bool:
        """Remember an answer; True where it may be one of the last ones with other volatile parts."""
        sketches = self._seen.get(signature)
        if sketches is None:
            return True
        size = len(text)
        alike = not sketches
        for sketch in sketches:
            if sketch[4] == digest:
                return False
            alike = alike or _alike(sketch, text, size)
        if len(sketches) >= _SKETCHES:
            del sketches[0]
        middle = size >> 1
        sketches.append((size, text[:_EDGE], text[-_EDGE:], text[middle : middle + 32], digest))
        return alike

    def failure(self, digest: str) -> Record | None:
        """The record of a failure with the same text, where no argument is echoed in it."""
        return self._failures.get(digest)

    def failed(self, digest: str, record: Record) -> None:
        """Remember the record of a failure."""
        if len(self._failures) >= _FAILURES:
            self._failures.clear()
        self._failures[digest] = record


def _alike(sketch: Sketch, text: str, size: int) -> bool:
    if size <= _SMALL:
        return True
    if abs(size - sketch[0]) > max(64, size >> 3):
        return False
    return text[:_EDGE] == sketch[1] or text[-_EDGE:] == sketch[2] or sketch[3] in text
