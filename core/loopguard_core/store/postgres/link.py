"""One connection to PostgreSQL that survives a restart of the server and a fork.

Every call has an end (``connection``), and every error of psycopg becomes a ``StoreError`` for people.
"""

from __future__ import annotations

import os
from _thread import RLock
from _weakref import ref
from typing import Any

import psycopg
from psycopg import errors

from loopguard_core.clock import monotonic
from loopguard_core.store.contract import Denied, Replaced, StoreError
from loopguard_core.store.postgres.connection import Connection, connect
from loopguard_core.store.postgres.failures import failed, lost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Rows = list[tuple[Any, ...]]

#: Seconds that a call may take: to connect, to write one event, to read, and for work on many rows.
CONNECT = 2.0
WRITE = 0.8
READ = 5.0
BULK = 60.0
#: A connection takes as many questions and answers as this, where each may take a caller's patience.
_ROUNDS = 4
#: What the server is told: it gives up a statement that nobody waits for, and a client that fell asleep
#: in a transaction.
_SETTINGS = """
SET statement_timeout = {bulk}; SET lock_timeout = {write};
SET idle_in_transaction_session_timeout = 5000; SET default_transaction_isolation = 'read committed';
SET client_min_messages = error;
SET plan_cache_mode = force_generic_plan"""

_links: list[ref[Link]] = []
#: Connections of the parent, which its child must neither use nor close.
_abandoned: list[psycopg.Connection[Any]] = []


class Link:
    """The connection. Every method may be called from any thread and raises ``StoreError``.

    ``generation`` counts the stores that have answered at this place. *opened* is asked about each new
    connection and gives what names the store behind it. ``patience``: seconds after which any call is given
    up, and nothing is asked a second time; 0 for as long as each sort of work may take.
    """

    def __init__(self, place: str, *, read_only: bool, opened: Callable[[Link], str]) -> None:
        self.place = place
        self.patience = 0.0
        self.read_only = read_only
        self.lock = RLock()
        self.generation = 0
        self.connections = 0
        self.closed = False
        self.told: dict[str, int] = {}
        self._channels: set[str] = set()
        self._opened = opened
        self._db: Connection | None = None
        self._cursor: psycopg.Cursor[Any] | None = None
        self._pid = 0
        self._store = ""
        self._written = 0
        self._deep = 0
        self._opening = False
        _links[:] = [r for r in _links if r() is not None]
        _links.append(ref(self))

    # -- running statements ----------------------------------------------------------------------

    def rows(self, sql: str, values: Sequence[Any] = (), seconds: float = READ) -> Rows:
        """All rows of a query. Outside a transaction it is asked again where the connection was lost.

        *seconds* without a word are too long; a long answer takes what it takes.
        """
        with self.lock:
            try:
                return self._run(sql, values, seconds, long=True).fetchall()
            except psycopg.Error as error:
                if self._deep or self.patience or not self._is_lost(error):
                    raise self.failure(error) from None
            try:
                return self._run(sql, values, seconds, long=True).fetchall()
            except psycopg.Error as error:
                raise self.failure(error) from None

    def write(self, sql: str, values: Sequence[Any] = (), seconds: float = WRITE) -> int:
        """Run one writing statement; how many rows it wrote or gave.

        Raises ``Lost`` where the connection broke meanwhile, so that nobody knows whether it was written,
        ``Replaced`` where another store answers than that which was written to before.
        """
        with self.lock:
            try:
                return self._write(sql, values, seconds).rowcount
            except psycopg.Error as error:
                raise self.failure(error) from None

    def returning(self, sql: str, values: Sequence[Any] = (), seconds: float = WRITE) -> Rows:
        """Run one writing statement that gives rows. Raises ``Lost`` as ``write`` does."""
        with self.lock:
            try:
                return self._write(sql, values, seconds).fetchall()
            except psycopg.Error as error:
                raise self.failure(error) from None

    def many(self, sql: str, values: Sequence[Sequence[Any]], seconds: float = BULK) -> int:
        """Run one writing statement for each of *values*; how many rows were written."""
        with self.lock:
            try:
                db = self._fresh(seconds)
                cursor = db.cursor()
                cursor.executemany(sql, values)
                return cursor.rowcount
            except psycopg.Error as error:
                raise self.failure(error) from None

    def first_rows(
        self, sql: str, limit: int, seconds: float
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The columns and the first *limit* rows of somebody's query. Raises ``psycopg.Error`` as it is."""
        with self.lock:
            db = self._fresh(seconds)
            db.execute(b"BEGIN READ ONLY")
            with psycopg.ServerCursor(db, "asked") as cursor:
                cursor.execute(sql.encode())
                found = cursor.fetchmany(limit)
                return [column.name for column in cursor.description or ()], found

    def script(self, sql: str, seconds: float = BULK) -> None:
        """Run several statements at once, without parameters."""
        with self.lock:
            try:
                self._fresh(seconds).execute(sql.encode(), prepare=False)
            except psycopg.Error as error:
                raise self.failure(error) from None

    def _write(self, sql: str, values: Sequence[Any], seconds: float) -> psycopg.Cursor[Any]:
        self._fresh(seconds)
        if self._written != self.generation:
            before, self._written = self._written, self.generation
            if before:
                raise Replaced(
                    f"the event store {self.place} was replaced; another one is in use from here on"
                )
        return self._run(sql, values, seconds)

    def failure(self, error: psycopg.Error) -> StoreError:
        """*error* as it is told.

        ``Lost`` where the connection is gone, ``Denied`` where it is not allowed, ``Clash`` where a key is taken.
        """
        said = failed(self.place, error)
        if isinstance(error, (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction)):
            return Denied(str(said))
        if isinstance(error, errors.UniqueViolation):
            return Clash(str(said))
        return Lost(str(said)) if self._is_lost(error) else said

    def _is_lost(self, error: psycopg.Error) -> bool:
        """True where the connection is of no use any more, and another one may be."""
        if isinstance(error, errors.InvalidSqlStatementName) and self._db is not None:
            self._db.close()  # it was emptied, and with it what was set and listened to
        return lost(error)

    def _run(
        self, sql: str, values: Sequence[Any], seconds: float, *, long: bool = False
    ) -> psycopg.Cursor[Any]:
        """Run one statement. *long*: *seconds* are for each part of its answer."""
        db = self._fresh(seconds)
        db.silence = db.until - monotonic() if long else 0.0
        assert self._cursor is not None
        return self._cursor.execute(sql, values or None)

    def transaction(self, seconds: float = WRITE) -> _Transaction:
        """Several statements in one transaction, or in the one that is open already."""
        return _Transaction(self, seconds)

    def begin(self, seconds: float) -> None:
        """Open a transaction, or go one deeper into it."""
        if not self._deep:
            self.write("BEGIN", seconds=seconds)
        self._deep += 1

    def end(self, word: str, seconds: float) -> None:
        """``COMMIT`` or ``ROLLBACK``, once the outermost ends."""
        self._deep -= 1
        db = self._db
        if self._deep or db is None or (word == "ROLLBACK" and db.closed):
            return
        if word == "COMMIT":
            self.write(word, seconds=seconds)
        else:
            try:
                db.until = monotonic() + seconds
                db.execute(b"ROLLBACK")
            except psycopg.Error:
                db.close()

    @property
    def in_transaction(self) -> bool:
        """True inside ``transaction``."""
        return self._deep > 0

    # -- the connection --------------------------------------------------------------------------

    def _fresh(self, seconds: float) -> Connection:
        """The connection, ready for a call of *seconds*; a new one where there is none.

        Raises ``StoreError`` where the server is away.
        """
        db = self._db
        if self.closed:
            raise StoreError(f"the event store {self.place} was closed")
        if db is not None and self._pid != os.getpid():
            _abandoned.append(db)
            db = None
        if db is None or db.closed:
            if db is not None and self._deep:
                raise psycopg.OperationalError("the connection was lost in a transaction")
            db = self._reconnect()
        db.silence = 0.0
        db.until = monotonic() + (min(seconds, self.patience) if self.patience else seconds)
        return db

    def _reconnect(self) -> Connection:
        self._db = None
        seconds = min(CONNECT, _ROUNDS * self.patience) if self.patience else CONNECT
        try:
            db = self._db = connect(self.place, seconds)
        except psycopg.Error as error:
            raise failed(self.place, error) from None  # away, and not lost on the way
        self._pid = os.getpid()
        self.connections += 1
        db.add_notify_handler(lambda notify: self._heard(notify.channel))
        self._cursor = (
            db.cursor()
        )  # one for all statements: making one costs as much as packing a row
        settings = _SETTINGS.format(
            bulk=int(BULK * 1000),
            write=int(WRITE * 1000),
        )
        if self.read_only:  # else as the server has it
            settings += "; SET default_transaction_read_only = on"
        db.execute(settings.encode(), prepare=False)
        for channel in self._channels:
            db.execute(f"LISTEN {channel}".encode(), prepare=False)
        if not self._opening:
            self._opening = True
            try:
                store = self._opened(self)
            except BaseException:
                db.close()
                raise
            finally:
                self._opening = False
            if store != self._store:
                self._store = store
                self.generation += 1
        return db

    def _heard(self, channel: str) -> None:
        """Count what was told on *channel*."""
        if channel in self._channels:
            self.told[channel] = self.told.get(channel, 0) + 1

    def open(self) -> None:
        """Connect now. Raises ``StoreError``."""
        with self.lock:
            try:
                self._fresh(CONNECT)
            except psycopg.Error as error:
                raise failed(self.place, error) from None

    def listen(self, channel: str) -> None:
        """Hear of what others tell on *channel*; also on a new connection, where the last one was lost."""
        with self.lock:
            if channel not in self._channels:
                self._run_plain(f"LISTEN {channel}")
                self._channels.add(channel)
            elif self.socket() < 0:
                self.open()

    def unlisten(self, channel: str) -> None:
        """Hear no more of it. Raises ``StoreError``."""
        with self.lock:
            if channel in self._channels:
                self._channels.discard(channel)
                self.told.pop(channel, None)
                if self.socket() >= 0:
                    self._run_plain(f"UNLISTEN {channel}")

    def _run_plain(self, sql: str) -> None:
        """Run what is said once and need not be prepared."""
        try:
            self._fresh(WRITE).execute(sql.encode(), prepare=False)
        except psycopg.Error as error:
            raise self.failure(error) from None

    def hear(self) -> None:
        """Take in what the server has told meanwhile."""
        with self.lock:
            db = self._db
            if db is None or db.closed or self._pid != os.getpid():
                return
            try:
                db.pgconn.consume_input()
                while notify := db.pgconn.notifies():
                    self._heard(notify.relname.decode("utf-8", "replace"))
            except psycopg.Error:
                db.close()

    def socket(self) -> int:
        """The descriptor on which the server tells something; -1 where there is no connection."""
        db = self._db
        if db is None or db.closed or self._pid != os.getpid():
            return -1
        try:
            return int(db.pgconn.socket)
        except psycopg.Error:
            return -1

    def close(self) -> None:
        """Let go of the connection."""
        with self.lock:
            self.closed = True
            db, self._db = self._db, None
            if db is not None and self._pid == os.getpid():
                db.close()


class Lost(StoreError):
    """The connection broke while something was written: it may or may not stand in the store."""


class Clash(StoreError):
    """Somebody else took a key of what was to be written at this very moment: nothing was written."""


class _Transaction:
    __slots__ = ("_link", "_seconds")

    def __init__(self, link: Link, seconds: float) -> None:
        self._link = link
        self._seconds = seconds

    def __enter__(self) -> None:
        self._link.lock.acquire()
        try:
            self._link.begin(self._seconds)
        except BaseException:
            self._link.lock.release()
            raise

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self._link.end("COMMIT" if kind is None else "ROLLBACK", self._seconds)
        finally:
            self._link.lock.release()


def _after_fork() -> None:
    """In a child: a lock that another thread of the parent held would never be free."""
    for known in _links:
        link = known()
        if link is not None:
            link.lock = RLock()
            link._deep = 0


os.register_at_fork(after_in_child=_after_fork)
