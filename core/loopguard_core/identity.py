"""Canonical forms and keyed digests of arguments and results.

A policy decides by its own notion of "the same call" and "the same result". Its ``Scheme`` turns the
full original text, before redaction and before any cut, into a small record of digests and flags that
is stored with the event; the fold sees only records. The scheme ``exact`` is always in force: the
window strip, grants "until the result changes" and the console's colours stand on it.
"""

from __future__ import annotations

import json
from hashlib import blake2b

from loopguard_core.events import portable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.traits import Traits

    Record = dict[str, Any]

EXACT = "exact"


class Digester:
    """Keyed digests: blake2b, 12 bytes, as 24 hexadecimal digits.

    The key is the machine's own, so that a stored digest of a short secret cannot be guessed from
    elsewhere. An empty key gives the same digests everywhere (tests, recordings).
    """

    __slots__ = ("_empty",)

    def __init__(self, key: bytes = b"") -> None:
        self._empty = blake2b(key=key, digest_size=12)

    def __call__(self, text: str) -> str:
        """The digest of *text*; lone surrogates are hashed as they are."""
        state = self._empty.copy()
        state.update(text.encode("utf-8", "surrogatepass"))
        return state.hexdigest()


def canonical(value: object) -> str:
    """*value* as compact JSON with sorted keys. Every value has one; nothing raises.

    What JSON lacks (cycles, foreign objects, mixed keys, extreme depth) is named as ``portable`` does.
    """
    try:
        return json.dumps(
            value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str
        )
    except Exception:  # noqa: BLE001 - a foreign str or a mapping may raise anything
        return json.dumps(
            portable(value), ensure_ascii=False, sort_keys=True, separators=(",", ":")
        )


class Payload:
    """Arguments or a result, with the canonical text and the digest that schemes share.

    Each is made at most once a payload, however many schemes ask. A string is its own canonical text.
    """

    __slots__ = ("_canonical", "_digest", "_digester", "value")

    def __init__(self, value: object, digester: Digester) -> None:
        self.value = value
        self._digester = digester
        self._canonical: str | None = None
        self._digest: str | None = None

    @property
    def canonical(self) -> str:
        if self._canonical is None:
            value = self.value
            self._canonical = value if isinstance(value, str) else canonical(value)
        return self._canonical

    @property
    def digest(self) -> str:
        if self._digest is None:
            self._digest = self._digester(self.canonical)
        return self._digest


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
