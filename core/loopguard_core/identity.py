"""Canonical forms and keyed digests of arguments and results.

A policy decides by its own notion of "the same call" and "the same result". Its ``Scheme`` turns the
full original text, before redaction and before any cut, into a small record of digests and flags that
is stored with the event; the fold sees only records. The scheme ``exact`` is always in force: the
window strip, grants "until the result changes" and the console's colours stand on it.
"""

from __future__ import annotations

import json
from marshal import dumps

from loopguard_core.hashing import sha256
from loopguard_core.spelling import encoder, spell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.traits import Traits

    Record = dict[str, Any]

EXACT = "exact"

#: A text longer than ``LONG`` characters is taken as two edges of ``EDGE`` characters and what lies between.
LONG, EDGE = 32_768, 2_048
_SHORT = 512
#: Characters and bytes that are kept, what an entry counts for beside them, and values seen once.
_HELD, _ENTRY, _ONCE = 8_000_000, 200, 4_096
_STRICT = encoder()
_LENIENT = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str
).encode


class Digester:
    """Keyed digests: the first 96 bits of SHA-256, as 24 hexadecimal digits.

    The key is the machine's own, so that a stored digest of a short secret cannot be guessed from
    elsewhere. An empty key gives the same digests everywhere (tests, recordings).

    A loop repeats its payloads, so the digests of the last ones are kept: comparing a text with itself
    costs a tenth of hashing it again. A value is recognised by its ``marshal`` bytes, which are written
    much faster than JSON and are never read back; equal bytes are equal values, other bytes (another order
    of keys) only mean that the JSON is written. Of a long text the part between the edges is hashed by
    itself, since what changes from one answer to the next (a time, a count) mostly stands at an edge.
    """

    __slots__ = ("_held", "_joined", "_keyed", "_longs", "_once", "_recent", "_values")

    def __init__(self, key: bytes = b"") -> None:
        self._keyed = sha256(sha256(key).digest().ljust(64, b"\0") if key else b"")
        self._joined = sha256(sha256(b"edges" + key).digest().ljust(64, b"\0"))
        self._recent: dict[tuple[int, str], tuple[str, str]] = {}
        self._longs: dict[tuple[int, str], _Long] = {}
        self._values: dict[tuple[int, bytes], tuple[bytes, str, str]] = {}
        self._once: set[tuple[int, bytes]] = set()
        self._held = 0

    def __call__(self, text: str) -> str:
        """The digest of *text*; lone surrogates are hashed as they are."""
        size = len(text)
        if size > LONG:
            return self._long(text, size).of(text, self._joined)
        if size > _SHORT:
            mark = (size, text[-32:])
            known = self._recent.get(mark)
            if known is not None and known[0] == text:
                return known[1]
        digest = _digest(self._keyed, text)
        if size > _SHORT:
            self._held += size + _ENTRY
            if self._held > _HELD:
                self._forget()
            self._recent[mark] = (text, digest)
        return digest

    def of(self, value: object) -> tuple[str, str, bool]:
        """The canonical text of *value*, its digest, and whether it holds something that JSON lacks."""
        if isinstance(value, str):
            return value, self(value), False
        try:
            data = dumps(value)  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001 - a foreign object, or one of a class that JSON takes for its base
            return self._foreign(value)
        size = len(data)
        mark = (size, data[-32:])
        known = self._values.get(mark)
        if known is not None and known[0] == data:
            return known[1], known[2], False
        try:
            text = _STRICT(value)
        except Exception:  # noqa: BLE001 - marshal writes some things that JSON lacks
            return self._foreign(value)
        digest = self(text)
        if mark not in self._once:
            self._once.add(mark)
        elif size <= _HELD:  # most values come once; keeping them would cost memory for nothing
            self._held += size + len(text) + _ENTRY
            self._values[mark] = (data, text, digest)
        if self._held > _HELD or len(self._once) > _ONCE:
            self._forget()
        return text, digest, False

    def _foreign(self, value: object) -> tuple[str, str, bool]:
        text, foreign = _canonical(value)
        return text, self(text), foreign

    def middle(self, text: str) -> str:
        """The digest of what lies between the edges of *text*, which is longer than ``LONG``."""
        return self._long(text, len(text)).middle

    def _long(self, text: str, size: int) -> _Long:
        mark = (size, text[-EDGE - 32 : -EDGE])
        known = self._longs.get(mark)
        if known is not None and known.shares(text):
            return known
        made = _Long(text, self._keyed)
        if size <= _HELD:
            self._held += size
            if self._held > _HELD:
                self._forget()
            self._longs[mark] = made
        return made

    def _forget(self) -> None:
        self._recent, self._longs, self._values, self._held = {}, {}, {}, 0
        self._once.clear()


class _Long:
    """A long text: the digest of its middle, and the edges and the digest of the latest with that middle."""

    __slots__ = ("_between", "_edges", "_text", "_whole", "middle")

    def __init__(self, text: str, keyed: Any) -> None:
        #: The text itself until another one may share its middle; then only the middle.
        self._text = text
        self._between = ""
        self._edges = ("", "")
        self._whole = ""
        data = memoryview(text.encode("utf-8", "surrogatepass"))
        first, end = EDGE, EDGE
        if len(data) != len(text):
            first, end = (
                len(edge.encode("utf-8", "surrogatepass")) for edge in (text[:EDGE], text[-EDGE:])
            )
        state = keyed.copy()
        state.update(data[first:-end])
        self.middle: str = state.hexdigest()[:24]

    def shares(self, text: str) -> bool:
        """True where *text*, which is as long, has the same middle."""
        if not self._between:
            if text == self._text:
                return True
            half = len(text) // 2
            if text[half : half + 64] != self._text[half : half + 64]:
                return False
            self._between, self._text = self._text[EDGE:-EDGE], ""
        return text.startswith(self._between, EDGE)

    def of(self, text: str, joined: Any) -> str:
        """The digest of *text*, which has this middle."""
        edges = text[:EDGE], text[-EDGE:]
        if edges != self._edges:
            self._edges = edges
            self._whole = _digest(joined, f"{self.middle}{edges[0]}{edges[1]}")
        return self._whole


def _digest(keyed: Any, text: str) -> str:
    state = keyed.copy()
    try:
        state.update(text.encode())
    except UnicodeEncodeError:
        state.update(text.encode("utf-8", "surrogatepass"))
    return state.hexdigest()[:24]  # type: ignore[no-any-return]


def canonical(value: object) -> str:
    """*value* as compact JSON with sorted keys. Every value has one; nothing raises.

    What JSON lacks is spelled: foreign objects by their ``str``, cycles by a marker, integers that
    Python will not print in hexadecimal; depth has no limit.
    """
    return _canonical(value)[0]


def _canonical(value: object) -> tuple[str, bool]:
    try:
        return _STRICT(value), False
    except Exception:  # noqa: BLE001 - a foreign mapping may raise anything
        pass
    try:
        return _LENIENT(value), True
    except Exception:  # noqa: BLE001 - and so may a foreign str
        return spell(value), True


class Payload:
    """Arguments or a result, with the canonical text and the digest that all schemes share.

    Both are made once, when the payload is. A string is its own canonical text. ``foreign``: the value
    holds something that JSON does not have. ``digest_of`` gives the digest of another text.
    """

    __slots__ = ("canonical", "digest", "digest_of", "foreign", "value")

    def __init__(self, value: object, digester: Digester) -> None:
        self.value = value
        self.digest_of = digester
        self.canonical, self.digest, self.foreign = digester.of(value)


class Scheme:
    """How one policy reads a payload. ``name`` carries a version: other digests, other name."""

    name = ""

    def request(self, tool: str, args: Payload, traits: Traits) -> Record:
        """The record of a requested call."""
        raise NotImplementedError

    def outcome(
        self, tool: str, args: Payload, result: Payload, ok: bool, traits: Traits, request: Record
    ) -> Record:
        """The record of its result. *request* is what ``request`` gave."""
        raise NotImplementedError


class ExactScheme(Scheme):
    """Same tool, same arguments with sorted keys; same result to the letter."""

    name = EXACT

    def request(self, tool: str, args: Payload, traits: Traits) -> Record:
        return {"a": args.digest}

    def outcome(
        self, tool: str, args: Payload, result: Payload, ok: bool, traits: Traits, request: Record
    ) -> Record:
        return {"r": result.digest}
