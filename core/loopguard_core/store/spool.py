"""Events that wait on this machine for a server that is away: a store in a file, emptied in order.

Whoever writes to it writes as to any store; numbers here are its own. Who sends a session (an agent of
this machine, a console, ``forward``) holds a lock meanwhile, so that there is one. An event is forgotten here
once the server is known to have it, and what the server has already is not sent again: an answer that was
lost on the way, and a death in the middle, lose nothing and give nothing twice.
"""

from __future__ import annotations

import os
import zlib
from fcntl import LOCK_EX, LOCK_NB, flock

from loopguard_core import files
from loopguard_core.events import Event
from loopguard_core.redaction.redact import Redaction, Redactor
from loopguard_core.store import rows, schema
from loopguard_core.store.contract import WORDS, Stale, StoreError, Taken
from loopguard_core.store.paths import machine_key, make_directory, spool_file
from loopguard_core.store.sqlite import SqliteStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard_core.store.contract import Store

    Key = tuple[str, float | None, str]

BATCH = 400
#: So many sessions can be sent at the same time.
_SLOTS = 16
_TRIES = 8
#: added to a key it gives one of the same session that no event has
_APART = 1 << (schema.SHIFT - 1)
#: the newest requests of a session among which one is looked for by its call
_RECENT = 50
#: What only people say (``WORDS``, and these) never waits here: whoever could write this file could otherwise
#: have it sent by somebody who may decide.
_ANSWERS = frozenset(("approved", "denied", "modified"))
_MAGIC = b"SQLite format 3\0"
_GONE = "\x1fforgotten:"
#: Letters and digits that nobody mistakes; a name begins with a letter, so that it is no server's number.
_LETTERS = "ABCDEFGHJKMNPQRSTVWXYZ"
_SIGNS = _LETTERS + "0123456789"


class Spool(SqliteStore):
    """The events of this machine that one server has not got yet.

    ``aside``: where a file lies now that stood in its place and could not be read, empty for none.
    """

    aside = ""

    def append(self, event: Event, *, expect: int | None = None) -> int:
        if event.type == "request_opened" and not event.text("request"):
            event.data["request"] = _request_name()
        return super().append(event, expect=expect)

    def backlog(self) -> dict[str, int]:
        """The sessions that have events here, with how many; those that began first, first."""
        found = self._link.rows("SELECT name FROM session ORDER BY id")
        counts: dict[str, int] = {}
        for (name,) in found:
            if name.startswith(_GONE):
                self.forget(name)  # a process died over it
            elif waiting := self.last(name):
                counts[name] = waiting
        return counts

    def alone(self, session: str) -> Alone:
        """The right to send what waits of *session*: a context manager that gives False where others have it."""
        slot = zlib.crc32(session.encode("utf-8", "surrogatepass")) % _SLOTS
        return Alone(f"{self.place}.lock{slot}")

    def drain(
        self, server: Store, session: str, progress: Callable[[int], object] | None = None
    ) -> int:
        """Give *server* what waits of *session*, in order, each once; how many it had not yet.

        For whoever is ``alone`` with it. *progress* is told how many events each step settled. Raises
        ``StoreError`` where either fails; what was sent stays sent.
        """
        after = sent = 0
        sending: _Sending | None = None
        while True:
            page = self.read(session, after=after, limit=BATCH)
            if page:
                if sending is None:
                    sending = _Sending(server, session, _known_upto(page[0]))
                sent += sending.send(page)
                after = page[-1].seq
                if progress is not None:
                    progress(len(page))
            elif after == 0 or self._let_go(session, after):
                return sent

    def _let_go(self, session: str, upto: int) -> bool:
        """Forget *session*, unless more came meanwhile. Atomic, and quick however much it is."""
        gone = f"{_GONE}{os.urandom(8).hex()}"
        with self._link.transaction():
            if self.last(session) != upto:
                return False
            name = rows.column(session)
            sid = self._link.rows("SELECT id FROM session WHERE name = ?", (name,))[0][0]
            self._link.write("UPDATE session SET name = ? WHERE id = ?", (gone, sid))
            # Who writes on after its own last event finds it gone, and so begins the session anew.
            last = (sid << schema.SHIFT) + upto
            self._link.write("UPDATE event SET id = id + ? WHERE id = ?", (_APART, last))
        self.forget(gone)
        return True


class _Sending:
    """Sends the events of one session. *since*: the number after which they can stand on the server.

    What is sent is sent on the condition that nothing was written since the log was looked at. So an event
    that left long ago, was given up, and arrives after all, is either seen here or refused there.
    """

    def __init__(self, server: Store, session: str, since: int) -> None:
        self._server = server
        self._session = session
        self._names: dict[str, str] = {}
        self._there: dict[Key, Event] = {}
        self._last = min(since, server.last(session))
        self._look()

    def send(self, events: list[Event]) -> int:
        """Append those of *events* that the server has not got; how many those are."""
        for _ in range(_TRIES):
            missing = self._missing(events)
            if not missing:
                return 0
            try:
                self._server.extend(missing, expect=self._last)
            except Stale:
                self._look()  # a person, another machine, or a late arrival
            except Taken:
                break
            else:
                self._last += len(missing)
                return len(missing)
        return sum(self._send_one(event) for event in self._missing(events))

    def _look(self) -> None:
        while page := self._server.read(
            self._session, after=self._last, limit=5 * BATCH, payloads=False
        ):
            self._there.update((_key(event), event) for event in page)
            self._last = page[-1].seq

    def _missing(self, events: list[Event]) -> list[Event]:
        missing = []
        for event in events:
            there = self._there.get(_key(event))
            if there is None:
                missing.append(event)
            elif event.type == "request_opened":  # the server gave it a name of its own
                self._names[event.text("request")] = there.text("request")
        for event in missing:
            if event.text("request") and event.type != "request_opened":
                event.data["request"] = self._name(event)
        return [event for event in missing if not _decides(event)]

    def _name(self, event: Event) -> str:
        """What the request is called there: it may have got a name of which the answer was lost."""
        request = event.text("request")
        name = self._names.get(request)
        if name is None:
            name = request
            if self._server.request(request) is None:
                asked = self._server.requests(session=self._session, limit=_RECENT)
                same = [r.request for r in asked if r.call == event.text("call")]
                name = same[-1] if same else request
            self._names[request] = name
        return name

    def _send_one(self, event: Event) -> bool:
        """Send an event by itself: one that is taken is taken, since somebody was faster."""
        for _ in range(_TRIES):
            self._look()
            if _key(event) in self._there:
                return False
            try:
                self._server.append(event, expect=self._last)
            except Stale:
                continue
            except Taken:
                return False  # a person who answered, or a host that asked twice
            self._last += 1
            return True
        raise StoreError(f"the log of {self._session} changes too fast to be added to; try again")


class Alone:
    """A lock file of this machine. Gives True to the one who has it."""

    __slots__ = ("_file", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = -1

    def __enter__(self) -> bool:
        try:
            self._file = files.opened(self._path, os.O_RDWR | os.O_CREAT)
            flock(self._file, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            self._let_go()
        except OSError as error:
            self._let_go()
            raise StoreError(
                f"the lock {self._path} cannot be had: {error.strerror}; mend its permissions, or remove it"
            ) from None
        return self._file >= 0

    def __exit__(self, *_: object) -> None:
        self._let_go()

    def _let_go(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def open_spool(
    place: str,
    *,
    create: bool = True,
    redaction: Redaction | None = None,
    limit: int = rows.LIMIT,
) -> Spool | None:
    """The spool for the server at *place*; None where there is none and *create* is false.

    What is no spool at all is put aside, since an agent must not go without. Raises ``StoreError``.
    """
    path = spool_file(place)
    if not create and not os.path.exists(path):
        return None
    make_directory(place)
    redactor = Redactor(machine_key(place), redaction)
    aside = ""
    try:
        return Spool(path, redactor=redactor, limit=limit)
    except StoreError:
        if not _is_foreign(path):
            raise
        aside = _put_aside(path)
    spool = Spool(path, redactor=redactor, limit=limit)
    spool.aside = aside
    return spool


def _is_foreign(path: str) -> bool:
    """True where *path* is no SQLite file: a disk that failed, a folder, a pipe."""
    try:
        begins = files.read(path, len(_MAGIC), follow=True)
    except files.NotAFile:
        return True
    except OSError:
        return False
    return bool(begins) and begins != _MAGIC


def _put_aside(path: str) -> str:
    """Where *path* lies from now on, with what SQLite keeps beside it. Raises ``StoreError``."""
    aside = f"{path}.damaged-{os.urandom(4).hex()}"
    try:
        for suffix in ("", "-wal", "-shm"):
            if os.path.lexists(path + suffix):
                os.rename(path + suffix, aside + suffix)
    except OSError as error:
        raise StoreError(
            f"{path} is damaged and cannot be moved away: {error.strerror}; move it yourself"
        ) from None
    return aside


def _key(event: Event) -> Key:
    """By what an event is known again on the server: nothing else of its session happened then."""
    return event.type, event.ts, event.text("call")


def _decides(event: Event) -> bool:
    if event.type == "request_resolved":
        return event.text("resolution") in _ANSWERS
    return event.type in WORDS


def _known_upto(event: Event) -> int:
    known = event.data.get(rows.SPOOLED)
    return known if isinstance(known, int) else 0


def _request_name() -> str:
    """A name for a request that no store has given, short enough to be typed."""
    drawn = os.urandom(6)
    return f"R{_LETTERS[drawn[0] % len(_LETTERS)]}" + "".join(
        _SIGNS[byte % len(_SIGNS)] for byte in drawn[1:]
    )
