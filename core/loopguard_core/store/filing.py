"""The table of calls by name, brought up to date once in many events rather than with each.

To keep an index as it stands has another page written at every append, a fifth of what an append costs. Who
looks for a call looks here, and then through the few events that are not filed yet (``schema.key_of``).
"""

from __future__ import annotations

from loopguard_core.store import schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.store.link import Link

#: A mask: who appends an event whose key has none of these bits files what came before it.
EVERY = 0x3F

# 1 the session, 2 the key of the last event to be filed
_NEW = f"""
SELECT sid, call, type = 'call_end', id FROM event
WHERE id > (?1 << {schema.SHIFT}) + (SELECT filed FROM session WHERE id = ?1) AND id <= ?2
AND call IS NOT NULL"""
_INSERT = f"INTO called (sid, call, ended, id) {_NEW}"
_FILED = (
    f"UPDATE session SET filed = ?2 & {schema.MASK} WHERE id = ?1 AND filed < ?2 & {schema.MASK}"
)


def bring_up(link: Link, key: int) -> bool:
    """File the calls of a session up to the event with *key*. False where that failed: the next turn comes soon."""
    values = (key >> schema.SHIFT, key)
    return link.quietly((f"INSERT OR IGNORE {_INSERT}", _FILED), values)


def complete(link: Link, key: int) -> None:
    """The same in the transaction that is open on *link*.

    Raises ``sqlite3.IntegrityError`` where a call starts or ends twice.
    """
    values = (key >> schema.SHIFT, key)
    link.write(f"INSERT {_INSERT}", values)
    link.write(_FILED, values)
