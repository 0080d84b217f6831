"""One connection to a SQLite file that survives what happens to files and processes.

Retries a busy file with jitter and gives up well below a second; notices a file that was deleted or
replaced, and a fork; turns every SQLite error into a ``StoreError`` for people.
"""

from __future__ import annotations

import os
from _thread import RLock
from time import perf_counter_ns

from loopguard_core.clock import in_haste
from loopguard_core.interrupts import pass_on
from loopguard_core.store import connecting, links, log
from loopguard_core.store.contract import Replaced, StoreError
from loopguard_core.store.driver import BUSY, code_of, sqlite3
from loopguard_core.store.paths import Alone, file_id, is_there, logs, remove_logs, unlink_logs
from loopguard_core.store.transaction import Transaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from loopguard_core.store.paths import FileId

    Parameters = Sequence[Any] | Mapping[str, Any]

#: How long a busy store is waited for in which nobody writes, in seconds; and after it has once been too long.
PATIENCE = 0.8
IMPATIENCE = 0.05
#: Nanoseconds between two looks at the path of a file whose number of links can be watched.
_LOOK = 50_000_000
#: Bytes of WAL at which a writer writes it back where nobody else does, and after how many writes it looks.
WAL_BOUND = 16_000_000
_LOOK_AFTER = 0x7F


class Link:
    """The connection. Every method may be called from any thread and raises ``StoreError``.

    ``generation`` counts the files that have stood at this path: where it grows, numbers and cursors
    of before mean nothing any more.
    """

    __slots__ = (
        "__weakref__",
        "_anchor",
        "_cursor",
        "_db",
        "_file",
        "_harm",
        "_kept",
        "_left_open",
        "_logs",
        "_looked",
        "_mark",
        "_patience",
        "_pid",
        "_sure_until",
        "_written",
        "closed",
        "create",
        "generation",
        "lock",
        "owner",
        "path",
        "read_only",
        "writes",
    )

    def __init__(self, path: str, *, create: bool, read_only: bool) -> None:
        self.path = path
        self.create = create
        self.read_only = read_only
        self.lock = RLock()
        self.generation = 0
        self.closed = False
        self.writes = 0
        #: Whose transaction is open. One that is nobody's was left behind by an exception.
        self.owner: object = None
        self._db: sqlite3.Connection | None = None
        self._file: FileId = (0, 0)
        self._logs: tuple[FileId, ...] = ()
        self._mark = log.EMPTY
        self._harm = ""
        self._kept = False
        self._left_open = False
        self._anchor = -1
        self._looked = 0
        #: Until then the connection is open, in this process, on the file that was written to before.
        self._sure_until = 0
        self._written = 0
        self._pid = 0
        self._patience = PATIENCE
        links.add(self)
        with self.lock:
            self._open()

    # -- running statements ----------------------------------------------------------------------

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Any]:
        """All rows of a query. No snapshot is held afterwards."""
        with self.lock:
            self._fresh()
            return self._run(sql, parameters).fetchall()

    def write(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one writing statement; the key of the row it inserted, 0 where it changed none.

        Raises ``sqlite3.IntegrityError`` where a constraint says no, ``Replaced`` where the file is
        not the one that was written to before; then nothing was written.
        """
        with self.lock:
            cursor = self._write(sql, parameters)
            return cursor.lastrowid or 0 if cursor.rowcount else 0

    def write_many(self, sql: str, rows: Sequence[Parameters]) -> None:
        """Run one writing statement for each of *rows*, in the transaction that is open. Raises as ``write``."""
        with self.lock:
            db = self._db
            assert db is not None
            try:
                db.executemany(sql, rows)
            except sqlite3.IntegrityError:
                raise
            except sqlite3.Error as error:
                raise self._failed(error) from None

    def insert(self, sql: str, parameters: Parameters, watch: bool = True) -> None:
        """``write`` for the one statement that an agent runs all the time, with no step too many.

        Not *watch*: no look whether the file is still there, since there was one a moment ago.
        """
        try:
            if perf_counter_ns() >= self._sure_until or (
                watch and not os.fstat(self._anchor).st_nlink
            ):
                self.write(sql, parameters)
                return
            self._cursor.execute(sql, parameters)
        except OSError:
            self._anchored()
            raise
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            db = self._db
            assert db is not None
            self._run_again(db, sql, parameters, error)
        self.writes += 1
        if not self.writes & _LOOK_AFTER:
            self.tidy(WAL_BOUND)

    def change(self, sql: str, parameters: Parameters = ()) -> int:
        """The same; how many rows it changed."""
        with self.lock:
            return self._write(sql, parameters).rowcount

    def _write(self, sql: str, parameters: Parameters) -> sqlite3.Cursor:
        self._fresh()
        if self._written != self.generation:
            before, self._written = self._written, self.generation
            if before:
                raise self._replaced()
        cursor = self._run(sql, parameters)
        if self._anchor >= 0 and self.owner is None:
            self._sure_until = self._looked + _LOOK
        self.writes += 1
        if not self.writes & _LOOK_AFTER:
            self.tidy(WAL_BOUND)
        return cursor

    def transaction(self) -> Transaction:
        """Several statements in one write transaction, or in the one that is open already."""
        return Transaction(self)

    def begin(self, owner: Transaction) -> None:
        """Begin a transaction of *owner*, unless one is open already. In turn (``lock``)."""
        if self.owner is None:
            self._fresh()
            self._own(owner)
            self.write("BEGIN IMMEDIATE")

    def _own(self, owner: object) -> None:
        self._sure_until = 0  # until it ends, each statement asks whose it is
        self.owner = owner

    def roll_back(self) -> None:
        """Take back what an open transaction wrote, where there is one."""
        self.owner = None
        if self._db is not None and self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _disown(self) -> None:
        """Take back what stands in a transaction that is nobody's; the next writer is told that it is gone."""
        self._sure_until = 0
        self.roll_back()
        self.generation += 1
        self._left_open = True

    def version(self) -> tuple[int, int, int]:
        """Another value than before where anything may have been written, by whomever."""
        with self.lock:
            version = self.rows("PRAGMA data_version")[0][0]
            return self.generation, version, self.writes

    def _run(self, sql: str, parameters: Parameters) -> sqlite3.Cursor:
        db = self._db
        assert db is not None
        try:
            return db.execute(sql, parameters)
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            return self._run_again(db, sql, parameters, error)

    def _run_again(
        self, db: sqlite3.Connection, sql: str, parameters: Parameters, error: sqlite3.Error
    ) -> sqlite3.Cursor:
        """Try a busy store again for a while, in line with others who found it busy."""
        if isinstance(error, sqlite3.ProgrammingError) and not connecting.is_open(db):
            # An interpreter that ends closes connections that somebody still needs.
            self._drop()
            self._open()
            return self._run(sql, parameters)
        if code_of(error) not in BUSY or db.in_transaction:
            raise self._failed(error) from None
        from loopguard_core.store.queueing import in_line  # only where many write

        try:
            patience = IMPATIENCE if in_haste() else self._patience
            cursor = in_line(self.path, lambda: db.execute(sql, parameters), patience)
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as again:
            if code_of(again) in BUSY:
                self._patience = IMPATIENCE
            raise self._failed(again) from None
        self._patience = PATIENCE
        return cursor

    def _failed(self, error: sqlite3.Error) -> StoreError:
        """What *error* means for a person; a damaged connection is let go, to be opened anew."""
        if code_of(error) not in BUSY:
            links.let_go_of_stale(self)
        if code_of(error) not in BUSY and self._db is not None:
            if not self.read_only and log.void(self.path, self._logs[0], self._mark, self._db):
                self._harm = "cut"
                self._begin_anew()
                self._written = self.generation
                return self._replaced()
            self._drop()
        from loopguard_core.store.failures import describe  # only where something failed

        return StoreError(describe(self.path, error))

    # -- opening ---------------------------------------------------------------------------------

    def _fresh(self) -> None:
        """Have a usable connection to the file that is at the path now."""
        if self.closed:
            raise StoreError(f"the event store {self.path} was closed")
        if self._pid != os.getpid() and self._db is not None:
            _inherited.append(self._db)  # closing it here would touch the parent's locks
            self._db = None
        if self._db is not None:
            if self.owner is None and self._db.in_transaction:
                self._disown()
            if self._same_file():
                return
            self._begin_anew()
        else:
            self._open()

    def _same_file(self) -> bool:
        """True while the open file and its log are those at their paths.

        The number of links tells of a file that was deleted or replaced, at a third of what a look at the paths costs,
        which is left for what was moved away. A log that others cannot find, or that was cut, is as bad as a wrong file.
        """
        now = perf_counter_ns()
        if self._anchor >= 0 and now - self._looked < _LOOK:
            return self._anchored()
        self._anchored()
        if file_id(self.path) != self._file:
            is_there(self.path)  # where nobody may look it is the same as ever
            self._harm = ""
            return False
        self._looked = now
        if self._db is not None and not self._db.in_transaction:
            self._check_version(self._db)
        return self.read_only or self._log_stands()

    def _anchored(self) -> bool:
        """True while the open file has a name. Raises ``StoreError`` where the descriptor that tells so is gone."""
        named = connecting.has_name(self._anchor, self._file)
        if named is None:
            raise self._cut_off()
        return named

    def _cut_off(self) -> StoreError:
        """The program closed what it had not opened, SQLite's descriptors too, which all of a process share: for good."""
        from loopguard_core.store.failures import cut_off  # hardly ever

        if self._db is not None:
            _inherited.append(self._db)
        self._db, self._anchor, self._sure_until, self.owner, self.closed = None, -1, 0, None, True
        return cut_off(self.path)

    def _log_stands(self) -> bool:
        if tuple(map(file_id, logs(self.path))) != self._logs:
            self._harm = "taken away"
            return False
        try:
            mark = log.look(self.path, self._mark, self._db)
        except OSError as error:
            pass_on(error)
            return True  # what cannot be looked at now is looked at again
        if mark is None:
            self._harm = "cut"
            return False
        self._mark = mark
        return True

    def _begin_anew(self) -> None:
        """The file or its log is not what it was: let go of both, and open what is there now."""
        if self._harm:
            try:
                with Alone(self.path):
                    self._mend_log()
                return
            except OSError as error:
                pass_on(error)  # no folder, or no lock: begun anew without what the log held
        self._drop()
        remove_logs(self.path, self._logs)
        self._file = (0, 0)  # its number may be given to the next file
        self._open()

    def _mend_log(self) -> None:
        """Begin another log, once what stands in the old one is in the file; raises ``OSError``.

        Within a process SQLite shares what it knows of a log among all connections, until the last is closed.
        """
        db, known = self._db, self._logs
        self._kept = (
            self._harm == "taken away"
            and db is not None
            and log.save(db, self.path, known[0], self._mark)
        )
        self._drop()
        for other in links.beside(self):
            other.join_in(self._harm, self._kept)
        unlink_logs(self.path, known)
        self._file = (0, 0)
        self._open()

    def is_stale(self) -> bool:
        """Whether its log is not the one that stands beside the file now."""
        return self._db is not None and tuple(map(file_id, logs(self.path))) != self._logs

    def join_in(self, harm: str, kept: bool) -> None:
        """Let go of a log with which something was wrong, unless it is in use: then its user finds out."""
        if not self.lock.acquire(blocking=False):
            return
        try:
            if self._db is not None and not self._db.in_transaction:
                self._drop()
                self._file, self._harm, self._kept = (0, 0), harm, kept
        finally:
            self.lock.release()

    def _replaced(self) -> Replaced:
        """What a writer is told of a store that is not what it was."""
        from loopguard_core.store.failures import replaced  # hardly ever

        harm, self._harm = self._harm, ""
        left_open, self._left_open = self._left_open, False
        return replaced(self.path, harm, self._kept, left_open=left_open)

    def _check_version(self, db: sqlite3.Connection) -> None:
        """Raises ``StoreError`` where a newer program brought the file up to its own date meanwhile."""
        try:
            connecting.check_version(db, self.path)
        except sqlite3.Error as error:
            raise self._failed(error) from None
        except StoreError:
            self._drop()
            raise

    def _open(self) -> None:
        try:
            db = connecting.patiently(
                self.path, create=self.create, read_only=self.read_only, patience=self._patience
            )
        except sqlite3.Error as error:
            raise self._failed(error) from None
        file = file_id(self.path)
        if file != self._file:
            self._file = file
            self.generation += 1
        self._logs = tuple(map(file_id, logs(self.path)))
        self._mark = log.mark(self.path)
        self._anchor = connecting.anchor(self.path, file)
        self._pid = os.getpid()
        self._db = db
        self._cursor = db.cursor()  # making one for each insert costs as much as binding its values

    def tidy(self, size: int = log.WAL_SIZE, *, cut: bool = False) -> None:
        """Write a WAL of which more than *size* bytes are in use back into the file, if nobody is in the way.

        *cut*: so that nothing of it is left to read. Readers hold nothing between reads: what fails now works soon.
        """
        with self.lock:
            try:
                if not self.read_only and log.exceeds(self.path, size):
                    self._looked = 0  # an old log must not get under a new one
                    self._fresh()
                    if self._db is not None and not self._db.in_transaction:
                        log.write_back(self._db, self.path, size, cut=cut)
            except (sqlite3.Error, OSError, StoreError) as error:
                pass_on(error)  # somebody is in the way: later

    def quietly(self, statements: Sequence[str], parameters: Parameters) -> bool:
        """Run *statements*, each with *parameters*, in a transaction of their own; False where that cannot be done.

        Not in a file that took the place of another: whoever writes next has to be told of that first.
        """
        with self.lock:
            try:
                self._fresh()
            except StoreError:
                return False
            db = self._db
            if db is None or self.owner is not None or self._written != self.generation:
                return False
            self._own(self)
            try:
                self._run("BEGIN IMMEDIATE", ())
                for statement in statements:
                    db.execute(statement, parameters)
                db.execute("COMMIT")
            except (sqlite3.Error, StoreError):
                return False
            finally:
                self.roll_back()
            return True

    # -- letting go ------------------------------------------------------------------------------

    def _drop(self) -> None:
        self._sure_until = 0
        if self._anchor >= 0:
            os.close(self._anchor)
            self._anchor = -1
        db, self._db = self._db, None
        if db is not None:
            del self._cursor
            if not self.read_only:
                log.void(self.path, self._logs[0], self._mark)
            try:
                db.close()
            except sqlite3.Error:
                pass  # a file that is gone cannot be closed better than this

    def recover(self) -> None:
        """Let go of what this thread held when it was interrupted: its lock, and an open transaction."""
        with self.lock:
            self.roll_back()
            while self.lock._is_owned():  # type: ignore[attr-defined]
                self.lock.release()
            self.lock.acquire()

    def leave(self) -> None:
        """Let go without closing: the last one to close a file would have to write back its WAL."""
        self.tidy(log.LEFT_BEHIND, cut=True)
        with self.lock:
            self.closed = True

    def close(self) -> None:
        """Let go for good."""
        with self.lock:
            if not self.closed:
                self.tidy(cut=True)
            self.closed = True
            self._drop()
            if self.read_only:
                connecting.sweep(self.path)

    def before_fork(self) -> None:
        """No connection may cross a fork: both sides open their own again."""
        self.lock.acquire()
        self._drop()

    def after_fork(self) -> None:
        self.lock.release()


_inherited: list[sqlite3.Connection] = []
