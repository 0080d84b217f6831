"""Full-text search over all sessions, in a file of its own beside the store.

No agent pays for it: whoever searches brings the index up to date first, a slice of time at a time, by
reading what was appended since. It holds what the store holds, so nothing that was redacted; it can be
deleted at any time.
"""

from __future__ import annotations

import os
import sqlite3
import time

from loopguard_core.hashing import blake2b
from loopguard_core.store.contract import StoreError
from loopguard_core.store.paths import folder_of
from loopguard_core.store.urls import is_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.store.contract import Store

#: Characters of one event that are indexed.
INDEXED = 20_000
_BATCH = 100
_VERSION = 1
_FIELDS = ("tool", "args", "result", "error", "text", "note")
_DEEPEST = 30
# Marks around what was found, in a snippet: they stand in no text that a store gives out.
_OPEN, _CLOSE = "\x02", "\x03"

_TABLES = (
    "CREATE TABLE session (sid INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL)",
    """CREATE TABLE doc (id INTEGER PRIMARY KEY, sid INTEGER NOT NULL, seq INTEGER NOT NULL,
       again INTEGER NOT NULL, digest BLOB NOT NULL, UNIQUE (sid, digest))""",
    """CREATE VIRTUAL TABLE body USING fts5 (text,
       tokenize = "unicode61 remove_diacritics 2 tokenchars '_'")""",
    f"PRAGMA user_version = {_VERSION}",
)


class Hit:
    """An event that was found. ``parts``: its text around the words, found and not found in turn.

    ``again``: how many later events of the session hold the very same text.
    """

    __slots__ = ("again", "parts", "seq", "session")

    def __init__(self, session: str, seq: int, again: int, parts: list[tuple[str, bool]]) -> None:
        self.session = session
        self.seq = seq
        self.again = again
        self.parts = parts

    @property
    def text(self) -> str:
        """The text around what was found."""
        return "".join(text for text, _ in self.parts)


class SearchIndex:
    """The index of one store. For one thread. Raises ``StoreError``."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._path = f"{store.place}-search"
        if is_url(store.place):
            self._path = os.path.join(folder_of(store.place), "search.db")
        try:
            self._db = self._open()
        except sqlite3.DatabaseError as error:
            if "fts5" in str(error):
                raise StoreError(
                    "searching all sessions needs a SQLite that was built with FTS5"
                ) from None
            os.unlink(self._path)  # it is made of the store alone
            self._db = self._open()

    def _open(self) -> sqlite3.Connection:
        try:
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise StoreError(
                f"cannot make the search index {self._path}: {error.strerror}"
            ) from None
        db = sqlite3.connect(self._path, timeout=1.0, isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL").fetchall()
        db.execute("PRAGMA synchronous = OFF")
        if db.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
            db.execute("BEGIN IMMEDIATE")
            if db.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                for statement in _TABLES:
                    db.execute(statement)
            db.execute("COMMIT")
        return db

    # -- keeping up ------------------------------------------------------------------------------

    def update(self, seconds: float = 0.05) -> bool:
        """Index what is new, for about *seconds*, at least a little; True where nothing is left to do."""
        until = time.monotonic() + seconds
        try:
            known = dict(self._db.execute("SELECT name, seq FROM session").fetchall())
            there = {s.session: s.seq for s in self._store.sessions()}
            for name in known:
                if there.get(name, 0) < known[name]:
                    self._forget(name)
                    known[name] = 0
            for name, last in there.items():
                while known.get(name, 0) < last:
                    known[name] = self._index(name)
                    if time.monotonic() > until:
                        return False
        except sqlite3.Error as error:
            raise StoreError(f"the search index {self._path} failed: {error}; delete it") from None
        return True

    def _forget(self, name: str) -> None:
        db = self._db
        with _transaction(db):
            found = db.execute("SELECT sid FROM session WHERE name = ?", (name,)).fetchone()
            if found:
                db.execute(
                    "DELETE FROM body WHERE rowid IN (SELECT id FROM doc WHERE sid = ?)", found
                )
                db.execute("DELETE FROM doc WHERE sid = ?", found)
                db.execute("DELETE FROM session WHERE sid = ?", found)

    def _index(self, name: str) -> int:
        """Index the next events of one session; the number of the last one."""
        db = self._db
        with _transaction(db):
            db.execute("INSERT OR IGNORE INTO session (name, seq) VALUES (?, 0)", (name,))
            sid, seq = db.execute("SELECT sid, seq FROM session WHERE name = ?", (name,)).fetchone()
            events = self._store.read(name, after=seq, limit=_BATCH)
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
        """Events that hold all *words*, the best first. ``"several words"`` stand together; a word also
        finds what begins with it. Case and accents do not matter.
        """
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
                (_OPEN, _CLOSE, *values, limit),
            ).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"the search index {self._path} failed: {error}; delete it") from None
        return [Hit(name, seq, again, _parts(text)) for name, seq, again, text in found]

    def close(self) -> None:
        """Let go of the index."""
        self._db.close()


def text_of(event: Event) -> str:
    """What of *event* is searched: the texts in what it says, in order."""
    texts: list[str] = []
    size = 0
    for field in _FIELDS:
        for text in _texts(event.data.get(field), 0):
            texts.append(text)
            size += len(text)
            if size > INDEXED:
                return " ".join(texts)[:INDEXED]
    return " ".join(texts).replace(_OPEN, " ").replace(_CLOSE, " ")


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value[:INDEXED]
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield str(value)[:100]
    elif isinstance(value, dict) and depth < _DEEPEST:
        for key, inner in value.items():
            yield key
            yield from _texts(inner, depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        for inner in value:
            yield from _texts(inner, depth + 1)


def _terms(words: str) -> str:
    """*words* in the language of FTS5; nothing in them is an operator there."""
    terms = []
    for n, part in enumerate(words.split('"')):
        inside = [part] if n % 2 else part.split()
        terms += [f'"{term}"*' for term in inside if any(c.isalnum() or c == "_" for c in term)]
    return " AND ".join(terms)


def _parts(snippet: str) -> list[tuple[str, bool]]:
    parts: list[tuple[str, bool]] = []
    for n, piece in enumerate(snippet.split(_OPEN)):
        found, _, rest = piece.partition(_CLOSE) if n else ("", "", piece)
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
