"""What a long-lived process remembers so that it need not normalise results that nothing is compared with.

Normalised digests are only needed where an answer of a call resembles another one of the same call. So a
process that knows that a call is new, that its answer repeats to the letter, or that it shares little with
the last ones, may leave them out. Where the next one does resemble it, they are delivered with that one.
Lines that were read before need not be read again. The verdicts are the same. A process that only sees a
result, as a hook does, knows nothing of the call and leaves nothing out.
"""

from __future__ import annotations

from operator import eq

from loopguard_core.identity import LONG
from loopguard_core.policies.progress.volatile import edges, pieces, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.identity import Record
    from loopguard_core.policies.progress.volatile import Reading

#: Calls, characters of their answers, failures, and answers of one call that are remembered.
_CALLS, _HELD, _FAILURES, _OUTLINES = 4096, 8_000_000, 256, 2
#: After so many answers in a row that are all unlike, only every second one is compared.
_ROW = 8
#: More pieces, all of them different, are not read.
_READ = 200
#: Pieces that may be new in an answer that is otherwise like one before.
_FEW = 3


class Outline:
    """One answer of a call: its record, and its pieces with their readings where they were read."""

    __slots__ = ("_known", "_text", "long", "read", "record", "unlike")

    def __init__(self, record: Record, text: str) -> None:
        self.record = record
        #: Its digests without volatile parts and without times, once they were taken.
        self.read: tuple[str, str] | None = None
        self.long = False
        #: As far as it is compared; its pieces once it was.
        self._text: str | list[str] = text
        if len(text) > LONG:
            self.long, self._text = True, edges(text)
        self._known: dict[str, Reading | None] | None = None
        #: How many answers in a row, up to this one, were unlike the one before.
        self.unlike = 0

    def found(self) -> list[str]:
        """The pieces in order, split when they are first asked for."""
        found = self._text
        if isinstance(found, str):
            found = self._text = pieces(found)
        return found

    def known(self) -> dict[str, Reading | None]:
        """The readings of the pieces, as far as they were read."""
        if self._known is None:
            self._known = dict.fromkeys(self.found())
        return self._known

    def like(self, other: Outline, *, moved: bool) -> bool:
        """True where at most half of the pieces, or very few, differ from *other*; takes over its readings.

        Pieces are compared in their places, counted from the beginning or from the end. *moved*: also where
        most differ, and yet in nothing but what may be a time or an id.
        """
        mine, known = self.found(), other.found()
        size = len(mine)
        least = size - max(_FEW, size >> 1)
        if least > 0:
            same = [*map(eq, mine, known)]
            if same.count(True) < least:
                if len(known) == size:
                    if not (moved and size <= _READ and _move(mine, known, same)):
                        return False
                elif [*map(eq, reversed(mine), reversed(known))].count(True) < least:
                    return False
        read = other.known()
        self._known = {piece: read.get(piece) for piece in mine}
        return True


def _move(mine: list[str], known: list[str], same: list[bool]) -> bool:
    """True where the last piece that differs, and the one in the middle, first differ in a time or an id."""
    last = len(same) - 1
    while same[last]:
        last -= 1
    return _moves(mine[last], known[last]) and _moves(mine[last >> 1], known[last >> 1])


def _moves(piece: str, other: str) -> bool:
    for word, before in zip(piece.split(), other.split(), strict=False):
        if word != before:
            bare = word.lstrip('([#"')
            return bare[:1].isdecimal() or ":" in word or "-" in word or "=" in word or "." in bare
    return piece == other


class Memory:
    """The calls that this process has seen, with the outlines of their latest answers."""

    __slots__ = ("_failures", "_held", "_old", "_unsure", "seen")

    def __init__(self) -> None:
        #: Each call with the outlines of its latest answers, the oldest first.
        self.seen: dict[str, list[Outline]] = {}
        self._old: dict[str, list[Outline]] = {}
        self._held = 0
        #: Calls that were answered before, though this process does not remember it.
        self._unsure: set[str] = set()
        self._failures: dict[str, Record] = {}

    def asked(self, signature: str) -> None:
        """Remember a request."""
        if signature not in self.seen:
            self.seen[signature] = self._old.get(signature) or []

    def expect(self, signature: str) -> None:
        """The call has a history: an answer must be read even if none is remembered."""
        if not self.seen.get(signature):
            self._unsure.add(signature)

    def answered(
        self, signature: str, outlines: list[Outline] | None, made: Outline, size: int
    ) -> Outline | None:
        """Remember an answer of *size* characters beside the *outlines* of those before it. The outline that it
        is like; itself, where it must be read though none is known that it could be like; None where it need
        not be read."""
        alike: Outline | None = None
        if outlines:
            made.unlike = row = outlines[-1].unlike + 1
            if row < _ROW or not row & 1:
                moved = row == 1 or not row & 3
                for outline in reversed(outlines):
                    if made.like(outline, moved=moved):
                        alike, made.unlike = outline, 0
                        break
                    moved = False
            if len(outlines) >= _OUTLINES:
                del outlines[0]
        elif outlines is None:
            alike, outlines = made, self.seen.setdefault(signature, [])
        elif self._unsure and signature in self._unsure:
            self._unsure.discard(signature)
            alike = made
        outlines.append(made)
        held = self._held = self._held + (size if size < LONG else LONG)
        if held > _HELD or len(self.seen) > _CALLS:
            self._old, self.seen, self._held = self.seen, {signature: outlines}, 0
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
