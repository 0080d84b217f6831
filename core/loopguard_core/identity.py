"""Canonical forms and keyed digests of arguments and results.

A policy decides by its own notion of "the same call" and "the same result". Its ``Scheme`` turns the
full original text, before redaction and before any cut, into a small record of digests and flags that
is stored with the event; the fold sees only records. The scheme ``exact`` is always in force: the
window strip, grants "until the result changes" and the console's colours stand on it.
"""

from __future__ import annotations

import json

from loopguard_core.hashing import sha256
from loopguard_core.spelling import encoder, spell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.traits import Traits

    Record = dict[str, Any]

EXACT = "exact"

_LONG = 2_048
_HELD = 8_000_000
_STRICT = encoder()
_LENIENT = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str
).encode


class Digester:
    """Keyed digests: the first 96 bits of SHA-256, as 24 hexadecimal digits.

    The key is the machine's own, so that a stored digest of a short secret cannot be guessed from
    elsewhere. An empty key gives the same digests everywhere (tests, recordings). A loop repeats its
    payloads, so the digests of the last long texts are kept: comparing a text with itself costs a tenth
    of hashing it again.
    """

    __slots__ = ("_held", "_keyed", "_recent")

    def __init__(self, key: bytes = b"") -> None:
        self._keyed = sha256(sha256(key).digest().ljust(64, b"\0") if key else b"")
        self._recent: dict[tuple[int, str, str, str], tuple[str, str]] = {}
        self._held = 0

    def __call__(self, text: str) -> str:
        """The digest of *text*; lone surrogates are hashed as they are."""
        size = len(text)
        if size < _LONG:
            state = self._keyed.copy()
            state.update(text.encode("utf-8", "surrogatepass"))
            return state.hexdigest()[:24]
        middle = size // 2
        mark = (size, text[:32], text[middle : middle + 32], text[-32:])
        known = self._recent.get(mark)
        if known is not None and known[0] == text:
            return known[1]
        digest = self._hash(text)
        if self._held + size > _HELD:
            self._recent, self._held = {}, 0
        if size <= _HELD:
            self._recent[mark] = (text, digest)
            self._held += size
        return digest

    def _hash(self, text: str) -> str:
        state = self._keyed.copy()
        state.update(text.encode("utf-8", "surrogatepass"))
        return state.hexdigest()[:24]


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
    """Arguments or a result, with the canonical text and the digest that schemes share.

    Each is made at most once a payload, however many schemes ask. A string is its own canonical text.
    """

    __slots__ = ("_canonical", "_digest", "_digester", "_foreign", "value")

    def __init__(self, value: object, digester: Digester) -> None:
        self.value = value
        self._digester = digester
        self._canonical: str | None = None
        self._digest: str | None = None
        self._foreign = False

    @property
    def canonical(self) -> str:
        text = self._canonical
        if text is None:
            if isinstance(self.value, str):
                text = self._canonical = self.value
            else:
                text, self._foreign = _canonical(self.value)
                self._canonical = text
        return text

    @property
    def foreign(self) -> bool:
        """True where the value holds something that JSON does not have."""
        return bool(self.canonical) and self._foreign

    @property
    def digest(self) -> str:
        digest = self._digest
        if digest is None:
            digest = self._digest = self._digester(self.canonical)
        return digest

    def digest_of(self, text: str) -> str:
        """The digest of another text that was made from this payload."""
        return self._digester(text)


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
