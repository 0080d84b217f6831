"""An event as a row of the SQLite store, and back, without loss."""

from __future__ import annotations

import gc
import sys

from loopguard_core.events import Event, dump, load
from loopguard_core.hashing import blake2b
from loopguard_core.interrupts import pass_on
from loopguard_core.plain_json import NOT_JSON, encoder, scan
from loopguard_core.plain_json import quote as _quote
from loopguard_core.store import schema
from loopguard_core.store.contract import STANDING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from loopguard_core.events import Judged
    from loopguard_core.redaction.redact import Redactor

#: Fields that may be long; they stand apart, so that a fold never reads them.
HEAVY = ("args", "result", "text")
#: Above this many characters a payload is stored once, by its content.
INLINE = 2_000
#: Above this many characters a field is stored cut; ``cut`` gives its full size.
LIMIT = 1_000_000

#: Bytes of a key's part in databases that bound their keys.
NARROW = 600

#: The types of entries that exist once a call.
OF_CALL = ("call_start", "call_end")
#: The type of an entry that exists once a request -> the column of its table that points to it.
REQUEST_COLUMNS = {
    "request_opened": "opened",
    "request_resolved": "resolved",
    "request_delivered": "delivered",
    "grant": "granted",
}
OF_REQUEST = tuple(REQUEST_COLUMNS)

#: What an event says that waited on its machine while the server was away: the last number of its session's
#: log that was known when it was judged.
SPOOLED = "spooled"

#: Fields of a call that hold no text of the agent's.
_HARMLESS = {"ids", "message", "agent", "outcome", "duration", "last", "dt", "cut", "redacted"} | {
    "host_spans",
    "guessed",
    SPOOLED,
}

_JUDGED = {*_HARMLESS, "verdict"}
#: What a ``usage`` counts, and names beside it.
_COUNTS = ("input", "output", "cache_read", "cache_write", "cost_usd")
_COUNTED = {*_HARMLESS, *_COUNTS}

_MARKS = {
    **dict.fromkeys(STANDING, schema.STANDING),
    "session_start": schema.START,
    "user_message": schema.TURN,
    "reset": schema.RESET,
}

#: A tier's word -> its number.
TIERS = {"allow": 0, "warn": 1, "block": 2, "halt": 3}


_chunks = encoder(allow_nan=False)
_join = "".join
#: What stands before so many digits of a number of six.
_ZEROS = tuple("0" * (6 - size) for size in range(7))


def from_text(text: str) -> Any:
    """The value of JSON that ``to_json`` wrote."""
    try:
        return scan(text, 0)[0]
    except (*NOT_JSON, RecursionError):
        return load(text)


class Row:
    """The columns of one event that its writer knows."""

    __slots__ = ("call", "data", "digest", "mark", "payload", "request", "tier", "tool")

    def __init__(self, tier: int | None, mark: int | None) -> None:
        self.call: str | None = None
        self.request: str | None = None
        self.tool: str | None = None
        self.tier = tier
        self.mark = mark
        self.data: str | None = None
        self.payload: str | None = None
        self.digest: bytes | None = None


def to_json(value: object) -> str:
    """*value* as JSON that SQLite can hold: readable, and ASCII only where UTF-8 cannot carry it."""
    try:
        text = _join(_chunks(value, 0))
        if not text.isascii():
            text.encode()
    except BaseException as error:  # noqa: BLE001 - a foreign object may raise anything
        pass_on(error)
        return dump(value)
    return text


def request_number(name: str, last: int) -> int:
    """The number of a request *name* that comes after number *last*: a given name is never made anew."""
    digits = name[1:] if name.startswith("R") and len(name) < 12 else ""
    given = int(digits) if digits.isascii() and digits.isdigit() else 0
    return max(last + 1, given)


def column(text: str) -> str:
    """*text* as a column can hold it; a lone surrogate is spelled out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def narrow(text: str) -> str:
    """*text* as a column of any database can hold it that is part of a key: without NUL, and not long.

    What is too long keeps its beginning, and a digest of the whole.
    """
    if len(text) <= NARROW // 4 and text.isascii() and "\0" not in text:
        return text
    text = column(text)
    if "\0" in text:
        text = text.replace("\0", "\\x00")
    if len(text) <= NARROW // 4 or len(text.encode()) <= NARROW:
        return text
    return f"{text[: NARROW // 8]}…{content_digest(text).hex()}"


def pack(
    event: Event,
    redactor: Redactor | None = None,
    limit: int = LIMIT,
    *,
    never: bool = False,
    encode: Callable[[dict[str, Any]], str] = to_json,
    spell: Callable[[str], str] | None = None,
) -> Row:
    """The row of *event*. The *redactor* sees every text before it is cut or goes anywhere.

    *never*: what its tool was given and gave is not stored at all. *encode* gives the same text as
    ``to_json``, quicker. *spell* spells a text as a column of the engine can hold it.
    """
    kind = event.type
    rest = event.fields()
    harmless = _HARMLESS
    if kind in OF_CALL:
        row = Row(0, None)
        row.call = _take(rest, "call", spell)
        if kind == "call_start":
            row.tool = _take(rest, "tool", spell)
        verdict = rest.get("verdict")
        if type(verdict) is dict:
            row.tier = TIERS.get(str(verdict.get("tier")), 0)
            # a policy sees digests only; another guard may quote anything
            if "source" not in verdict:
                harmless = _JUDGED
    else:
        row = Row(None, _MARKS.get(kind))
        if kind == "usage":
            if all(type(rest.get(name, 0)) in (int, float) for name in _COUNTS):
                harmless = _COUNTED
        elif kind in OF_REQUEST:
            if kind == "request_resolved":
                limit = sys.maxsize  # arguments that a person gives must reach the agent whole
            row.request = _take(rest, "request", spell)
            if row.request is None and kind == "request_opened":
                rest.pop(
                    "request", None
                )  # what is no name must not stand before the one that it gets
    heavy = {}
    for name in HEAVY:
        if name in rest:
            heavy[name] = rest.pop(name)
    hidden = bool(heavy) and _pack_heavy(
        row, rest, heavy, redactor, limit, never=never, encode=encode
    )
    if rest or hidden:
        text = clean = encode(rest)
        if redactor is not None and not harmless.issuperset(rest):
            clean = redactor(text)
        if hidden or clean is not text:
            clean = to_json({**from_text(clean), "redacted": True})
        row.data = clean
    return row


def _records(ids: dict[str, dict[str, Any]]) -> str:
    """The records of a call as ``to_json`` writes them. For a few short texts that is too much machinery."""
    out = comma = ""
    for name, record in ids.items():
        out, comma = f'{out}{comma}"{name}":{{', ""
        for field, value in record.items():
            kind = type(value)
            if kind is str:
                out = f'{out}{comma}"{field}":{_quote(value)}'
            else:
                out = f'{out}{comma}"{field}":{value if kind is int else to_json(value)}'
            comma = ","
        out, comma = f"{out}}}", ","
    return f"{{{out}}}"


def usual(event: Judged, redactor: Redactor | None, limit: int) -> tuple[str, str] | None:
    """``data`` and ``payload`` of a call's start or end in which nothing is unusual; None where something is.

    An agent waits for this twice a call, so it writes no text that is written already and takes nothing apart.
    """
    data, verdict = event.data, event.verdict
    if verdict is None or len(data) != 5:
        return None
    if event.type == "call_start":
        payload = f'{{"args":{event.args_text or to_json(data["args"])}}}'
        rest = f'{{"message":{_quote(data["message"])}'
    else:
        result = data["result"]
        payload = f'{{"result":{_quote(result) if type(result) is str else to_json(result)}}}'
        lasted = data["duration"]
        micros = int(lasted * 1e6 + 0.5)
        if micros < 1_000_000:  # the shortest text of a float takes much to find
            digits = str(micros)
            lasted = f"0.{_ZEROS[len(digits)]}{digits}"
        rest = f'{{"outcome":"{data["outcome"]}","duration":{lasted}'
    said = verdict.to_text()
    if not said:
        if verdict.source:  # another guard may quote anything
            return None
        said = to_json(verdict.to_json())
    rest = f'{rest},"ids":{_records(data["ids"])},"verdict":{said}'
    if len(payload) > limit or not (rest.isascii() and (payload.isascii() or _fits_utf8(payload))):
        return None
    clean = payload if redactor is None else redactor(payload)
    return f"{rest}}}" if clean is payload else f'{rest},"redacted":true}}', clean


def of_usual(event: Judged, texts: tuple[str, str]) -> Row | None:
    """The row of *event* with the *texts* that ``usual`` gave; None where a column cannot hold a name."""
    data, verdict = event.data, event.verdict
    call, tool = data["call"], data.get("tool")
    if verdict is None or not (call and call.isascii() and tool != "" and (tool or "").isascii()):
        return None
    row = Row(int(verdict.tier), None)
    row.call, row.tool = call, tool
    row.data, row.payload = texts
    if len(texts[1]) > INLINE:
        row.digest = content_digest(texts[1])
    return row


def _fits_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _pack_heavy(
    row: Row,
    rest: dict[str, Any],
    heavy: dict[str, Any],
    redactor: Redactor | None,
    limit: int,
    *,
    never: bool,
    encode: Callable[[dict[str, Any]], str],
) -> bool:
    """Give *row* its payload, and *rest* the size it was cut from; True where something was hidden."""
    if never and redactor is not None:
        row.payload = payload = to_json({n: redactor.marker(dump(v)) for n, v in heavy.items()})
        hidden = True
    else:
        text = encode(heavy)
        if len(text) > limit:
            payload, cut, hidden = _cut(heavy, redactor, limit)
            if cut:
                rest["cut"] = cut
        else:
            payload = text if redactor is None else redactor(text)
            hidden = payload is not text
        row.payload = payload
    if len(payload) > INLINE:
        row.digest = content_digest(payload)
    return hidden


def _take(rest: dict[str, Any], name: str, spell: Callable[[str], str] | None) -> str | None:
    """The field *name* as a column; it leaves *rest* only where the column carries it whole."""
    value = rest.get(name)
    if type(value) is not str or not value:
        return None
    if spell is not None:
        text = spell(value)
    else:
        text = value if value.isascii() else column(value)
    if text == value:
        del rest[name]
    return text


def _cut(heavy: dict[str, Any], redactor: Redactor | None, limit: int) -> tuple[str, int, bool]:
    """The payload with each long field cut to *limit*, the full size cut from, and if any was redacted.

    A field that is no string is cut as its JSON text. Redaction goes before the cut, with a margin:
    half a secret at the edge would not be known as one.
    """
    full, hidden = 0, False
    out: dict[str, Any] = {}
    for name, value in heavy.items():
        text = value if isinstance(value, str) else to_json(value)
        kept: Any = value
        if len(text) > limit:
            full = max(full, len(text))
            kept = text[: limit + 65_536]
        if redactor is not None:
            before = to_json(kept)
            clean = redactor(before)
            if clean is not before:
                hidden = True
                kept = from_text(clean)
        if len(text) > limit and isinstance(kept, str):
            kept = kept[:limit]
        out[name] = kept
    return to_json(out), full, hidden


def content_digest(text: str) -> bytes:
    """By what a payload is found again: 16 bytes over its text as stored."""
    return blake2b(text.encode(), digest_size=16).digest()


def unpack_all(session: str, found: Iterable[tuple[Any, ...]]) -> list[Event]:
    """The events of rows of ``seq, ts, type, call, request, tool, data, payload``, the last NULL where it was not asked for.

    One loop with nothing called in it but the parser: replaying a long session stands on it. Events hold
    no cycles, so nothing is looked for meanwhile, which would take half the time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return [*_unpack(session, found)]
    finally:
        if collecting:
            gc.enable()


def _unpack(session: str, found: Iterable[tuple[Any, ...]]) -> Iterator[Event]:
    new, read = Event.__new__, scan
    for seq, ts, kind, call, request, tool, rest, payload in found:
        try:
            data = {} if rest is None else read(rest, 0)[0]
        except (*NOT_JSON, RecursionError):
            data = _otherwise(rest)
        # What a column could not carry whole stands in the rest, and wins.
        if call is not None and "call" not in data:
            data["call"] = call
        if request is not None and "request" not in data:
            data["request"] = request
        if tool is not None and "tool" not in data:
            data["tool"] = tool
        if payload is not None:
            try:
                data.update(from_text(payload))
            except (TypeError, ValueError):
                data["damaged"] = True
        event = new(Event)
        event.type, event.session, event.seq, event.ts, event.data = kind, session, seq, ts, data
        yield event


def _otherwise(text: str) -> dict[str, Any]:
    """The fields in a *text* that is not as we write it; ``damaged`` where it cannot be read at all."""
    try:
        return dict(load(text))
    except (TypeError, ValueError):
        return {"damaged": True}
