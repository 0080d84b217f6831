"""What a record of ``progress`` holds: digests and flags, small enough to stand with the event.

Record of a request: ``s`` digest of the tidied arguments; ``f`` flags, one letter each (``r`` read-only,
``m`` mutating, ``b`` bookkeeping, ``p`` poll, ``q`` search, ``t`` tells somebody, ``z`` only sleeps);
``d`` letters of the cosmetics removed (see ``arguments``); ``w`` seconds that the call itself waits;
``g`` ``[target digest, first line, end]`` of a range that is read; ``k`` digest of the target of a
message; ``p`` whether a path is spelled absolute (``a``) or relative (``r``); ``v`` where the
tool's traits come from. Absent fields say nothing.

Record of a result: ``x`` digest to the letter; ``n`` without labelled volatile parts, ``t`` without
times (both absent where the answer resembles none of the call); ``b`` ``[x, n, t]`` of the answer that it
resembles, where that one's record lacks them; ``u`` digest for comparing it with answers of other calls, where
that is not ``x``; ``e`` digest of a failure's pattern, also of one that a
success reports, and ``c`` its class; ``z`` an empty answer; ``o`` an outage that a success reports; ``h`` an
answer long enough to say something; ``l`` lines of an open-ended read.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.identity import Record

    Kinds = dict[str, type | tuple[type, ...]]

_REQUEST: Kinds = {
    **dict.fromkeys(("s", "f", "d", "k", "p", "v"), str),
    "w": (int, float),
    "g": list,
}
_RESULT: Kinds = {
    **dict.fromkeys(("x", "n", "t", "u", "e", "c", "o"), str),
    "b": list,
    "l": int,
}
_LISTS: dict[str, tuple[tuple[type, ...], ...]] = {
    "g": ((str,), (int,), (int, type(None))),
    "b": ((str,), (str,), (str,)),
}


def well_formed(record: Record, *, outcome: bool) -> bool:
    """True where every field that is read holds what it should. Ours always do; a recording may hold anything."""
    if outcome and "x" not in record and "e" not in record:
        return False
    known = _RESULT if outcome else _REQUEST
    for name in known.keys() & record.keys():
        if not isinstance(record[name], known[name]):
            return False
        parts = _LISTS.get(name)
        if parts is None:
            continue
        value: list[Any] = record[name]
        if len(value) != len(parts):
            return False
        if not all(isinstance(value[at], kinds) for at, kinds in enumerate(parts)):
            return False
    return True
