"""SQLite stores of agents, read without writing to them: the file may belong to a running agent."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from loopguard_core import files
from loopguard_core.importers.report import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any


def tables(path: Path) -> frozenset[str]:
    """The names of its tables. Raises ``Unreadable``."""
    return frozenset(
        row["name"] for row in rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")
    )


def rows(path: Path, sql: str, *values: object) -> Iterator[dict[str, Any]]:
    """The rows of a query as objects. Raises ``Unreadable``."""
    try:
        with closing(_connect(path)) as db:
            for row in db.execute(sql, values):
                yield dict(row)
    except sqlite3.Error as error:
        raise Unreadable(f"{path}: a SQLite database that cannot be read: {error}") from None


def _connect(path: Path) -> sqlite3.Connection:
    """Read-only; where even the log beside it cannot be read, the file alone. Raises ``Unreadable``."""
    wrong = files.odd_database(str(path))
    if wrong:
        raise Unreadable(wrong)
    place = path.absolute().as_uri()
    try:
        db = sqlite3.connect(f"{place}?mode=ro", uri=True)
        db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except sqlite3.OperationalError:
        db = sqlite3.connect(f"{place}?mode=ro&immutable=1", uri=True)
    db.row_factory = sqlite3.Row
    db.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return db
