"""Is the database sound that holds the store: reachable, of a good version, private on its way, with room?"""

from __future__ import annotations

import contextlib
import time

from loopguard_console.doctor.finding import NOTE, OK, WRONG, Finding
from loopguard_console.doctor.sessions import AREA, dead_weight, failure
from loopguard_console.render import safe, size
from loopguard_core.store.contract import Absent, StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.postgres.looking import Look, look

#: seconds that an answer may take before a person notices, and that two clocks may differ
_SLOW = 0.05
_SKEW = 5.0
#: the part of the connections that may be taken
_CROWDED = 0.8


def examine(place: str) -> list[Finding]:
    """What is to be said of the store at the URL *place*."""
    try:
        store = open_store(place, create=False, read_only=True)
    except Absent as error:
        return [Finding(AREA, NOTE, str(error))]
    except StoreError as error:
        return [failure(error)]
    with contextlib.closing(store):
        try:
            seen = look(place)
        except StoreError as error:
            return [failure(error)]
        return [*_server(seen), *_way(seen), *_rights(seen), *_room(seen), *dead_weight(store)]


def _server(seen: Look) -> list[Finding]:
    found = [
        Finding(AREA, OK, f"PostgreSQL {safe(seen.server)} answers, the store is of this version")
    ]
    if seen.seconds > _SLOW:
        what = f"an answer takes {seen.seconds * 1000:.0f} ms; every call of an agent takes one"
        found.append(Finding(AREA, NOTE, what, "put the server nearer to the agents"))
    skew = abs(seen.clock - time.time())
    if skew > _SKEW:
        what = f"the clocks of this machine and of the server differ by {skew:.0f} s"
        found.append(Finding(AREA, WRONG, what, "let both keep time (NTP)"))
    return found


def _way(seen: Look) -> list[Finding]:
    if seen.encrypted or seen.local:
        return [Finding(AREA, OK, "the way there is private" + ("" if seen.local else " (TLS)"))]
    what = "the connection to the server is not encrypted: what agents do can be read on its way"
    return [Finding(AREA, NOTE, what, "add ?sslmode=verify-full to the URL")]


def _rights(seen: Look) -> list[Finding]:
    if seen.writes:
        return [Finding(AREA, OK, f"{safe(seen.user)} may write events")]
    what = f"{safe(seen.user)} may only read: agents cannot record as this user"
    return [Finding(AREA, NOTE, what, "have INSERT granted, or use it for looking on only")]


def _room(seen: Look) -> list[Finding]:
    found = [Finding(AREA, OK, f"{size(seen.bytes)}B on the server's disk")]
    if seen.connections > _CROWDED * seen.most:
        what = f"{seen.connections} of {seen.most} connections of the server are taken"
        mend = "raise max_connections, or put a connection pooler in front of it"
        found.append(Finding(AREA, WRONG, what, mend))
    return found
