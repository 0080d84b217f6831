"""What a long-lived process remembers so that it need not normalise results that nothing is compared with.

The fold reads the normalised digests of a result only from the second answer of a call on, and only where
the answer is not one that it had. So a process that knows that a call is new, that its answer repeats to
the letter, or that it shares little with the last ones, may leave them out, and the lines that it read
before need not be read again: the verdicts are the same. A process that only sees a result, as a hook
does, knows nothing of the call and leaves nothing out. After a restart in the middle of a turn a loop whose
answers differ in volatile parts is seen one or two calls later.
"""

from __future__ import annotations

from operator import eq

from loopguard_core.policies.progress.volatile import pieces, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.identity import Record
    from loopguard_core.policies.progress.volatile import Reading

_CALLS, _FAILURES, _OUTLINES = 4096, 256, 2
#: Pieces that may be new in an answer that is otherwise like one before.
_FEW = 3


class Outline:
    """One answer of a call: its record, and its pieces with their readings where they were read."""

    __slots__ = ("_found", "_pieces", "_text", "digest", "record")

    def __init__(self, digest: str, text: str) -> None:
        self.digest = digest
        self.record: Record = {}
        self._text = text
        self._found: list[str] | None = None
        self._pieces: dict[str, Reading | None] | None = None

    def found(self) -> list[str]:
        """The pieces in order, split when they are first asked for."""
        if self._found is None:
            self._found = pieces(self._text)
            self._text = ""
        return self._found

    def known(self) -> dict[str, Reading | None]:
        """The readings of the pieces, as far as they were read."""
        if self._pieces is None:
            self._pieces = dict.fromkeys(self.found())
        return self._pieces

    def like(self, other: Outline) -> bool:
        """True where at most half of the pieces, or very few, differ from *other*; takes over its readings.

        Pieces are compared in their places, counted from the beginning or from the end.
        """
        mine, known = self.found(), other.found()
        size = len(mine)
        least = size - max(_FEW, size >> 1)
        differ = least > 0 and sum(map(eq, mine, known)) < least
        if differ and len(known) != size:
            differ = sum(map(eq, reversed(mine), reversed(known))) < least
        if differ:
            return False
        read = other.known()
        self._pieces = {piece: read.get(piece) for piece in mine}
        return True


class Memory:
    """The calls that this process has seen, with the outlines of their latest answers."""

    __slots__ = ("_failures", "_old", "_seen")

    def __init__(self) -> None:
        self._seen: dict[str, list[Outline]] = {}
        self._old: dict[str, list[Outline]] = {}
        self._failures: dict[str, Record] = {}

    def asked(self, signature: str) -> None:
        """Remember a request."""
        if signature in self._seen:
            return
        if len(self._seen) >= _CALLS:
            self._old, self._seen = self._seen, {}
        self._seen[signature] = self._old.get(signature) or []

    def answer(self, signature: str, digest: str) -> Outline | None:
        """The outline of an answer to the same call with this very text, if it is a recent one."""
        for outline in self._seen.get(signature, ()):
            if outline.digest == digest:
                return outline
        return None

    def answered(self, signature: str, made: Outline) -> bool:
        """Remember an answer; True where it must be read, since it is like one before or none is known."""
        outlines = self._seen.get(signature)
        if outlines is None:
            return True
        alike = False
        for outline in reversed(outlines):
            if made.like(outline):
                alike = True
                break
        if len(outlines) >= _OUTLINES:
            del outlines[0]
        outlines.append(made)
        return alike

    def failure(self, digest: str) -> Record | None:
        """The record of a failure with the same text, where no argument is echoed in it."""
        return self._failures.get(digest)

    def failed(self, digest: str, record: Record) -> None:
        """Remember the record of a failure."""
        if len(self._failures) >= _FAILURES:
            self._failures.clear()
        self._failures[digest] = record


def reading(outline: Outline, *, reads: bool, numbered: bool) -> tuple[str, str]:
    """The pieces of an answer without labelled volatile parts, and without times as well."""
    known, found = outline.known(), outline.found()
    steady: list[str] = []
    timeless: list[str] = []
    for piece in found:
        made = known.get(piece)
        if made is None:
            made = known[piece] = read(piece, reads=reads, numbered=numbered)
        if made[0]:
            steady.append(made[0])
            timeless.append(made[1])
    return "\n".join(steady), "\n".join(timeless)
