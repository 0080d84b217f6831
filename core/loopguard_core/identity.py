"""Canonical forms and keyed digests of arguments and results.

A policy decides by its own notion of "the same call" and "the same result". Its ``Scheme`` turns the
full original text, before redaction and before any cut, into a small record of digests and flags that
is stored with the event; the fold sees only records. The scheme ``exact`` is always in force: the
window strip, grants "until the result changes" and the console's colours stand on it.
"""

from __future__ import annotations

from marshal import dumps

from loopguard_core.foreign import is_a
from loopguard_core.hashing import blake2b, sha256
from loopguard_core.interrupts import pass_on
from loopguard_core.plain_json import loads, writer
from loopguard_core.spelling import by_member, in_braces, in_order, member, spell, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.traits import Traits

    Record = dict[str, Any]
    #: Canonical text, digest, whether it is foreign, JSON as given and members (both as far as known).
    Spelled = tuple[str, str, bool, str, dict[str, str] | None]

EXACT = "exact"

#: A text longer than ``LONG`` characters is taken as two edges of ``EDGE`` characters and what lies between.
LONG, EDGE = 32_768, 2_048
_SHORT = 1_024
#: Characters and bytes that are kept, and what an entry counts for beside them; digests of values that are
#: known to have come, and new values in a row after which none is expected to come again.
_HELD, _ENTRY, _ONCE, _TRIES = 8_000_000, 200, 4_096, 16
_LENIENT = writer(sort_keys=True, default=str)


class Digester:
    """Keyed digests of 96 bits, as 24 hexadecimal digits: BLAKE2b of short texts, the beginning of SHA-256 of others.

    Long texts OpenSSL's SHA-256 reads in half the time. But it is large, so that the first digest after a pause
    takes it four times as long as the next, and an agent pauses before each call.

    The key is the machine's own, so that a stored digest of a short secret cannot be guessed from
    elsewhere. An empty key gives the same digests everywhere (tests, recordings).

    A loop repeats its payloads, so the digests of the last ones are kept: comparing a text with itself
    costs a tenth of hashing it again. A value that came before is recognised by its ``marshal`` bytes, which
    are written much faster than JSON and are never read back; equal bytes are equal values, other bytes
    (another order of keys) only mean that the JSON is written. Where values do not come again for a
    while, none is recognised so, which costs nothing. Of a long text the part between the edges is hashed by
    itself, since what changes from one answer to the next (a time, a count) mostly stands at an edge.
    """

    __slots__ = (
        "_brief",
        "_held",
        "_joined",
        "_keyed",
        "_longs",
        "_once",
        "_recent",
        "_tries",
        "_values",
    )

    def __init__(self, key: bytes = b"") -> None:
        self._keyed = sha256(sha256(key).digest().ljust(64, b"\0") if key else b"")
        self._brief = blake2b(digest_size=12, key=key if len(key) <= 64 else sha256(key).digest())
        self._joined = sha256(sha256(b"edges" + key).digest().ljust(64, b"\0"))
        self._recent: dict[tuple[int, str], tuple[str, str]] = {}
        self._longs: dict[tuple[int, str], _Long] = {}
        self._values: dict[tuple[int, bytes], tuple[bytes, Spelled]] = {}
        self._once: dict[str, None] = {}
        self._tries = 0
        self._held = 0

    def digest(self, text: str) -> str:
        """The digest of *text*; lone surrogates are hashed as they are."""
        size = len(text)
        if size <= _SHORT:
            return _hex(self._brief, text)
        if size > LONG:
            return self._long(text, size).of(text, self._joined)
        mark = (size, text[-32:])
        known = self._recent.get(mark)
        if known is not None and known[0] == text:
            return known[1]
        digest = _digest(self._keyed, text)
        self._recent[mark] = (text, digest)
        self._held += size + _ENTRY
        if self._held > _HELD:
            self._forget()
        return digest

    __call__ = digest

    def once(self, text: str) -> str:
        """The digest of a text that is not expected to come again: nothing is kept of it."""
        size = len(text)
        if size <= _SHORT:
            return _hex(self._brief, text)
        return _digest(self._keyed, text) if size <= LONG else self.digest(text)

    def of(self, value: object) -> Spelled:
        """The canonical text of *value*, its digest, and whether it holds something that JSON lacks.

        Of an object also its JSON in its own order and its members' texts, where these came by the way.
        """
        plain = type(value) is dict
        if not plain and is_a(value, str):  # of its own class, whose methods may do anything
            text = str.__str__(value)
            return text, self.digest(text), False, "", None
        if self._tries:
            data = _bytes(value)
            known = self._values.get((len(data), data[-32:]))
            if known is not None and known[0] == data:
                self._tries = _TRIES
                return known[1]
            self._tries -= 1
        try:
            text, given, members = by_member(value) if plain else _whole(value)  # type: ignore[arg-type]
        except BaseException as error:  # noqa: BLE001 - a foreign mapping may raise anything
            pass_on(error)
            text = _lenient(value)
            return text, self.digest(text), True, "", None
        digest = _hex(self._brief, text) if len(text) <= _SHORT else self.once(text)
        spelled = text, digest, False, given, members
        once = self._once
        if digest in once:
            self._repeated(value, spelled)
        else:
            once[digest] = None
            if len(once) > _ONCE:
                once.clear()
        return spelled

    def _repeated(self, value: object, spelled: Spelled) -> None:
        """A value came again: it may well come once more, and is then known by its bytes."""
        self._tries = _TRIES
        data = _bytes(value)
        if data and len(data) <= _HELD:
            # members are not kept: their texts would be held once more
            self._values[len(data), data[-32:]] = (data, (*spelled[:4], None))
            self._hold(len(data) + len(spelled[0]) + len(spelled[3]))

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
            self._longs[mark] = made
            self._hold(size)
        return made

    def _hold(self, size: int) -> None:
        self._held += size + _ENTRY
        if self._held > _HELD:
            self._forget()

    def _forget(self) -> None:
        self._recent, self._longs, self._values, self._held = {}, {}, {}, 0


def _whole(value: object) -> tuple[str, str, None]:
    return write(value), "", None


def _bytes(value: object) -> bytes:
    try:
        return dumps(value)  # type: ignore[arg-type]
    except BaseException as error:  # noqa: BLE001 - a foreign object, or one of a class that JSON takes for its base
        pass_on(error)
        return b""


class _Long:
    """A long text: the digest of its middle, and that of the latest text with this middle.

    Threads share it, so what belongs together is set in one step.
    """

    __slots__ = ("_between", "_latest", "_text", "middle")

    def __init__(self, text: str, keyed: Any) -> None:
        #: The text itself until another one may share its middle; then only the middle.
        self._text = text
        self._between = ""
        self._latest = (("", ""), "")
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
        between = self._between
        if not between:
            known, half = self._text, len(text) // 2
            if text == known:
                return True
            if text[half : half + 64] != known[half : half + 64]:
                return False
            between = self._between = known[EDGE:-EDGE]
            self._text = ""
        return text.startswith(between, EDGE)

    def of(self, text: str, joined: Any) -> str:
        """The digest of *text*, which has this middle."""
        edges = text[:EDGE], text[-EDGE:]
        latest = self._latest
        if latest[0] != edges:
            whole = _digest(joined, f"{self.middle}{edges[0]}{edges[1]}")
            latest = self._latest = (edges, whole)
        return latest[1]


def _digest(keyed: Any, text: str) -> str:
    return _hex(keyed, text)[:24]


def _hex(keyed: Any, text: str) -> str:
    state = keyed.copy()
    try:
        state.update(text.encode())
    except UnicodeEncodeError:
        state.update(text.encode("utf-8", "surrogatepass"))
    return state.hexdigest()  # type: ignore[no-any-return]


def canonical(value: object) -> str:
    """*value* as compact JSON with sorted keys. Every value has one; nothing raises.

    What JSON lacks is spelled: foreign objects by their ``str``, cycles by a marker, integers that
    Python will not print in hexadecimal; depth has no limit.
    """
    try:
        return write(value)
    except BaseException as error:  # noqa: BLE001 - a foreign mapping may raise anything
        pass_on(error)
        return _lenient(value)


def _lenient(value: object) -> str:
    try:
        return _LENIENT(value)
    except BaseException as error:  # noqa: BLE001 - and so may a foreign str
        pass_on(error)
        return spell(value)


class Payload:
    """Arguments or a result, with the canonical text and the digest that all schemes share.

    Both are made once, when the payload is. A string is its own canonical text. ``foreign``: the value
    holds something that JSON does not have. ``text``: its JSON in its own order, empty where that did not come
    by the way. ``digest_of`` gives the digest of another text.
    """

    __slots__ = ("_members", "canonical", "digest", "digest_of", "foreign", "text", "value")

    def __init__(self, value: Any, digester: Digester) -> None:
        self.value = value
        self.digest_of = digester
        if type(value) is str:
            if len(value) <= _SHORT:
                self.digest = _hex(digester._brief, value)
            else:
                self.digest = digester.digest(value)
            self.canonical, self.foreign, self.text = value, False, ""
            self._members = None
        else:
            spelled = digester.of(value)
            self.canonical, self.digest, self.foreign, self.text, self._members = spelled

    def digest_like(self, other: dict[Any, Any]) -> str:
        """The digest of *other*, an object with much the same members: those that are the same are not written anew."""
        members, value = self._members, self.value
        if members is None:
            return self.digest_of.once(canonical(other))
        try:
            texts = []
            for name in in_order(other):
                inner = other[name]
                texts.append(members[name] if inner is value[name] else member(name, inner))
            text = in_braces(texts)
        except BaseException as error:  # noqa: BLE001 - as in ``canonical``
            pass_on(error)
            text = canonical(other)
        return self.digest_of.once(text)

    def plain(self) -> Payload:
        """The same with the value that its canonical text spells, whose methods can be relied on."""
        twin = Payload.__new__(Payload)
        twin.canonical, twin.digest, twin.foreign = self.canonical, self.digest, self.foreign
        twin.digest_of = self.digest_of
        twin.text, twin._members = "", None
        twin.value = self.canonical
        if not is_a(self.value, str):
            try:
                twin.value = loads(self.canonical)
            except (ValueError, RecursionError):
                pass  # too deep, or a number too long: it stays text
        return twin


class Scheme:
    """How one policy reads a payload. ``name`` carries a version: other digests, other name."""

    name = ""
    #: Fields, all of them digests, without which a stored record of a request and of a result says nothing.
    asks: tuple[str, ...] = ("a",)
    answers: tuple[str, ...] = ()

    def fits(self, record: object, *, outcome: bool) -> bool:
        """True where a stored record can be read. Ours always can; a recording may hold anything."""
        if not isinstance(record, dict):
            return False
        for name in self.answers if outcome else self.asks:
            if not isinstance(record.get(name), str):
                return False
        return True

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
    answers = ("r",)

    def request(self, tool: str, args: Payload, traits: Traits) -> Record:
        return {"a": args.digest}

    def outcome(
        self, tool: str, args: Payload, result: Payload, ok: bool, traits: Traits, request: Record
    ) -> Record:
        return {"r": result.digest}
