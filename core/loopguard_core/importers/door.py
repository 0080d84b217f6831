"""The public door: a file, a folder, a glob or a pipe, opened as recordings."""

from __future__ import annotations

import os
from collections import deque
from glob import glob, has_magic
from pathlib import Path

from loopguard_core.importers.base import Closed, Recording
from loopguard_core.importers.beside import Families
from loopguard_core.importers.detect import detect
from loopguard_core.importers.folder import event_files
from loopguard_core.importers.report import Report, Unreadable
from loopguard_core.importers.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from loopguard_core.events import Event
    from loopguard_core.importers.base import Importer

STDIN = "-"


class Stream:
    """The events of all sessions of one input, in the order written, in constant memory.

    ``report`` is complete when the events were read. Close it, or use it as a context manager.
    """

    def __init__(self, source: Source, importer: Importer) -> None:
        self.source = source
        self.importer = importer
        self.report = Report(source.place, importer.name)

    def __iter__(self) -> Iterator[Event]:
        return (event for event in self.read() if not isinstance(event, Closed))

    def read(self) -> Iterator[Event]:
        """The events, and the importer's word when a session is complete.

        A record that an importer is not prepared for ends the reading, and the report says where.
        """
        try:
            yield from self.importer.read(self.source, self.report)
        except (Unreadable, GeneratorExit):
            raise
        except Exception as error:  # noqa: BLE001 - foreign records can be anything
            line = self.report.lines
            self.report.note(f"reading stopped at line {line}: {type(error).__name__}: {error}")

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.source.close()


def open_stream(path: str | PathLike[str], *, format: str = "") -> Stream:
    """One file (``-``: standard input) as a stream of events. Raises ``Unreadable``."""
    source = Source.stdin() if str(path) == STDIN else Source.open(Path(path))
    try:
        return Stream(source, detect(source, format))
    except BaseException:
        source.close()
        raise


def open_recordings(
    path: str | PathLike[str], *, format: str = "", skipped: list[str] | None = None
) -> Iterator[Recording]:
    """The sessions in a file, a folder, a glob or (``-``) standard input, one after the other.

    Each recording's events are read when they are asked for; those of sessions that share the file are
    held until their turn. In a folder or glob, files that are no transcripts go to *skipped*, one line
    each. Raises ``Unreadable`` where nothing can be opened.
    """
    files = find_files(path)
    if files is None:
        yield from _of_stream(open_stream(path, format=format), skipped)
        return
    opened = False
    for file in files:
        try:
            stream = open_stream(file, format=format)
        except Unreadable as error:
            if skipped is not None:
                skipped.append(str(error))
            continue
        opened = True
        try:
            yield from _of_stream(stream, skipped)
        except Unreadable as error:
            if skipped is not None:
                skipped.append(str(error))
    if not opened:
        many = "1 file" if len(files) == 1 else f"{len(files)} files"
        raise Unreadable(f"{path}: no transcript in it ({many} looked at)")


def find_files(path: str | PathLike[str]) -> list[Path] | None:
    """The files that a folder or a glob stands for, sorted; None where *path* is one file.

    Transcripts of subagents that lie beside their parent's are read with it and not listed. A folder
    with one event a file is one transcript.
    """
    text = str(path)
    place = Path(text)
    if text == STDIN or place.is_file():
        return None
    if place.is_dir():
        found = _whole_folders(_below(place))
    elif has_magic(text):
        found = [Path(p) for p in glob(text, recursive=True) if Path(p).is_file()]
        if not found:
            raise Unreadable(f"{text}: no file matches")
    else:
        return None
    families = Families()
    return sorted(p for p in found if not families.is_child(p))


def _below(folder: Path) -> list[Path]:
    """Every file below *folder*; what may not be looked into, or goes meanwhile, is passed over."""
    return [
        path
        for above, _, names in os.walk(folder)
        for path in (Path(above) / name for name in names)
        if path.is_file()
    ]


def _whole_folders(files: list[Path]) -> list[Path]:
    """*files*, and a folder for the events in it."""
    folders = {f for f in {p.parent for p in files} if event_files(f)}
    return [*folders, *(p for p in files if p.parent not in folders)]


def _of_stream(stream: Stream, skipped: list[str] | None) -> Iterator[Recording]:
    nothing = True
    for recording in _Demultiplexer(stream).recordings():
        nothing = False
        yield recording
    if nothing and stream.report.nothing_read:
        raise Unreadable(stream.report.nothing_read)
    if nothing and skipped is not None:
        why = "; ".join(["no session in it yet", *stream.report.lines_for_people()])
        skipped.append(f"{stream.source.place}: {why}")


class _Demultiplexer:
    """Deals the events of one input out to its sessions, reading no further than it must."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._events = stream.read()
        self._queues: dict[str, deque[Event]] = {}
        self._closed: set[str] = set()
        self._new: deque[Recording] = deque()
        self._done = False

    def recordings(self) -> Iterator[Recording]:
        while True:
            while not self._new:
                if not self._pull():
                    return
            yield self._new.popleft()

    def _pull(self) -> bool:
        event = next(self._events, None)
        if event is None:
            self._done = True
            self._stream.source.close()
            return False
        session = event.session
        if isinstance(event, Closed):
            self._closed.add(session)
            return True
        queue = self._queues.get(session)
        if queue is None:
            queue = self._queues[session] = deque()
            stream = self._stream
            self._new.append(
                Recording(event, stream.importer, stream.report, self._session(session))
            )
        queue.append(event)
        return True

    def _session(self, session: str) -> Iterator[Event]:
        queue = self._queues[session]
        while True:
            while queue:
                yield queue.popleft()
            if session in self._closed or self._done or not self._pull():
                return
