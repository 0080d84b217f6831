"""The index of a store in a file: SQLite's full-text search, in a file of its own beside the store.

It can be deleted at any time: it is made of the store alone.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3

from loopguard_core import files
from loopguard_core.clock import monotonic
from loopguard_core.hashing import blake2b
from loopguard_core.store.contract import StoreError, number
from loopguard_core.store.failures import describe
from loopguard_core.store.index import BATCH, CLOSE, OPEN, Hit, Index, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard_core.store.contract import Store

_VERSION = 1
_SUFFIX = "-search"

# what is wrong with a file that is no index: another one takes its place
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
# where nothing can be written, a store is read all the same
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
_TABLES = (
    "CREATE TABLE session (sid INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL)",
    """CREATE TABLE doc (id INTEGER PRIMARY KEY, sid INTEGER NOT NULL, seq INTEGER NOT NULL,
       again INTEGER NOT NULL, digest BLOB NOT NULL, UNIQUE (sid, digest))""",
    """CREATE VIRTUAL TABLE body USING fts5 (text,
       tokenize = "unicode61 remove_diacritics 2 tokenchars '_'")""",
    f"PRAGMA user_version = {_VERSION}",
)


class FileIndex(Index):
    """The index of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._path = f"{store.place}{_SUFFIX}"
        try:
            self._db = self._made()
        except sqlite3.Error as error:
            raise self._failure(error) from None

    def _made(self) -> sqlite3.Connection:
        try:
            return self._open()
        except sqlite3.Error as error:
            if "fts5" in str(error):
                raise StoreError(
                    "searching all sessions needs a SQLite that was built with FTS5"
                ) from None
            if error.sqlite_errorcode & 0xFF not in _DAMAGED:
                raise
        for part in ("-wal", "-shm", ""):  # it is made of the store alone
            with contextlib.suppress(OSError):
                os.unlink(self._path + part)
        return self._open()

    def _failure(self, error: sqlite3.Error) -> StoreError:
        return StoreError(describe(self._path, error, "the search index"))

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._place(), timeout=1.0, isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL").fetchall()
        db.execute("PRAGMA synchronous = OFF")
        if db.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
            db.execute("BEGIN IMMEDIATE")
            if db.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                for statement in _TABLES:
                    db.execute(statement)
            db.execute("COMMIT")
        return db

    def _place(self) -> str:
        """The index's file, there by now; empty for one that is SQLite's own and goes with the connection."""
        try:
            os.close(files.opened(self._path, os.O_RDWR | os.O_CREAT))
        except OSError as error:
            if error.errno in _READ_ONLY:
                return ""
            raise StoreError(
                f"cannot make the search index {self._path}: {error.strerror}; it can be removed"
            ) from None
        wrong = files.odd_database(self._path)
        if wrong:
            raise StoreError(f"the search index cannot be opened: {wrong}")
        return self._path

    # -- keeping up ------------------------------------------------------------------------------

    def update(self, seconds: float = 0.05) -> bool:
        until = monotonic() + seconds
        try:
            known = self._known()
            there = {s.session: s.seq for s in self._store.sessions()}
            for name in known:
                if there.get(name, 0) < known[name]:
                    with _transaction(self._db):
                        self._forget(name)
                    known[name] = 0
            for name, last in there.items():
                while known.get(name, 0) < last:
                    known[name] = self._index(name)
                    if monotonic() > until:
                        return False
        except sqlite3.Error as error:
            raise self._failure(error) from None
        return True

    def forget(self, sessions: Sequence[str], *, again: bool = False) -> None:
        """Take *sessions* out, so that the file does not hold their words any more.

        *again*: they were taken out before; nothing is to be done unless somebody put them back.
        """
        db = self._db
        try:
            if again and self._known().keys().isdisjoint(sessions):
                return
            db.execute("PRAGMA secure_delete = ON")
            with _transaction(db):
                for name in sessions:
                    self._forget(name)
                # else they stay in its trees
                db.execute("INSERT INTO body (body) VALUES ('optimize')")
            db.execute("PRAGMA wal_checkpoint (TRUNCATE)").fetchall()
        except sqlite3.Error as error:
            raise self._failure(error) from None

    def _forget(self, name: str) -> None:
        db = self._db
        found = db.execute("SELECT sid FROM session WHERE name = ?", (name,)).fetchone()
        if found:
            db.execute("DELETE FROM body WHERE rowid IN (SELECT id FROM doc WHERE sid = ?)", found)
            db.execute("DELETE FROM doc WHERE sid = ?", found)
            db.execute("DELETE FROM session WHERE sid = ?", found)

    def _known(self) -> dict[str, int]:
        """The number of the last event that is indexed, by session."""
        return dict(self._db.execute("SELECT name, seq FROM session").fetchall())

    def _index(self, name: str) -> int:
        """Index the next events of one session; the number of the last one."""
        db = self._db
        with _transaction(db):
            db.execute("INSERT OR IGNORE INTO session (name, seq) VALUES (?, 0)", (name,))
            sid, seq = db.execute("SELECT sid, seq FROM session WHERE name = ?", (name,)).fetchone()
            events = self._store.read(name, after=seq, limit=BATCH)
            for event in events:
                text = text_of(event)
                if text:
                    self._add(sid, event.seq, text)
            last = events[-1].seq if events else seq
            db.execute("UPDATE session SET seq = ? WHERE sid = ?", (last, sid))
        return int(last)

    def _add(self, sid: int, seq: int, text: str) -> None:
        digest = blake2b(text.encode("utf-8", "replace"), digest_size=12).digest()
        db = self._db
        again = db.execute(
            "UPDATE doc SET again = again + 1 WHERE sid = ? AND digest = ?", (sid, digest)
        )
        if not again.rowcount:
            doc = db.execute(
                "INSERT INTO doc (sid, seq, again, digest) VALUES (?, ?, 0, ?)", (sid, seq, digest)
            )
            clean = text.encode("utf-8", "replace").decode()
            db.execute("INSERT INTO body (rowid, text) VALUES (?, ?)", (doc.lastrowid, clean))

    # -- asking ----------------------------------------------------------------------------------

    def search(self, words: str, *, session: str = "", limit: int = 100) -> list[Hit]:
        terms = _terms(words)
        if not terms:
            return []
        where, values = "body MATCH ?", [terms]
        if session:
            where += " AND s.name = ?"
            values.append(session)
        try:
            found = self._db.execute(
                f"""SELECT s.name, d.seq, d.again, snippet(body, 0, ?, ?, '…', 16)
                    FROM body JOIN doc AS d ON d.id = body.rowid JOIN session AS s ON s.sid = d.sid
                    WHERE {where} ORDER BY rank LIMIT ?""",
                (OPEN, CLOSE, *values, number(limit)),
            ).fetchall()
        except sqlite3.Error as error:
            raise self._failure(error) from None
        return [Hit(name, seq, again, _parts(text)) for name, seq, again, text in found]

    def close(self) -> None:
        self._db.close()


def forget(store: Store, sessions: Sequence[str], *, again: bool = False) -> None:
    """``FileIndex.forget`` where *store* has an index."""
    if os.path.exists(f"{store.place}{_SUFFIX}"):
        with contextlib.closing(FileIndex(store)) as index:
            index.forget(sessions, again=again)


def _terms(words: str) -> str:
    """*words* in the language of FTS5; nothing in them is an operator there."""
    terms = []
    for n, part in enumerate(words.replace("\0", " ").split('"')):  # SQLite reads as far as a NUL
        inside = [part] if n % 2 else part.split()
        terms += [f'"{term}"*' for term in inside if any(c.isalnum() or c == "_" for c in term)]
    return " AND ".join(terms)


def _parts(snippet: str) -> list[tuple[str, bool]]:
    parts: list[tuple[str, bool]] = []
    for n, piece in enumerate(snippet.split(OPEN)):
        found, _, rest = piece.partition(CLOSE) if n else ("", "", piece)
        parts += [(found, True)] if found else []
        parts += [(rest, False)] if rest else []
    return parts


class _transaction:
    """A write transaction of the index."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, *_: object) -> None:
        self._db.execute("COMMIT" if kind is None else "ROLLBACK")
