"""The vocabulary of the event log and its JSON Lines codec (version 1).

An event has a type, a session, a sequence number that is gapless within the session (from 1), and a
time in seconds since the epoch or None where a recording has none. Everything else stands in ``data``
under the names of ``TYPES``; unknown fields and unknown types survive a round trip.
"""

from __future__ import annotations

from loopguard_core.foreign import is_a, unsaid
from loopguard_core.interrupts import pass_on
from loopguard_core.plain_json import dumps, loads, writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from loopguard_core.verdict import Verdict

VERSION = 1
OUTCOMES = ("ok", "error", "blocked", "denied", "cancelled", "pending")

# type -> the fields without which the event says nothing
TYPES: dict[str, tuple[str, ...]] = {
    "session_start": (),
    "session_end": (),
    "turn_start": (),
    "user_message": (),
    "assistant_text": (),
    "system_message": (),
    "call": ("tool",),
    "call_start": ("call", "tool"),
    "call_end": ("call", "outcome"),
    "request_opened": ("request", "call", "tier"),
    "request_resolved": ("request", "resolution"),
    "request_delivered": ("request",),
    "grant": ("grant", "scope"),
    "revoke": ("grant",),
    "reset": (),
    "halt": (),
    "resume": (),
    "breakpoint": (),
    "label": (),
    "note": (),
    "gap": ("count",),
    "usage": (),
}

#: Why a session says that it starts although its calls run on: under other settings, without its server, in another
#: store, in another process as well, or in that one since another has left.
GOES_ON = ("configuration", "outage", "replaced", "beside", "left")
#: What happens beside the calls: the time between two of them goes on. Only with its first start a session's begins.
ASIDE = ("usage", "session_start")

_DEEPEST = 200
_INFINITE, _FAR = float("inf"), 1e300


class EventError(ValueError):
    """A line that is not an event: what is wrong, and where."""

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(f"{where}: {what}" if where else what)
        self.what = what
        self.where = where


class Event:
    """One entry of the log."""

    __slots__ = ("data", "seq", "session", "ts", "type")

    def __init__(
        self,
        type: str,
        session: str = "",
        *,
        seq: int = 0,
        ts: float | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        self.type = type
        self.session = session
        self.seq = seq
        self.ts = ts
        self.data: dict[str, Any] = {} if data is None else data

    def text(self, name: str) -> str:
        """The field *name* where it is a string, else the empty string."""
        value = self.data.get(name)
        return value if isinstance(value, str) else ""

    def fields(self) -> dict[str, Any]:
        """All of the event's fields, in a dict of the caller's own."""
        return self.data.copy()

    def to_json(self) -> dict[str, Any]:
        """The event as one JSON object."""
        head: dict[str, Any] = {"type": self.type}
        if self.session:
            head["session"] = self.session
        if self.seq:
            head["seq"] = self.seq
        ts = time_of(self.ts)
        if ts is not None:
            head["ts"] = ts
        return head | self.fields()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Event({self.to_json()!r})"


class Judged(Event):
    """A call's start or end as the process writes it that judges the call.

    ``data`` has ``call``, ``tool``, ``args``, ``message`` and ``ids``, or ``call``, ``outcome``, ``result``,
    ``duration`` and ``ids``, and seldom more: names are texts and ``ids`` has all records. ``verdict``
    stands beside it and is made a field only where somebody wants all of them. ``args_text`` is the JSON of
    ``args`` in their own order, empty where that did not come by the way. ``named``: the call got its name
    just now, so that it cannot have started before.
    """

    __slots__ = ("args_text", "named", "verdict")

    def __init__(
        self,
        type: str,
        session: str,
        ts: float,
        data: dict[str, Any],
        args_text: str = "",
        named: bool = False,
    ) -> None:
        self.type = type
        self.session = session
        self.seq = 0
        self.ts = ts
        self.data = data
        self.args_text = args_text
        self.named = named
        self.verdict: Verdict | None = None

    def fields(self) -> dict[str, Any]:
        verdict = self.verdict
        return self.data.copy() if verdict is None else {**self.data, "verdict": verdict.to_json()}


def portable(value: object, depth: int = 0, above: tuple[int, ...] = ()) -> Any:
    """*value* as JSON can carry it: what JSON lacks is named in words, nothing raises.

    NaN and infinities become strings, foreign objects their ``repr``, cycles and what lies deeper
    than 200 levels a short marker, integers that Python will not print their size.
    """
    try:
        return _portable(value, depth, above)
    except BaseException as error:  # noqa: BLE001 - a foreign object may raise anything
        pass_on(error)
        return unsaid(value, error)


def _portable(value: object, depth: int, above: tuple[int, ...]) -> Any:
    if value is None or value is True or value is False:
        return value
    if is_a(value, str):
        return str.__str__(value)
    if is_a(value, int):
        return (
            int(value) if value.bit_length() < 14_000 else f"<integer of {value.bit_length()} bits>"
        )
    if is_a(value, float):
        return float(value) if -_INFINITE < value < _INFINITE else str(value)
    if is_a(value, (dict, list, tuple)):
        if id(value) in above:
            return "<cycle>"
        if depth >= _DEEPEST:
            return "<nested too deeply>"
        inside = (*above, id(value))
        if is_a(value, dict):
            return {_key(k): portable(v, depth + 1, inside) for k, v in value.items()}
        return [portable(v, depth + 1, inside) for v in value]
    if is_a(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "backslashreplace")
    return repr(value)


def _key(key: object) -> str:
    if is_a(key, str):
        return str.__str__(key)
    if key is None or is_a(key, (bool, int, float)):
        return dumps(portable(key))
    return str(portable(key))


#: what JSON lacks is seldom more than an object here and there: the rest goes a hundred times as fast
_write_portable = writer(ascii=True, allow_nan=False, default=portable)


def dump(value: object) -> str:
    """*value* as one line of JSON. Never raises: see ``portable``."""
    try:
        return _write_portable(value)
    except BaseException as error:  # noqa: BLE001 - a foreign object may raise anything
        pass_on(error)
        return dumps(portable(value))


class TooDeep(ValueError):
    """JSON that is nested more deeply than Python parses it."""


def load(text: str | bytes) -> Any:
    """The JSON value in *text*. Integers that Python will not parse stay strings.

    Raises ``ValueError`` where it is not JSON, ``TooDeep`` where it is nested too deeply.
    """
    try:
        return loads(text)
    except RecursionError:
        raise TooDeep("nested too deeply to be read") from None
    except ValueError as error:
        if type(error) is not ValueError:  # of the parser, or of what decodes its text
            raise
        return loads(text, parse_int=_integer)  # an integer of more digits than Python parses


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) < 4_000 else digits


def compared(data: Mapping[str, Any]) -> Any:
    """The result in a ``call_end`` as identity sees it: without the host's bookkeeping.

    ``host_spans`` names the parts of the text, as [start, end) in characters, that the host wrote and
    that differ from call to call without meaning: chunk ids, wall times, a guard's own advice.
    """
    result = data.get("result")
    spans = data.get("host_spans")
    if not spans or not isinstance(result, str) or data.get("redacted"):
        return result
    kept, at = [], 0
    for start, end in spans:
        kept.append(result[at:start])
        at = end
    kept.append(result[at:])
    return "".join(kept)


def encode(event: Event) -> str:
    """The event as one line of JSON, without the line end. A field that ``decode`` would not take is left out."""
    raw = event.to_json()
    if event.type in TYPES:
        for name in _CHECKED.keys() & raw.keys():
            if not _fits(name, raw[name]):
                del raw[name]
    return dump(raw)


def decode(line: str | bytes, where: str = "") -> Event:
    """The event in one line of JSON. Raises ``EventError`` naming *where*."""
    try:
        raw = load(line)
    except ValueError as error:
        raise EventError(f"not JSON: {error}", where) from None
    if not isinstance(raw, dict):
        raise EventError(f"an event is a JSON object, this is {type(raw).__name__}", where)
    return from_json(raw, where)


def _number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return -_FAR <= value <= _FAR


def time_of(ts: object) -> float | None:
    """*ts* in seconds since the epoch; None, which is unknown, where it is no number that the codec can carry."""
    if type(ts) is float and -_FAR <= ts <= _FAR:
        return ts
    return float(ts) if isinstance(ts, (int, float)) and _number(ts) else None


def _spans(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(span, list) and len(span) == 2 and all(type(end) is int for end in span)
        for span in value
    )


def _objects(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(inner, dict) for inner in value.values())


#: Fields that are read with more than ``str``: what fits, and what it is called.
_CHECKED: dict[str, tuple[Callable[[object], bool], str]] = {
    **dict.fromkeys(
        ("dt", "duration", "expires", "deadline", "late_until"), (_number, "a number of seconds")
    ),
    "budget": (lambda value: type(value) is int, "a whole number of calls"),
    "traits": (lambda value: isinstance(value, dict), "an object"),
    "verdict": (lambda value: isinstance(value, dict), "an object"),
    "ids": (_objects, "an object with a record for each scheme"),
    "host_spans": (_spans, "a list of [start, end] in characters"),
}


def _fits(name: str, value: object) -> bool:
    return value is None or _CHECKED[name][0](value)


def from_json(raw: dict[str, Any], where: str = "") -> Event:
    """The event in a JSON object. Raises ``EventError`` naming *where*."""
    data = dict(raw)
    kind = data.pop("type", None)
    if not isinstance(kind, str) or not kind:
        raise EventError('an event needs a type, such as "call"', where)
    session = data.pop("session", "")
    seq = data.pop("seq", 0)
    ts = data.pop("ts", None)
    if not isinstance(session, str):
        raise EventError("session is not a string", where)
    if not isinstance(seq, int) or isinstance(seq, bool) or seq < 0:
        raise EventError("seq is not a whole number from 1", where)
    if ts is not None and not _number(ts):
        raise EventError("ts is not a number of seconds since the epoch", where)
    for name in TYPES.get(kind, ()):
        if name not in data:
            raise EventError(f"{kind} needs the field {name}", where)
    if kind in ("call", "call_start") and not isinstance(data["tool"], str):
        raise EventError("tool is not a string", where)
    if kind in ("call_start", "call_end") and not isinstance(data["call"], str):
        raise EventError("call is not a string", where)
    if kind == "call_end" and data["outcome"] not in OUTCOMES:
        raise EventError(f"outcome is not one of {', '.join(OUTCOMES)}", where)
    if kind in TYPES:
        for name in _CHECKED.keys() & data.keys():
            if not _fits(name, data[name]):
                raise EventError(f"{name} is not {_CHECKED[name][1]}", where)
    return Event(kind, session, seq=seq, ts=None if ts is None else float(ts), data=data)


def expand(events: Iterable[Event], session: str = "recording") -> Iterator[tuple[int, Event]]:
    """Recorded events in full: ``(index in the input, event)``.

    A ``call`` becomes ``call_start`` and ``call_end``; absent session, seq, call and message are filled
    in; ``dt`` (seconds since the event before) also becomes ``ts``, counted from 0 where no time was given.
    ``last`` on a ``call_end`` says whether it closes its message, which only a recording knows.
    """
    seqs: dict[str, int] = {}
    clocks: dict[str, float] = {}
    pending: tuple[int, Event] | None = None
    for index, event in enumerate(events):
        if pending is not None:
            yield from _place(*pending, _follows(pending[1], event), seqs, clocks, session)
        pending = (index, event)
    if pending is not None:
        yield from _place(*pending, False, seqs, clocks, session)


def _follows(event: Event, after: Event) -> bool:
    message = event.data.get("message")
    return message is not None and after.type == "call" and after.data.get("message") == message


def _place(
    index: int,
    event: Event,
    followed: bool,
    seqs: dict[str, int],
    clocks: dict[str, float],
    default: str,
) -> Iterator[tuple[int, Event]]:
    session = event.session or default
    data = dict(event.data)
    ts = event.ts
    if ts is None and isinstance(data.get("dt"), (int, float)):
        ts = clocks.get(session, 0.0) + float(data["dt"])
    if ts is not None:
        clocks[session] = ts
    seq = seqs.get(session, 0)
    if event.type != "call":
        seqs[session] = seq + 1
        yield index, Event(event.type, session, seq=seq + 1, ts=ts, data=data)
        return
    seqs[session] = seq + 2
    call = str(data.pop("call", "") or f"call-{index}")
    start = {"call": call, "tool": data.pop("tool"), "args": data.pop("args", None)}
    message = data.pop("message", None)
    start["message"] = call if message is None else str(message)
    for name in ("agent", "verdict", "traits", "dt"):
        if name in data:
            start[name] = data.pop(name)
    end = {"call": call, "outcome": _outcome(data), "result": data.pop("result", None), **data}
    if followed:
        end["last"] = False
    yield index, Event("call_start", session, seq=seq + 1, ts=ts, data=start)
    ended = ts
    if ts is not None and isinstance(end.get("duration"), (int, float)):
        ended = ts + float(end["duration"])
    yield index, Event("call_end", session, seq=seq + 2, ts=ended, data=end)


def _outcome(data: dict[str, Any]) -> str:
    outcome = data.pop("outcome", None)
    ok = data.pop("ok", True)
    if data.pop("denied", False):
        return "denied"
    if outcome in OUTCOMES:
        return str(outcome)
    return "ok" if ok else "error"
