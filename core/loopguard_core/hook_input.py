"""What a host says to its hook: one JSON object, heard as soon as it is complete.

Most hosts write it in one piece and close the pipe. Some end it with a line feed and keep the pipe open, or
write it bit by bit. So nobody waits for the end of the input: behind the brace that closes the object nothing
is read.
"""

from __future__ import annotations

import os

from loopguard_core.events import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PIECE = 65_536
_LARGEST = 64_000_000
_MARK = b"\xef\xbb\xbf"  # some write it before UTF-8
_COMMA = 0x2C


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
                return _object(piece)
            except ValueError:
                pass  # there is more to come, or more than one
        return self._in_pieces(piece)

    def _in_pieces(self, piece: bytes) -> dict[str, Any]:
        while piece and not (start := piece.removeprefix(_MARK).lstrip()):
            piece = self._next()
        if not piece:
            raise ValueError("there is none")
        if not start.startswith(b"{"):
            raise ValueError("it is no object")
        heard, outline = self._heard, _Outline()
        self._outline = outline
        piece = start
        while piece:
            heard += piece
            if end := outline.closed(piece):
                return _object(bytes(heard[:end]))
            if len(heard) > _LARGEST:
                raise ValueError(f"more than {_LARGEST:,} bytes")
            piece = self._next()
        raise ValueError("it ended before the object did")

    def members(self) -> dict[str, Any]:
        """Those members of an object which have come so far, of one that is not complete."""
        if self._outline is None or not self._outline.member:
            return {}
        try:
            return _object(bytes(self._heard[: self._outline.member]) + b"}")
        except ValueError:
            return {}

    def _next(self) -> bytes:
        while True:
            try:
                return os.read(self._descriptor, _PIECE)
            except BlockingIOError:  # the agent made its pipe so
                from select import select  # of few agents

                select([self._descriptor], (), ())


def _object(text: bytes) -> dict[str, Any]:
    found: dict[str, Any] = load(text)
    return found


class _Outline:
    """The brackets of an object that comes in pieces. ``member``: where its last complete member ends."""

    __slots__ = ("_before", "_depth", "_escaped", "_quoted", "member")

    def __init__(self) -> None:
        self._before = 0
        self._depth = 0
        self._quoted = False
        self._escaped = False
        self.member = 0

    def closed(self, piece: bytes) -> int:
        """Take in the next *piece*: where in all of them the object ends, 0 where it goes on."""
        at, size = 0, len(piece)
        while at < size:
            if self._quoted:
                at = self._unquoted(piece, at)
                continue
            quote = piece.find(b'"', at)
            for here in range(at, size if quote < 0 else quote):
                byte = piece[here]
                if byte in b"{[":
                    self._depth += 1
                elif byte in b"}]":
                    self._depth -= 1
                    if self._depth == 0:
                        return self._before + here + 1
                elif byte == _COMMA and self._depth == 1:
                    self.member = self._before + here
            if quote < 0:
                break
            self._quoted = True
            at = quote + 1
        self._before += size
        return 0

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
