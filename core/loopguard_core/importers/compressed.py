"""gzip and zstandard, read as far as they go: a cut file gives what came before the cut."""

from __future__ import annotations

import io
import zlib

from loopguard_core.importers.report import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

_CHUNK = 262_144


class Inflated(io.RawIOBase):
    """A compressed stream, decompressed. ``cut`` tells afterwards whether it ended before its end."""

    def __init__(self, stream: IO[bytes], fresh: Callable[[], Any]) -> None:
        self._stream = stream
        self._fresh = fresh
        self._member: Any = None
        self._input = b""
        self._ready = memoryview(b"")
        self.cut = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        while not self._ready and self._more():
            pass
        size = min(len(view), len(self._ready))
        view[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _more(self) -> bool:
        if not self._input:
            self._input = self._stream.read(_CHUNK)
            if not self._input:
                self.cut = self.cut or self._member is not None
                return False
        if self._member is None:
            self._member = self._fresh()
        try:
            self._ready = memoryview(self._member.decompress(self._input))
        except Exception as error:  # noqa: BLE001 - each library has its own; all mean damage
            self._damaged(error)
            return False
        self._input = b""
        if self._member.eof:
            self._input = self._member.unused_data
            self._member = None
        return True

    def _damaged(self, error: Exception) -> None:
        self.cut = True
        self._member = None
        self._stream = io.BytesIO()
        self._input = b""


def decompressed(stream: IO[bytes], place: str) -> tuple[IO[bytes], Inflated | None]:
    """*stream* as it is, or decompressed where it is gzip or zstandard (told by its first bytes)."""
    peekable: Any = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
    magic = peekable.peek(4)[:4]
    inflated = None
    if magic[:2] == b"\x1f\x8b":
        inflated = Inflated(peekable, lambda: zlib.decompressobj(31))
    elif magic == b"\x28\xb5\x2f\xfd":
        inflated = Inflated(peekable, zstandard(place))
    if inflated is None:
        return peekable, None
    return io.BufferedReader(inflated, _CHUNK), inflated


def zstandard(place: str) -> Callable[[], Any]:
    """What makes a zstandard decompressor. Raises ``Unreadable`` where the package is missing."""
    try:
        import zstandard as library
    except ImportError:
        raise Unreadable(
            f"{place}: compressed with zstandard; install the package zstandard to open it"
        ) from None
    return lambda: library.ZstdDecompressor().decompressobj()
