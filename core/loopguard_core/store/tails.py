"""The last row of a session as its writer knows it, and the columns that the next row takes from it.

What ``statements`` computes in SQL for whoever comes first is computed here for who writes on: a writer
of many events in one transaction, and an agent that appends after its own last event. Whether it really is
the last row, the insert itself finds out.
"""

from __future__ import annotations

from loopguard_core.events import TYPES, time_of
from loopguard_core.store import rows, schema
from loopguard_core.store.driver import sqlite3
from loopguard_core.store.running import OPEN_CALLS, Running
from loopguard_core.verdict import ALLOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.events import Event, Judged
    from loopguard_core.store.link import Link
    from loopguard_core.store.rows import Row

_LAST = f"""
SELECT s.id, e.id, e.calls, e.worst, e.level, e.ended
FROM session AS s LEFT JOIN event AS e ON e.id = {schema.LAST} WHERE s.name = ?"""
_TIER = f"""
SELECT e.tier FROM session AS s JOIN event AS e ON e.id = {schema.key_of(0, "?2")} WHERE s.id = ?1"""
# Calls that no table of calls tells of yet.
_UNFILED = f"""
SELECT e.call FROM session AS s JOIN event AS e
ON e.id > (s.id << {schema.SHIFT}) + s.filed AND e.id <= (s.id << {schema.SHIFT}) + {schema.MASK}
AND e.call IS NOT NULL WHERE s.id = ?"""
#: After somebody else wrote, this many events are appended by the general statement.
_DISTRUST = -20


class Tail(Running):
    """The last row of a session of a SQLite store: the session's number, and the row's in it.

    ``before``: the key that the session's first row follows.
    """

    __slots__ = ("before", "seq", "sid")

    def __init__(
        self, sid: int, key: int | None, calls: int, worst: int, level: int, ended: int
    ) -> None:
        super().__init__(calls, worst, level, ended)
        self.sid = sid
        self.before = sid << schema.SHIFT
        self.seq = key - self.before if key else 0

    @property
    def key(self) -> int:
        """The row's key."""
        return self.before + self.seq

    def step_to(self, link: Link, event: Event, row: Row) -> tuple[int | None, int | None]:
        """Move on to the next row; its ``tier`` and ``mark``."""

        def started(call: str | None) -> int:
            found = link.rows(_TIER, (self.sid, call))
            return int(found[0][0] or 0) if found else 0

        self.seq += 1
        return self.step(event.type, row, started)

    def columns(
        self, event: Event, row: Row, tier: int | None, mark: int | None
    ) -> tuple[Any, ...]:
        """The columns of the row that was stepped to, in the order of ``COLUMNS``."""
        return (
            self.key,
            self.sid,
            time_of(event.ts),
            kind_of(event),
            row.call,
            row.request,
            row.tool,
            tier,
            self.calls,
            self.worst,
            self.level,
            mark,
            self.ended,
            row.data,
            row.payload if row.digest is None else None,
            row.digest,
        )


def _unknown(call: str | None) -> int:
    return 0


def kind_of(event: Event) -> str:
    """The type of *event* as a column can hold it."""
    kind = event.type
    return kind if kind in TYPES else rows.column(kind)


#: The columns of a row; the last is given as a digest.
COLUMNS = """id, sid, ts, type, call, request, tool, tier, calls, worst, level, mark, ended,
  data, payload, large"""

# 1 to 15 the columns, 16 the payload's digest. What must be there already gives a column that may not be
# empty: VALUES costs a third less than a SELECT with conditions.
_HERE = "SELECT ?2 FROM event WHERE id = ?1 - 1"
_KEPT = "(SELECT ?13 FROM payload WHERE digest = ?16)"
_NEW = "NOT EXISTS (SELECT 1 FROM called WHERE sid = ?2 AND call = {0})"


def _after(large: bool, begins: bool) -> str:
    """The statement that appends after a row that is known; *begins*: a call of which nobody has heard."""
    here = f"{_HERE} AND {_NEW.format('?5')}" if begins else _HERE
    rest = [f"?{n}" for n in range(3, 17)]
    if large:
        rest[10], rest[13] = _KEPT, "(SELECT id FROM payload WHERE digest = ?16)"
    return f"INSERT INTO event ({COLUMNS}) VALUES (?1, ({here}), {', '.join(rest)})"


_AFTER = {
    (large, begins): _after(large, begins) for large in (False, True) for begins in (False, True)
}

# What an agent runs all the time: the start and the end of a call that is allowed, in a session where the last
# one was. One statement for both, since SQLite and the processor then have it at hand. No column is given as None: for
# each, Python's driver looks for a converter.
_ALLOWED = f"""
INSERT INTO event (tier, level, id, sid, ts, call, data, payload, worst, ended, calls, type, tool) VALUES
(0, 0, ?1, ({_HERE}), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, nullif(?11, ''))"""
#: The same for the start of a call of which somebody may have heard.
_STARTS = _ALLOWED.replace(_HERE, f"{_HERE} AND {_NEW.format('?4')}")


class Own:
    """Appends after this process's own last event, where nobody else wrote meanwhile.

    It saves an agent a third of what the general statement costs. It never decides anything: where it
    does not apply, the general statement does, and says what is the matter.
    """

    __slots__ = ("_generation", "_known", "_session", "_tail", "_trust")

    def __init__(self) -> None:
        self._session = ""
        #: The calls of the session that may not be filed yet. One that is not among them has not ended, either.
        self._known: dict[str | None, None] = {}
        self._tail: Tail | None = None
        self._generation = 0
        self._trust = 0

    def append(self, link: Link, session: str, expect: int | None, event: Event, row: Row) -> int:
        """The key of the new row, 0 where nothing was written."""
        if session != self._session or link.generation != self._generation:
            return 0
        tail = self._tail
        if tail is None:
            if self._trust < 1:
                return 0
            tail = self._tail = find(link, session)
            if tail is None:
                return 0
            self._known = dict.fromkeys([call for (call,) in link.rows(_UNFILED, (tail.sid,))])
        if expect is not None and expect != tail.seq:
            return 0
        call, begins = row.call, event.type == "call_start"
        if begins:
            if call in self._known:
                return 0
            self._known[call] = None
        elif call is not None and call not in tail.tiers:
            return 0  # whether it has ended already is not known here
        try:
            tail.seq += 1
            tier, mark = tail.step(event.type, row, _unknown)
            link.insert(
                _AFTER[row.digest is not None, begins], tail.columns(event, row, tier, mark)
            )
        except sqlite3.IntegrityError:
            self._tail = None
            if row.digest is None:  # else it is rather the payload that is new
                self._trust = _DISTRUST
            return 0
        except BaseException:
            self._tail = None  # it has stepped to a row that is not there, and may yet be another's
            raise
        return tail.key

    def allowed(self, link: Link, expect: int, event: Judged, texts: tuple[str, str]) -> int:
        """The same for a call's start or end, given *texts* as ``rows.usual`` does, where nothing but their number changes."""
        tail, verdict = self._tail, event.verdict
        if (
            tail is None
            or tail.level
            or expect != tail.seq
            or event.session != self._session
            or link.generation != self._generation
            or verdict is None
            or verdict.tier is not ALLOW
        ):
            return 0
        data, tiers, kind, tool = event.data, tail.tiers, event.type, ""
        call: str = data["call"]
        starts, statement = False, _ALLOWED
        if kind == "call_start":
            starts, tool = True, data["tool"]
            if (
                call in self._known
                or len(tiers) > OPEN_CALLS
                or not (tool and tool.isascii() and call and call.isascii())
            ):
                return 0
            self._known[call] = None
            tiers[call] = 0
            tail.calls += 1
            if not event.named:
                statement = _STARTS
        elif tiers.get(call) == 0:
            del tiers[call]
        else:
            return 0
        tail.seq = expect + 1
        key = tail.before + tail.seq
        rest, payload = texts
        worst, ended, calls = tail.worst, tail.ended, tail.calls
        values = (key, tail.sid, event.ts, call, rest, payload, worst, ended, calls, kind, tool)
        try:
            link.insert(statement, values, starts)
        except sqlite3.IntegrityError:
            self._tail, self._trust = None, _DISTRUST
            return 0
        except BaseException:
            self._tail = None  # as above
            raise
        return key

    def appended(self, link: Link, session: str) -> None:
        """The general statement appended an event: after a few of them, the next may be ours."""
        if session != self._session or link.generation != self._generation:
            self._session, self._generation, self._trust = session, link.generation, 0
        self._tail = None
        self._trust += 1

    def filed(self, key: int) -> None:
        """The calls up to the event with *key* were filed."""
        if self._tail is not None and self._tail.key == key:
            self._known.clear()


def find(link: Link, session: str) -> Tail | None:
    """The tail of *session*; None where the store does not know it."""
    found = link.rows(_LAST, (session,))
    if not found:
        return None
    sid, key, *rest = found[0]
    return Tail(sid, key, *(value or 0 for value in rest))
