"""What a host says to its hook: one JSON object, heard as soon as it is complete.

Most hosts write it in one piece and close the pipe. Some end it with a line feed and keep the pipe open, or
write it bit by bit. So nobody waits for the end of the input: behind the brace that closes the object nothing
is read. A call is to be judged whatever is in it, so what can be understood of an object is: bytes that are no UTF-8
become surrogates, and a member that is nested too deeply to be parsed is its own text.
"""

from __future__ import annotations

import os

from loopguard_core.events import TooDeep, load
from loopguard_core.plain_json import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_PIECE = 65_536
_LARGEST = 64_000_000
_MARK = b"\xef\xbb\xbf"  # some write it before UTF-8
_COMMA = 0x2C
#: Members of an object that are told apart before it is complete, and the bytes in which they are.
_MEMBERS = 256
_HEAD = 1_000_000


class HookInput:
    """The object that is read from *descriptor*."""

    __slots__ = ("_descriptor", "_heard", "_outline")

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._heard = bytearray()
        self._outline: _Outline | None = None

    def read(self) -> dict[str, Any]:
        """The object. Waits until it is complete or the input ends.

        Raises ``ValueError`` for what is none, as soon as that is certain.
        """
        piece = self._next()
        if piece[:1] == b"{" and piece.rstrip()[-1:] == b"}":
            try:
                return load(piece)  # type: ignore[no-any-return]
            except ValueError:
                pass  # there is more to come, or more than one, or what takes a second look
        return self._in_pieces(piece)

    def _in_pieces(self, piece: bytes) -> dict[str, Any]:
        start = b""
        while piece and not (start := (start + piece).removeprefix(_MARK).lstrip()):
            piece = self._next()
        while piece and len(start) < len(_MARK) and _MARK.startswith(start):
            piece = self._next()
            start = (start + piece).removeprefix(_MARK).lstrip()
        if not start:
            raise ValueError("there is none")
        if b"\0" in start[:2] or start.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise ValueError("it is not in UTF-8")
        if not start.startswith(b"{"):
            raise ValueError("it is no object")
        heard, outline = self._heard, _Outline()
        self._outline = outline
        piece = start
        while piece:
            heard += piece
            if end := outline.closed(piece):
                return _understood(bytes(heard[:end]), outline.commas)
            if len(heard) > _LARGEST:
                raise ValueError(f"more than {_LARGEST:,} bytes")
            piece = self._next()
        raise ValueError("it ended before the object did")

    def members(self) -> dict[str, Any]:
        """Those members of an object which have come so far, of one that is not complete."""
        if self._outline is None or not self._outline.commas:
            return {}
        *commas, end = self._outline.commas
        try:
            return _understood(bytes(self._heard[:end]) + b"}", commas)
        except ValueError:
            return {}

    def _next(self) -> bytes:
        while True:
            try:
                return os.read(self._descriptor, _PIECE)
            except BlockingIOError:  # the agent made its pipe so
                from select import select  # of few agents

                select([self._descriptor], (), ())


def _understood(raw: bytes, commas: list[int]) -> dict[str, Any]:
    """The object in *raw*, between whose members there are these *commas*. Raises ``ValueError``."""
    try:
        return load(_text(raw))  # type: ignore[no-any-return]
    except TooDeep:
        return dict(_apart(raw, commas))


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _apart(raw: bytes, commas: list[int]) -> Iterator[tuple[str, Any]]:
    """The members of the object in *raw*, each parsed for itself, or its text. Raises ``ValueError``."""
    for start, end in zip((0, *commas), (*commas, len(raw) - 1), strict=True):
        text = _text(raw[start + 1 : end])
        try:
            yield from load(f"{{{text}}}").items()
        except TooDeep:
            name, behind = value_at(text, text.index('"'))
            yield name, text[text.index(":", behind) + 1 :].strip()


class _Outline:
    """The brackets of an object that comes in pieces. ``commas``: where its first complete members end."""

    __slots__ = ("_before", "_depth", "_escaped", "_quoted", "commas")

    def __init__(self) -> None:
        self._before = 0
        self._depth = 0
        self._quoted = False
        self._escaped = False
        self.commas: list[int] = []

    def closed(self, piece: bytes) -> int:
        """Take in the next *piece*: where in all of them the object ends, 0 where it goes on."""
        at, size = 0, len(piece)
        while at < size:
            if self._quoted:
                at = self._unquoted(piece, at)
                continue
            quote = piece.find(b'"', at)
            if end := self._bare(piece, at, size if quote < 0 else quote):
                return end
            if quote < 0:
                break
            self._quoted = True
            at = quote + 1
        self._before += size
        return 0

    def _bare(self, piece: bytes, start: int, end: int) -> int:
        """What stands from *start* to *end*, outside of quotes: where the object ends, 0 where it goes on."""
        closing = piece.count(b"}", start, end) + piece.count(b"]", start, end)
        if self._depth - closing > 1:  # deep in it: neither its end nor a member's
            opening = piece.count(b"{", start, end) + piece.count(b"[", start, end)
            self._depth += opening - closing
            return 0
        for here in range(start, end):
            byte = piece[here]
            if byte in b"{[":
                self._depth += 1
            elif byte in b"}]":
                self._depth -= 1
                if self._depth == 0:
                    return self._before + here + 1
            elif byte == _COMMA and self._depth == 1:
                self._comma(self._before + here)
        return 0

    def _comma(self, place: int) -> None:
        if len(self.commas) < _MEMBERS and place < _HEAD:
            self.commas.append(place)

    def _unquoted(self, piece: bytes, at: int) -> int:
        """Behind the quote that ends the text which goes on *at* there, or behind *piece*."""
        quote = piece.find(b'"', at)
        end = len(piece) if quote < 0 else quote
        plain = piece[at:end].rstrip(b"\\")
        escaped = bool((end - at - len(plain)) % 2)
        if not plain and self._escaped:  # a backslash at the end of the piece before
            escaped = not escaped
        self._escaped = escaped and quote < 0
        self._quoted = escaped or quote < 0
        return end + (quote >= 0)
