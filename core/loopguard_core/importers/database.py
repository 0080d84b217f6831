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
    """The names of its tables; looking leaves nothing beside the file. Raises ``Unreadable``."""
    found = rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'", alone=_is_still(path))
    return frozenset(row["name"] for row in found)


def _is_still(path: Path) -> bool:
    """True where no log of its changes lies beside the file: all of it stands there."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size == 0
    except OSError:
        return True


def rows(path: Path, sql: str, *values: object, alone: bool = False) -> Iterator[dict[str, Any]]:
    """The rows of a query as objects; *alone*: without a look at what lies beside the file. Raises ``Unreadable``."""
    try:
        with closing(_connect(path, alone)) as db:
            for row in db.execute(sql, values):
                yield dict(row)
    except sqlite3.Error as error:
        raise Unreadable(f"{path}: a SQLite database that cannot be read: {error}") from None


def _connect(path: Path, alone: bool = False) -> sqlite3.Connection:
    """Read-only; where even the log beside it cannot be read, the file alone. Raises ``Unreadable``."""
    wrong = files.odd_database(str(path))
    if wrong:
        raise Unreadable(wrong)
    place = path.absolute().as_uri()
    try:
        db = sqlite3.connect(f"{place}?mode=ro{'&immutable=1' * alone}", uri=True)
        db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except sqlite3.OperationalError:
        db = sqlite3.connect(f"{place}?mode=ro&immutable=1", uri=True)
    db.row_factory = sqlite3.Row
    db.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return db
