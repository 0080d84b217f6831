"""Following the transcripts of agents that run without a hook: which files, when, and what is new in them.

Transcripts that are only ever added to are followed line by line, each by a thread of its own. Those that
an agent rewrites (one JSON document, a database) are read again when they change, at most a tenth of
the time. Everything is opened for reading alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.foreign import once
from loopguard_core.identity import Digester
from loopguard_core.importers import Stream, Unreadable, open_stream
from loopguard_core.importers.places import Found
from loopguard_core.importers.tail import Tail
from loopguard_core.importers.watched import Left, Watched
from loopguard_core.store.contract import Store, StoreError
from loopguard_core.verdict import Verdict

#: formats whose files are only ever added to
_ADDED_TO = frozenset(("claude-code", "codex"))
_SHARE = 10
#: seconds after which a transcript that nobody writes to is let go, until somebody does
_QUIET = 6 * 3600.0


@dataclass(frozen=True)
class News:
    """Something that happened to a watched session.

    ``what``: ``found`` (it is watched from now on), ``verdict`` (on a call, ``event``), ``left`` (it is
    not watched any more, ``why``) or ``failed`` (``why``, of the file).
    """

    what: str
    path: Path
    session: str = ""
    start: Event | None = None
    event: Event | None = None
    verdict: Verdict | None = None
    why: str = ""


class Watcher:
    """Any number of transcripts, recorded in *store* in mode ``observe``.

    *tell* is called with each ``News``, from any thread, one at a time; *warn*, once, with a line about each match
    function that fails. *since*: transcripts that nobody
    wrote to after this time (seconds since the epoch) are left alone until somebody does.
    """

    def __init__(
        self,
        store: Store,
        config: Config,
        digester: Digester,
        tell: Callable[[News], None],
        warn: Callable[[str], None],
    ) -> None:
        self._store = store
        self._config = config
        self._digester = digester
        self._tell = tell
        self._warn = once(warn)
        self._turn = threading.RLock()
        self._sessions: dict[str, Watched] = {}
        self._files: dict[Path, _Following | _Rereading] = {}
        self._owners: dict[str, Path] = {}
        #: files that are let be as long as they stay as they are: by when they were changed
        self._let_be: dict[Path, float] = {}
        self.failure: StoreError | None = None

    # -- which files -------------------------------------------------------------------------------

    def look(self, found: Iterable[Found], since: float) -> None:
        """Take up what is new among *found*, go on with what grew, let go what is gone."""
        there = {each.path: each for each in found}
        for path, known in list(self._files.items()):
            if path not in there or known.replaced:
                self._let_go(path)
            elif known.quiet:
                self._let_go(path)
                self._let_be[path] = there[path].changed
        for path, each in there.items():
            if path in self._files:
                self._files[path].changed(each.changed, each.size)
            elif each.changed >= since and self._let_be.get(path) != each.changed:
                self._take_up(each, since)

    def _let_go(self, path: Path) -> None:
        self._files.pop(path).close()
        with self._turn:
            self._owners = {s: p for s, p in self._owners.items() if p != path}

    def _take_up(self, found: Found, since: float) -> None:
        try:
            with open_stream(found.path) as stream:
                added_to = stream.importer.name in _ADDED_TO and stream.source.head.kind == "lines"
        except Unreadable as error:
            # an agent may be about to write its first line
            if found.path not in self._let_be and found.size > 4_096:
                self._told(News("failed", found.path, why=str(error)))
            self._let_be[found.path] = found.changed
            return
        follow = _Following if added_to else _Rereading
        self._files[found.path] = follow(self, found, since)

    def settle(self) -> None:
        """Wait until everything that is written by now is read."""
        for each in list(self._files.values()):
            each.settle()

    def close(self) -> None:
        """Let all files go."""
        for each in self._files.values():
            each.close()
        self.settle()

    # -- what is in them ---------------------------------------------------------------------------

    def again(self, path: Path, session: str) -> None:
        """The transcript at *path*, which has *session*, is read from its beginning."""
        with self._turn:
            watched = self._sessions.get(session)
            if watched is not None and self._owners.setdefault(session, path) == path:
                watched.again()

    def knows(self, session: str) -> bool:
        """True where *session* is watched or recorded."""
        return session in self._sessions or self._store.last(session) > 0

    def take(self, path: Path, event: Event) -> None:
        """The next event of a transcript."""
        with self._turn:
            try:
                self._take(path, event)
            except StoreError as error:
                self.failure = error
                raise

    def _take(self, path: Path, event: Event) -> None:
        if self._owners.setdefault(event.session, path) != path:
            return  # a copy of a session that another file has
        watched = self._sessions.get(event.session)
        if watched is None:
            watched = Watched(event.session, self._store, self._config, self._digester, self._warn)
            self._sessions[event.session] = watched
            self._take_one(path, watched, event)
            if not watched.left:
                self._told(News("found", path, event.session, start=event))
        else:
            self._take_one(path, watched, event)

    def _take_one(self, path: Path, watched: Watched, event: Event) -> None:
        try:
            verdict = watched.take(event)
        except Left as left:
            self._told(News("left", path, watched.session, start=watched.start, why=str(left)))
            return
        if verdict is not None:
            self._told(
                News("verdict", path, watched.session, watched.start, event, verdict=verdict)
            )

    def fail(self, path: Path, why: str) -> None:
        """A transcript cannot be read any further."""
        self._told(News("failed", path, why=f"{path}: {why}"))

    def _told(self, news: News) -> None:
        with self._turn:
            self._tell(news)


class _Following:
    """A file that is only ever added to."""

    def __init__(self, watcher: Watcher, found: Found, since: float) -> None:
        self._watcher = watcher
        self._path = found.path
        self._idle = threading.Event()
        self._size = -1
        self._grew = time.monotonic()
        # a subagent's file needs its own path to find what lies beside it
        self._tail = Tail(
            found.path, self._idle.set, alone=not found.path.name.startswith("agent-")
        )
        with open_stream(found.path) as stream:
            self._importer = stream.importer
        self._thread = threading.Thread(target=self._run, name=f"watch {found.path}", daemon=True)
        self._thread.start()

    @property
    def replaced(self) -> bool:
        return self._tail.replaced

    @property
    def quiet(self) -> bool:
        """True where nobody has written to it for long."""
        return time.monotonic() - self._grew > _QUIET

    def changed(self, changed: float, size: int) -> None:
        if size != self._size:
            self._size = size
            self._grew = time.monotonic()
            self._idle.clear()
            self._tail.wake()

    def settle(self) -> None:
        while self._thread.is_alive() and not self._idle.wait(0.2):
            pass

    def close(self) -> None:
        self._tail.close()
        self._thread.join(5)

    def _run(self) -> None:
        met: set[str] = set()
        try:
            stream = Stream(self._tail, self._importer)
            for event in stream:
                if event.session not in met:
                    met.add(event.session)
                    self._watcher.again(self._path, event.session)
                self._watcher.take(self._path, event)
            if not self._tail.closed:
                self._watcher.fail(self._path, "; ".join(stream.report.notes))
        except StoreError:
            pass  # kept by the watcher, which ends
        finally:
            self._idle.set()


class _Rereading:
    """A file that its agent rewrites."""

    def __init__(self, watcher: Watcher, found: Found, since: float) -> None:
        self._watcher = watcher
        self._path = found.path
        # a database has sessions of all times, a file one of when it was written
        self._since = since if found.path.suffix == ".db" else 0.0
        self._seen: tuple[float, int] | None = None
        self._rest_until = 0.0
        self.changed(found.changed, found.size)

    @property
    def replaced(self) -> bool:
        return False

    @property
    def quiet(self) -> bool:
        return False

    def changed(self, changed: float, size: int) -> None:
        now = time.monotonic()
        if (changed, size) == self._seen or now < self._rest_until:
            return
        seen = (changed, size)
        try:
            with open_stream(self._path) as stream:
                for session in _by_session(stream):
                    self._take(session)
        except Unreadable:
            return  # it is being written: the next look sees it whole
        self._seen = seen
        self._rest_until = now + _SHARE * (time.monotonic() - now)

    def _take(self, events: list[Event]) -> None:
        session, last = events[0].session, events[-1].ts
        old = last is not None and last < self._since
        if old and not self._watcher.knows(session):
            return
        self._watcher.again(self._path, session)
        for event in events:
            self._watcher.take(self._path, event)

    def settle(self) -> None:
        return

    def close(self) -> None:
        return


def _by_session(stream: Stream) -> Iterator[list[Event]]:
    sessions: dict[str, list[Event]] = {}
    for event in stream:
        sessions.setdefault(event.session, []).append(event)
    yield from sessions.values()
