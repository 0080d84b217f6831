"""Keeping house in a PostgreSQL store: forgetting sessions, how much they weigh, and the months."""

from __future__ import annotations

from contextlib import suppress
from time import gmtime, sleep

from loopguard_core.clock import monotonic
from loopguard_core.store.contract import StoreError
from loopguard_core.store.postgres import statements as sql
from loopguard_core.store.postgres.link import BULK, WRITE, Lost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from loopguard_core.store.postgres.link import Link

#: Rows removed in one transaction, so that nobody waits for it.
_AT_ONCE = 5_000
_PAUSE = 0.003
#: Months ahead for which a partition is made.
_AHEAD = 2
_PARTITIONED = ("event", "payload", "search")

_FORGET = f"""
DELETE FROM loopguard.event WHERE session = %s AND born = %s AND seq <= (
  SELECT max(seq) FROM (SELECT seq FROM loopguard.event WHERE session = %s AND born = %s
    ORDER BY seq LIMIT {_AT_ONCE}) AS few)"""
_ASKED = "DELETE FROM loopguard.request WHERE session = %s"
# Appends that were under way have seen the row before them, which is gone now; or the session begins anew.
_WRITING = """
SELECT l.virtualtransaction FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database
WHERE d.datname = current_database() AND l.relation = 'loopguard.event'::regclass
  AND l.mode = 'RowExclusiveLock' AND l.pid <> pg_backend_pid()"""
_HEADLESS = """
DELETE FROM loopguard.event AS e WHERE session = %s AND born = %s AND seq > coalesce((
  SELECT min(l.seq) FROM loopguard.event AS l WHERE l.session = e.session AND l.born = e.born
    AND NOT EXISTS (SELECT 1 FROM loopguard.event AS n
      WHERE n.session = l.session AND n.born = l.born AND n.seq = l.seq + 1)
    AND EXISTS (SELECT 1 FROM loopguard.event AS f
      WHERE f.session = l.session AND f.born = l.born AND f.seq = 1)), 0)"""
_NOWHERE = "NOT EXISTS (SELECT 1 FROM loopguard.event AS e WHERE e.session = t.session"
_REST = (
    f"""DELETE FROM loopguard.request AS t WHERE session = %s AND opened IS NOT NULL
      AND {_NOWHERE} AND e.born = %s AND e.seq = t.opened)""",
    f"""DELETE FROM loopguard.payload AS t WHERE session = %s AND born = %s
      AND {_NOWHERE} AND e.born = t.born AND e.large = t.digest)""",
    "DELETE FROM loopguard.search WHERE session = %s AND born = %s",
    f"DELETE FROM loopguard.session AS t WHERE session = %s AND born = %s AND {_NOWHERE} AND e.born = t.born)",
)
_OF_MONTH = "SELECT session FROM loopguard.session WHERE born = %s"
_SEARCHED = "DELETE FROM loopguard.searched WHERE session = ANY(%s)"
_DROPPED = (
    _SEARCHED,
    "DELETE FROM loopguard.request WHERE session = ANY(%s)",
    "DELETE FROM loopguard.session WHERE session = ANY(%s)",
)
_SIZE = f"""
SELECT coalesce(sum(l.bytes), 0)::bigint FROM loopguard.session AS s {sql.LATEST}"""
_MONTHS = """
SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
WHERE i.inhparent = 'loopguard.event'::regclass"""
_OWNER = """
SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'loopguard.event'::regclass"""


def forget(link: Link, session: str) -> int:
    """Remove *session* in steps; how many events went. One that an agent goes on with begins anew."""
    found = link.rows(sql.TAIL, (session,))
    if not found:
        return 0
    born, _, _, _, _, ended, _ = found[0]
    place = (session, int(born))
    link.write(_ASKED, (session,), BULK)
    gone = 0
    while count := link.write(_FORGET, place + place, BULK):
        gone += count
    if not ended:
        _let_finish(link)
    gone += link.write(_HEADLESS, place, BULK)
    link.write(_SEARCHED, ([session],), BULK)
    for statement in _REST:
        link.write(statement, place, BULK)
    return gone


def _let_finish(link: Link) -> None:
    """Wait for the appends that are under way, of whatever session, as long as any may take."""
    under_way = {name for (name,) in link.rows(_WRITING)}
    until = monotonic() + WRITE
    while under_way and monotonic() < until:
        sleep(_PAUSE)
        under_way &= {name for (name,) in link.rows(_WRITING)}


def forget_all(link: Link, sessions: Sequence[str]) -> Iterator[str]:
    """Remove *sessions*; each is given once it is gone. A month that goes as a whole is dropped."""
    left = dict.fromkeys(sessions)
    for born in _closed_months(link) if _owns(link) else ():
        there = [str(name) for (name,) in link.rows(_OF_MONTH, (born,))]
        if there and all(name in left for name in there) and _drop(link, born, there):
            for name in there:
                del left[name]
                yield name
    for name in left:
        forget(link, name)
        yield name


def _drop(link: Link, born: int, sessions: list[str]) -> bool:
    """Drop a month with its *sessions*. False where others have come to it, or somebody holds it."""
    try:
        with link.transaction(BULK):
            there = link.rows(f"{_OF_MONTH} FOR UPDATE", (born,))
            if len(there) > len(sessions):
                return False
            for statement in _DROPPED:
                link.write(statement, (sessions,), BULK)
            for table in _PARTITIONED:
                link.script(f"DROP TABLE loopguard.{table}_{born}")
    except Lost:
        raise
    except StoreError:
        return False  # as rows, then
    return True


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
        if f"event_{born}" not in there and _owns(link):
            make_month(link, born)
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)


def make_month(link: Link, born: int) -> None:
    """Make the partitions of the month *born*, unless it has begun without. Raises ``StoreError``."""
    with link.transaction():
        if link.rows("SELECT 1 FROM loopguard.event WHERE born = %s LIMIT 1", (born,)):
            return  # it has begun in the partition for the rest, and ends there
        for table in _PARTITIONED:
            link.script(
                f"CREATE TABLE IF NOT EXISTS loopguard.{table}_{born} "
                f"PARTITION OF loopguard.{table} FOR VALUES IN ({born})"
            )


def _closed_months(link: Link) -> list[int]:
    """Months that are over and have partitions of their own."""
    year, month = gmtime()[:2]
    names = (str(name).removeprefix("event_") for (name,) in link.rows(_MONTHS))
    return sorted(int(n) for n in names if n.isdigit() and int(n) < year * 100 + month)


def _owns(link: Link) -> bool:
    return bool(link.rows(_OWNER)[0][0])


def tidy(link: Link) -> None:
    """Make the months to come, drop those that are over and empty, forget consoles of long ago.

    Never raises.
    """
    with suppress(StoreError):
        make_months(link)
        for born in _closed_months(link) if _owns(link) else ():
            if not link.rows(f"{_OF_MONTH} LIMIT 1", (born,)):
                _drop(link, born, [])
        link.write(
            "DELETE FROM loopguard.console WHERE heard < clock_timestamp() - interval '1 day'"
        )
