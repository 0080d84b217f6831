"""How the SQLite store lays out its rows: what every module that reads or writes them agrees on.

``event`` is the log. Its key is the session's number and the event's in it (``sid << 40 | seq``), so a
session stands together, in order, without another index. Beside what an event says, a row carries what
the list of sessions and the way to the next tier change need, computed from the row before it in the
same statement: ``calls`` (calls so far), ``worst`` (strongest tier so far), ``level`` (tier of the
latest call) and ``ended``. So nothing is counted twice, no second row is written on the agent's path,
and no list of sessions ever scans. ``mark`` names the few rows that are looked for among the many.

``called`` finds a call's start and end by its name. An index would have a second page written with each
event; this table is brought up to date now and then (``filing``), and what came since ``session.filed``, the
number of the last event that it knows, is looked through.
"""

from __future__ import annotations

from loopguard_core.store.contract import LAST_NUMBER, NO_SIGN

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

#: "LpGd": what ``PRAGMA application_id`` says of our files.
APPLICATION_ID = 0x4C704764
#: ``event.id`` is ``sid << SHIFT | seq``.
SHIFT = LAST_NUMBER.bit_length()
MASK = LAST_NUMBER

#: ``event.mark``: a human's message; a session's start; what else can hold beyond its turn
#: (``contract.STANDING``); a call whose tier differs from that of the call before; a human's reset.
TURN, START, STANDING, CHANGE, RESET = 1, 2, 3, 4, 5

#: What holds for a request that waits for a human.
WAITING = "opened IS NOT NULL AND resolved IS NULL"

#: The rows of session *s*, as a range of keys; its last row.
OF_SESSION = f"BETWEEN s.id << {SHIFT} AND (s.id << {SHIFT}) + {MASK}"
LAST = f"(SELECT max(id) FROM event WHERE id {OF_SESSION})"
FIRST = f"(SELECT min(id) FROM event WHERE id {OF_SESSION})"
#: When the session's agent was active last.
LAST_SIGN = f"""(SELECT ts FROM event WHERE id {OF_SESSION} AND type NOT IN {NO_SIGN}
  ORDER BY id DESC LIMIT 1)"""
LAST_START = f"(SELECT max(id) FROM event WHERE sid = s.id AND mark = {START})"


def _last_mark(mark: int, more: str) -> str:
    return (
        f"coalesce((SELECT max(id) FROM event AS m WHERE sid = s.id AND mark = {mark} {more}), 0)"
    )


def _scope(row: str) -> str:
    return f"iif(json_valid({row}.data), json_extract({row}.data, '$.scope'), '')"


#: A human's halt that holds, NULL for none: of the session until a resume, of the turn also until a human's
#: message or a reset of the session. That of the session before that of the turn, then the latest.
HALT = f"""(SELECT h.id FROM event AS h WHERE h.sid = s.id AND h.mark = {STANDING} AND h.type = 'halt'
  AND h.id > {_last_mark(STANDING, "AND m.type = 'resume'")}
  AND ({_scope("h")} IS 'session' OR h.id > {_last_mark(TURN, "")}
    AND h.id > {_last_mark(RESET, f"AND ifnull({_scope('m')}, '') IN ('', 'session')")})
  ORDER BY {_scope("h")} IS 'session' DESC, h.id DESC LIMIT 1)"""

#: The types of entries that exist once a call, by ``called.ended``.
_OF_CALL = ("call_start", "call_end")


def key_of(ended: int, call: str) -> str:
    """SQL for the key of the start, or where *ended* the end, of the *call* of session *s*; NULL for none."""
    return f"""coalesce(
    (SELECT id FROM called WHERE sid = s.id AND call = {call} AND ended = {ended}),
    (SELECT id FROM event WHERE id > (s.id << {SHIFT}) + s.filed AND id <= (s.id << {SHIFT}) + {MASK}
     AND call = {call} AND type = '{_OF_CALL[ended]}'))"""


#: The schema that this version writes: the number of steps in ``migrations``.
VERSION = 4


def version_of(db: sqlite3.Connection) -> int:
    """The schema version of an open file; 0 for an empty one."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])
