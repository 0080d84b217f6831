"""Keeping house in a PostgreSQL store: forgetting sessions, how much they weigh, and the months."""

from __future__ import annotations

from time import gmtime

from loopguard_core.store.postgres import statements as sql
from loopguard_core.store.postgres.link import BULK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.store.postgres.link import Link

#: Rows removed in one transaction, so that nobody waits for it.
_AT_ONCE = 5_000
#: Months ahead for which a partition is made.
_AHEAD = 2

_BORN = "SELECT born FROM loopguard.session WHERE session = %s"
_FORGET = f"""
DELETE FROM loopguard.event WHERE session = %s AND born = %s AND seq <= (
  SELECT max(seq) FROM (SELECT seq FROM loopguard.event WHERE session = %s AND born = %s
    ORDER BY seq LIMIT {_AT_ONCE}) AS few)"""
_REST = (
    "DELETE FROM loopguard.payload WHERE session = %s AND born = %s",
    "DELETE FROM loopguard.session WHERE session = %s AND born = %s",
)
_SIZE = f"""
SELECT coalesce(sum(l.bytes), 0)::bigint FROM loopguard.session AS s {sql.LATEST}"""
_MONTHS = """
SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
WHERE i.inhparent = 'loopguard.event'::regclass"""
_OWNER = """
SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'loopguard.event'::regclass"""


def forget(link: Link, session: str) -> int:
    """Remove *session* in steps; how many events went."""
    found = link.rows(_BORN, (session,))
    if not found:
        return 0
    place = (session, int(found[0][0]))
    link.write("DELETE FROM loopguard.request WHERE session = %s", (session,), BULK)
    gone = 0
    while count := link.write(_FORGET, place + place, BULK):
        gone += count
    for statement in _REST:
        link.write(statement, place, BULK)
    return gone


def size(link: Link, session: str | None) -> int:
    """Bytes of the events of *session*, or of all, with what they refer to; before any compression."""
    if session is None:
        return int(link.rows(_SIZE)[0][0])
    return int(link.rows(f"{_SIZE} WHERE s.session = %s", (session,))[0][0])


def make_months(link: Link) -> None:
    """Make the partitions of this month and the next ones, where this role may and they are missing.

    Raises ``StoreError``. Rows of a month without a partition stand in that for the rest.
    """
    there = {str(name) for (name,) in link.rows(_MONTHS)}
    year, month = gmtime()[:2]
    for _ in range(_AHEAD + 1):
        born = year * 100 + month
        if f"event_{born}" not in there and link.rows(_OWNER)[0][0]:
            _make_month(link, born)
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)


def _make_month(link: Link, born: int) -> None:
    with link.transaction():
        if link.rows("SELECT 1 FROM loopguard.event WHERE born = %s LIMIT 1", (born,)):
            return  # it has begun in the partition for the rest, and ends there
        for table in ("event", "payload"):
            link.script(
                f"CREATE TABLE IF NOT EXISTS loopguard.{table}_{born} "
                f"PARTITION OF loopguard.{table} FOR VALUES IN ({born})"
            )


def drop_empty_months(link: Link) -> None:
    """Drop the partitions of months that are over and whose sessions are all forgotten.

    Raises ``StoreError``.
    """
    if not link.rows(_OWNER)[0][0]:
        return
    year, month = gmtime()[:2]
    for (name,) in link.rows(_MONTHS):
        born = name.removeprefix("event_")
        if not born.isdigit() or int(born) >= year * 100 + month:
            continue
        if link.rows("SELECT 1 FROM loopguard.session WHERE born = %s LIMIT 1", (int(born),)):
            continue
        link.script(f"DROP TABLE loopguard.event_{born}, loopguard.payload_{born}")
