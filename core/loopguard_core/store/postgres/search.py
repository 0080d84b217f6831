"""The full-text index of a store on PostgreSQL: in its tables, so that who searches finds it made.

Words are told apart on this side and not by the server, so that they are the same whatever language it is
set up for.
"""

from __future__ import annotations

from loopguard_core.clock import monotonic
from loopguard_core.hashing import blake2b
from loopguard_core.store import rows
from loopguard_core.store.contract import Denied, number
from loopguard_core.store.index import BATCH, Hit, Index, text_of
from loopguard_core.store.postgres.link import BULK, Link
from loopguard_core.store.postgres.migrations import check
from loopguard_core.store.words import parts, phrases, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.store.contract import Store

#: Places of words, and places of one word, that PostgreSQL tells apart.
_PLACES = 16_000
_SAME = 255

_BEHIND = """
SELECT s.session, s.born, coalesce(d.seq, 0)
FROM loopguard.session AS s LEFT JOIN loopguard.searched AS d ON d.session = s.session
CROSS JOIN LATERAL (SELECT e.seq FROM loopguard.event AS e
  WHERE e.session = s.session AND e.born = s.born ORDER BY e.seq DESC LIMIT 1) AS l
WHERE l.seq > coalesce(d.seq, 0)"""
_BEGIN = "INSERT INTO loopguard.searched (session, seq) VALUES (%s, 0) ON CONFLICT DO NOTHING"
_CLAIM = "UPDATE loopguard.searched SET seq = %s WHERE session = %s AND seq = %s"
_ADD = """
INSERT INTO loopguard.search AS s (session, digest, born, seq, again, words)
VALUES (%s, %s, %s, %s, 0, %s::tsvector)
ON CONFLICT (session, digest, born) DO UPDATE SET again = s.again + 1"""
_FIND = """
SELECT s.session, s.seq, s.again FROM loopguard.search AS s
WHERE s.words @@ %s::tsquery AND (%s::text IS NULL OR s.session = %s::text)
ORDER BY ts_rank(s.words, %s::tsquery) DESC, s.session, s.seq DESC LIMIT %s"""


class ServerIndex(Index):
    """The index in the database of *store*. Who may only read finds what others have indexed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._link = Link(
            store.place, read_only=False, opened=lambda link: check(link, create=False)
        )
        self._link.open()

    def update(self, seconds: float = 0.05) -> bool:
        until = monotonic() + seconds
        try:
            for session, born, seq in self._link.rows(_BEHIND):
                while (last := self._index(session, born, seq)) > seq:
                    seq = last
                    if monotonic() > until:
                        return False
        except Denied:
            return True
        return True

    def _index(self, session: str, born: int, seq: int) -> int:
        """Index the next events of one session; the number of the last one."""
        link = self._link
        events = self._store.read(session, after=seq, limit=BATCH)
        if not events:
            return seq
        added = []
        for event in events:
            if text := text_of(event):
                digest = blake2b(text.encode("utf-8", "replace"), digest_size=12).digest()
                added.append((session, digest, born, event.seq, _vector(text)))
        with link.transaction(BULK):
            if seq == 0:
                link.write(_BEGIN, (session,))
            if not link.write(_CLAIM, (events[-1].seq, session, seq)):
                return seq  # somebody else is at it
            if added:
                link.many(_ADD, added)
        return events[-1].seq

    def search(self, words: str, *, session: str = "", limit: int = 100) -> list[Hit]:
        asked = phrases(words)
        if not asked:
            return []
        query = " & ".join(
            " <-> ".join([*(f"'{w}'" for w in p[:-1]), f"'{p[-1]}':*"]) for p in asked
        )
        only = rows.narrow(session) if session else None
        try:
            found = self._link.rows(_FIND, (query, only, only, query, number(limit)))
        except Denied:
            raise Denied(
                f"the event store {self._link.place} does not let an agent's login search; "
                "search as a viewer or a decider"
            ) from None
        return [Hit(name, seq, again, self._parts(name, seq, asked)) for name, seq, again in found]

    def _parts(self, session: str, seq: int, asked: list[list[str]]) -> list[tuple[str, bool]]:
        events = self._store.read(session, after=seq - 1, limit=1)
        return parts(text_of(events[0]), asked) if events else []

    def close(self) -> None:
        self._link.close()


def _vector(text: str) -> str:
    """The words of *text* and their places, as PostgreSQL reads a ``tsvector``."""
    places: dict[str, list[int]] = {}
    for n, (word, _, _) in enumerate(words_of(text), 1):
        places.setdefault(word, []).append(min(n, _PLACES))
    return " ".join(f"'{word}':{','.join(map(str, at[:_SAME]))}" for word, at in places.items())
