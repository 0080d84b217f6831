"""Python's SQLite driver, without the converters of dates that its package brings along.

Those load ``datetime``, which costs a hook process a millisecond. Both names are the same classes.
"""

from __future__ import annotations

try:
    import _sqlite3 as sqlite3
except ImportError:  # an interpreter that has no such module behind the package
    import sqlite3  # type: ignore[no-redef]

__all__ = ["BUSY", "code_of", "sqlite3"]

BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)


def code_of(error: sqlite3.Error) -> int:
    """SQLite's own code; 0 for what Python's module says by itself."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
