"""Removing sessions from a SQLite store, and how much they weigh."""

from __future__ import annotations

from loopguard_core.store import schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.store.link import Link

#: Rows removed in one transaction, so that no agent waits for it.
_AT_ONCE = 1_000


def forget(link: Link, session: str) -> int:
    """Remove *session* in steps, so that the file does not hold it any more; how many events went."""
    link.rows("PRAGMA secure_delete = ON")
    found = link.rows("SELECT id FROM session WHERE name = ?", (session,))
    if not found:
        return 0
    sid = found[0][0]
    first, last = sid << schema.SHIFT, (sid << schema.SHIFT) + schema.MASK
    gone = 0
    while True:
        with link.transaction():
            where = f"id IN (SELECT id FROM event WHERE id BETWEEN ? AND ? LIMIT {_AT_ONCE})"
            large = link.rows(
                f"SELECT DISTINCT large FROM event WHERE large IS NOT NULL AND {where}",
                (first, last),
            )
            count = link.change(f"DELETE FROM event WHERE {where}", (first, last))
            for (payload,) in large:
                link.write(
                    """DELETE FROM payload WHERE id = ?1
                       AND NOT EXISTS (SELECT 1 FROM event WHERE large = ?1)""",
                    (payload,),
                )
            gone += count
            if count < _AT_ONCE:
                link.write("DELETE FROM request WHERE sid = ?", (sid,))
                link.write("DELETE FROM called WHERE sid = ?", (sid,))
                link.write("DELETE FROM session WHERE id = ?", (sid,))
                return gone


def size(link: Link, session: str | None) -> int:
    """Bytes in use by the file, or by the events of *session* and what they refer to."""
    if session is None:
        found = link.rows(
            """SELECT (pages.page_count - free.freelist_count) * size.page_size
               FROM pragma_page_count AS pages, pragma_freelist_count AS free,
                    pragma_page_size AS size"""
        )
    else:
        found = link.rows(
            f"""SELECT count(*) * 60 + sum(length(coalesce(data, '')) + length(coalesce(payload, ''))
                  + length(coalesce(call, '')) * 2)
                  + (SELECT coalesce(sum(length(text)), 0) FROM payload WHERE id IN
                     (SELECT large FROM event WHERE id {schema.OF_SESSION}))
                FROM session AS s JOIN event AS e ON e.id {schema.OF_SESSION} WHERE s.name = ?""",
            (session,),
        )
    return found[0][0] or 0 if found else 0
