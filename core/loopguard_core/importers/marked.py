"""JSON objects behind a mark, among other output, as ``openhands --headless --json`` prints its events."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MARK = b"--JSON Event--"
#: Lines that an object takes at most; what goes on longer was cut off.
_LONGEST = 1_000_000


def is_marked(opening: list[bytes]) -> bool:
    """True where the mark stands in the first lines of an input."""
    return any(line.strip() == _MARK for line in opening)


def marked(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The objects as one line each. They are printed over many lines, and what is between them is dropped.

    An object that ends in the middle is given as far as it goes, and is no JSON.
    """
    held: list[bytes] | None = None
    for line in lines:
        text = line.strip()
        if text == _MARK:
            if held:
                yield b" ".join(held) + b"\n"
            held = []
        elif held is not None and (held or text.startswith(b"{")):
            held.append(text)
            if line.rstrip() in (b"}", b"{}") or (len(held) == 1 and text.endswith(b"}")):
                yield b" ".join(held) + b"\n"
                held = None
            elif len(held) > _LONGEST:
                held = None
    if held:
        yield b" ".join(held)
