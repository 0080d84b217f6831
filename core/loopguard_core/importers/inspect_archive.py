"""Inspect's ``.eval`` files: zip archives whose members may be compressed with zstandard."""

from __future__ import annotations

import struct
import zipfile

from loopguard_core.events import load
from loopguard_core.importers.base import obj
from loopguard_core.importers.compressed import zstandard
from loopguard_core.importers.report import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO, Any

    from loopguard_core.importers.report import Report
    from loopguard_core.importers.source import Source

_ZSTD = 93
#: small, since a few bytes of zstandard can stand for very many
_PIECE = 4_096


def read_archive(source: Source, report: Report) -> tuple[dict[str, Any], Iterator[Any]]:
    """The header, and the samples one after the other. Raises ``Unreadable``."""
    stream = source.seekable()
    try:
        archive = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise Unreadable(f"{source.place}: a zip archive that is damaged or cut off") from None
    names = [i for i in archive.infolist() if i.filename.startswith("samples/")]
    headers = [
        i for i in archive.infolist() if i.filename in ("header.json", "_journal/start.json")
    ]
    if not names and not headers:
        raise Unreadable(f"{source.place}: a zip archive, but not an Inspect log")
    header: dict[str, Any] = {}
    for info in sorted(headers, key=lambda i: i.filename != "header.json")[:1]:
        header = obj(_member(archive, info, stream, source.place, report))
    return header, (_member(archive, info, stream, source.place, report) for info in names)


def _member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, stream: IO[bytes], place: str, report: Report
) -> Any:
    """The JSON in a member of the archive; {} where it is damaged, which is counted."""
    try:
        raw = (
            _zstd_member(info, stream, place) if info.compress_type == _ZSTD else archive.read(info)
        )
        return load(raw)
    except Unreadable:
        raise
    except Exception as error:  # noqa: BLE001 - zip and zstandard each have their own
        report.bad(0, f"{info.filename}: {error}")
        return None


def _zstd_member(info: zipfile.ZipInfo, stream: IO[bytes], place: str) -> bytes:
    """What Python's zipfile cannot read before 3.14: the member's data follow its local header."""
    decompressor = zstandard(place)()
    stream.seek(info.header_offset)
    name, extra = struct.unpack("<26xHH", stream.read(30))
    stream.seek(name + extra, 1)
    parts, left, size = [], info.compress_size, 0
    while left > 0 and (piece := stream.read(min(_PIECE, left))):
        left -= len(piece)
        parts.append(decompressor.decompress(piece))
        size += len(parts[-1])
        if size > info.file_size:
            raise ValueError("larger than the archive says")
    return b"".join(parts)
