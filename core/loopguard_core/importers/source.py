"""Where a transcript comes from: a file, a pipe, gzip or zstandard, lines or one document."""

from __future__ import annotations

import io
import sys
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import cast

from loopguard_core.events import dump, load
from loopguard_core.importers.compressed import decompressed
from loopguard_core.importers.database import tables
from loopguard_core.importers.folder import Joined, event_files
from loopguard_core.importers.head import Head, documents_in, first_records, lines_by_name
from loopguard_core.importers.marked import is_marked, marked
from loopguard_core.importers.reading import parser
from loopguard_core.importers.report import Report, Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO, Any

_HEAD_LINES = 20
_OTHER_LINES = 200
_HEAD_BYTES = 262_144
#: so many lines are looked at however long they are: one huge record says little of a format
_HEAD_LEAST = 4
_SQLITE = b"SQLite format 3\0"
#: bytes that are read at a time
_CHUNK = 262_144


class Source:
    """One input that is read once, from the front. ``head`` is read on opening.

    Raises ``Unreadable`` where it is missing, empty, a folder, or not text.
    """

    def __init__(
        self, stream: IO[bytes], place: str, path: Path | None = None, name: str = ""
    ) -> None:
        self.place = place
        self.path = path
        self._name = name or (path.name if path else place)
        self._raw = stream
        self._stream, self._inflated = decompressed(stream, place)
        self._lines: list[bytes] = []
        self._ended = False
        self._events: Iterator[bytes] | None = None
        self._documents: list[Any] | None = None
        self.head = self._look()

    @classmethod
    def open(cls, path: Path) -> Source:
        """The file at *path*, or a folder that holds one event a file."""
        if path.is_dir() and (files := event_files(path)):
            above = path.parent.name if path.name == "events" else path.name
            joined = cast("IO[bytes]", io.BufferedReader(Joined(files)))
            return cls(joined, str(path), None, f"{above}.jsonl")
        try:
            stream = path.open("rb", buffering=_CHUNK)
        except FileNotFoundError:
            raise Unreadable(f"{path}: no such file") from None
        except IsADirectoryError:
            raise Unreadable(f"{path}: a folder, not a file") from None
        except OSError as error:
            raise Unreadable(f"{path}: cannot be opened: {error.strerror}") from None
        try:
            return cls(stream, str(path), path)
        except BaseException:
            stream.close()
            raise

    @classmethod
    def stdin(cls) -> Source:
        """What is piped in."""
        return cls(sys.stdin.buffer, "stdin")

    @property
    def size(self) -> int | None:
        """The size in bytes on disk, None where it is a pipe."""
        return self.path.stat().st_size if self.path is not None else None

    @property
    def position(self) -> int:
        """How many bytes were taken from the disk so far, read-ahead included."""
        return self._raw.tell() if self.path is not None and not self._raw.closed else 0

    @property
    def stem(self) -> str:
        """The file's name without its endings."""
        name = self._name
        for ending in (".gz", ".zst", ".jsonl", ".ndjson", ".json", ".traj", ".eval"):
            name = name.removesuffix(ending)
        return name or "recording"

    def name_session(self, *beginning: object) -> str:
        """A session id for formats that have none: the file's name and a digest of its *beginning*.

        That is the first line, or what an importer gives that stays as it is while the file grows.
        """
        first = self._lines[0] if self._lines else b""
        if self._documents:
            first = dump(beginning or self._documents[0])[:100_000].encode()
        return f"{self.stem}-{blake2b(first, digest_size=4).hexdigest()}"

    def records(self, report: Report) -> Iterator[tuple[int, Any]]:
        """Each line's JSON value with its line number. Bad lines are counted in *report*."""
        if self._documents is not None:
            yield from enumerate(self._documents, 1)
            return
        number = 0
        parse = parser()
        for line in self._all_lines(report):
            number += 1
            report.lines = number
            try:
                value = parse(line)
            except ValueError:
                value = self._reread(line, number, report)
            except RecursionError:
                report.bad(number, "nested too deeply")
                continue
            if value is not _NOTHING:
                yield number, value

    def document(self) -> Any:
        """The one JSON document, or the list of those that follow each other."""
        documents = self._documents if self._documents is not None else self.head.records
        return documents[0] if len(documents) == 1 else documents

    def seekable(self) -> IO[bytes]:
        """The whole input as a file that can be read in any order."""
        if self.path is not None and self._inflated is None:
            self._raw.seek(0)
            return self._raw
        return io.BytesIO(b"".join(self._lines) + self._stream.read())

    def close(self) -> None:
        """Let go of the file."""
        if self.path is not None:
            self._stream.close()
            self._raw.close()

    # -- reading -----------------------------------------------------------------------------------

    def _next(self) -> bytes:
        try:
            return self._stream.readline()
        except OSError as error:
            raise Unreadable(f"{self.place}: cannot be read: {error}") from None

    @property
    def cut(self) -> bool:
        """True where compressed data ended before its end."""
        return self._inflated is not None and self._inflated.cut

    def _all_lines(self, report: Report) -> Iterator[bytes]:
        head, self._lines = self._lines, []
        yield from head
        if not self._ended:
            try:
                yield from self._events or self._stream
            except OSError as error:
                raise Unreadable(f"{self.place}: cannot be read: {error}") from None
        if self.cut:
            report.note("the compressed data ends early; what came before was read")

    def _reread(self, line: bytes, number: int, report: Report) -> Any:
        """The value of a line that could not be read at once: a mark before it, bytes that are no UTF-8."""
        text = line.decode("utf-8-sig", "replace").strip("\r\n\0 \t")
        if not text:
            return _NOTHING
        try:
            return load(text)
        except ValueError as error:
            report.cut = report.cut or not line.endswith(b"\n")
            report.bad(number, f"not JSON: {error}")
            return _NOTHING

    def _look(self) -> Head:
        name = self._name
        first = self._next()
        while first and not first.strip(b"\0 \t\r\n"):
            self._lines.append(first)
            first = self._next()
        if not first and self.cut:
            raise Unreadable(f"{self.place}: the compressed data ends early, before its first line")
        if not first:
            raise Unreadable(f"{self.place}: empty, there is nothing to open")
        if first.startswith((b"PK\x03\x04", _SQLITE)):
            self._lines.append(first)
            if first[:1] == b"P":
                return Head("zip", name, first[:64], [])
            return Head("sqlite", name, first[:64], [], self._tables())
        if first[:2] in (b"\xff\xfe", b"\xfe\xff"):
            text = (first + self._stream.read()).decode("utf-16", "replace")
            self._stream = io.BytesIO(text.encode("utf-8", "replace"))
            first = self._next()
        if b"\0" in first[:4096]:
            raise Unreadable(f"{self.place}: binary data, not a transcript")
        self._lines.append(first)
        read = len(first)
        while len(self._lines) < (self._enough() if read < _HEAD_BYTES else _HEAD_LEAST):
            line = self._next()
            if not line:
                self._ended = True
                break
            self._lines.append(line)
            read += len(line)
        if is_marked(self._lines):
            self._unwrap()
        return self._classify(name)

    def _enough(self) -> int:
        """How many lines tell what it is; more where there is only other output yet."""
        begun = any(line.startswith((b"{", b"[")) for line in self._lines)
        return _HEAD_LINES if begun else _OTHER_LINES

    def _unwrap(self) -> None:
        """Read on only what stands behind the marks."""
        opening, self._lines = self._lines, []
        self._events = marked(chain(opening, [] if self._ended else self._stream))
        self._lines = list(islice(self._events, _HEAD_LINES))
        self._ended = len(self._lines) < _HEAD_LINES

    def _tables(self) -> frozenset[str]:
        if self.path is None or self._inflated is not None:
            raise Unreadable(
                f"{self.place}: a SQLite database has to be a file of its own; name it"
            )
        found = tables(self.path)
        if {"event", "session", "payload"} <= found:
            raise Unreadable(
                f"{self.place}: an event store; give it with --store and name one of its sessions"
            )
        return found

    def _classify(self, name: str) -> Head:
        raw = b"".join(self._lines)[:_HEAD_BYTES]
        records = first_records(self._lines, name, self._ended)
        if records is not None:
            if not records and not lines_by_name(name):
                raise Unreadable(f"{self.place}: not a transcript: neither JSON nor JSON Lines")
            return Head("lines", name, raw, records)
        self._documents = self._parse_documents()
        return Head("document", name, raw, self._documents)

    def _parse_documents(self) -> list[Any]:
        text = b"".join(self._all_lines(Report(self.place))).decode("utf-8-sig", "replace")
        self._ended = True
        if self.cut:
            raise Unreadable(f"{self.place}: the compressed data ends early")
        try:
            return documents_in(text)
        except ValueError as error:
            raise Unreadable(f"{self.place}: {error}") from None


_NOTHING = object()
