"""What a policy sees of an event: records instead of payloads.

Stored records are used as they are; one that is missing (a recording, another policy's scheme) is made
from the payload, as far as that was stored.
"""

from __future__ import annotations

from loopguard_core.events import Judged, compared
from loopguard_core.identity import EXACT, Digester, ExactScheme, Payload
from loopguard_core.interrupts import pass_on
from loopguard_core.policies.base import Call, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.identity import Record, Scheme
    from loopguard_core.traits import Traits, TraitTable


class Reading:
    """Reads with the schemes of one policy, and always with ``exact``.

    *ours*: the records were made here, so that none has to be looked at.
    """

    __slots__ = ("_digester", "_names", "_others", "_ours", "_schemes", "_traits")

    def __init__(
        self, schemes: Sequence[Scheme], traits: TraitTable, digester: Digester, *, ours: bool
    ) -> None:
        self._ours = ours
        self._others = tuple(scheme for scheme in schemes if scheme.name != EXACT)
        self._schemes: tuple[Scheme, ...] = (ExactScheme(), *self._others)
        self._names = frozenset(scheme.name for scheme in self._schemes)
        self._traits = traits
        self._digester = digester

    def request(
        self, tool: str, args: Payload, annotations: Mapping[str, Any] | None = None
    ) -> dict[str, Record]:
        """The records of a requested call, one a scheme."""
        traits = self._traits.of(tool, annotations)
        found = {EXACT: {"a": args.digest}}
        for scheme in self._others:
            try:
                found[scheme.name] = scheme.request(tool, args, traits)
            except BaseException as error:  # noqa: BLE001 - a foreign object may raise anything, also when it is compared
                pass_on(error)
                found[scheme.name] = scheme.request(tool, args.plain(), traits)
        return found

    def outcome(
        self,
        tool: str,
        args: Payload,
        result: Payload,
        ok: bool,
        request: Mapping[str, Record],
        annotations: Mapping[str, Any] | None = None,
    ) -> dict[str, Record]:
        """The records of a result, one a scheme."""
        traits = self._traits.of(tool, annotations)
        found = {EXACT: {"r": result.digest}}
        for scheme in self._others:
            name = scheme.name
            asked = request[name]
            try:
                found[name] = scheme.outcome(tool, args, result, ok, traits, asked)
            except BaseException as error:  # noqa: BLE001 - as above
                pass_on(error)
                plain = args.plain(), result.plain()
                found[name] = scheme.outcome(tool, *plain, ok, traits, asked)
        return found

    def makes(self, event: Event) -> bool:
        """Whether records of a call's event are missing, so that they are made from its payload."""
        if event.data.get("outcome") in ("blocked", "pending"):
            return False  # what did not run has no answer
        stored = event.data.get("ids")
        return not isinstance(stored, dict) or not self._names <= stored.keys()

    def call_of(self, event: Event, last_ts: float | None) -> tuple[Call, object]:
        """The call of a ``call_start`` and its arguments, identified where that had to be done here.

        *last_ts* is the time of the event before it.
        """
        data, ts = event.data, event.ts
        gap = None if ts is None or last_ts is None else ts - last_ts
        if self._ours and type(event) is Judged:
            agent = data.get("agent", "")
            call = Call(data["call"], data["tool"], data["ids"], data["message"], agent, ts, gap)
            return call, data["args"]
        said = data.get("dt")
        tool = str(data["tool"])
        records, complete = self._stored(data.get("ids"), outcome=False)
        approximate, args = False, data.get("args")
        if not complete:
            approximate = bool(data.get("cut") or data.get("redacted"))
            args = asked = Payload(args, self._digester)
            traits = self._traits.of(tool, data.get("traits"))
            for scheme in self._schemes:
                if scheme.name not in records:
                    records[scheme.name] = scheme.request(tool, asked, traits)
        call = Call(
            str(data["call"]),
            tool,
            records,
            str(data.get("message") or ""),
            str(data.get("agent") or ""),
            ts,
            gap if said is None else said,
            approximate,
        )
        return call, args

    def outcome_of(
        self,
        event: Event,
        call: Call,
        args: object,
        start: Event | None,
        closes: bool,
    ) -> Outcome:
        """The outcome of a ``call_end``; *closes*: no other call of its message is open.

        *args* are those that ``call_of`` gave with *call*, and *start* the event it read, as far as these are known.
        """
        data = event.data
        if self._ours and type(event) is Judged:
            return Outcome(data["outcome"], data["ids"], event.ts, data["duration"], closes)
        kind = str(data["outcome"])
        records, complete = self._stored(data.get("ids"), outcome=True)
        if not complete and kind != "pending":
            traits = self._traits.of(call.tool, None if start is None else start.data.get("traits"))
            self._complete(records, call, args, traits, compared(data), kind)
        duration = data.get("duration")
        last = data.get("last")
        return Outcome(
            kind,
            records,
            event.ts,
            float(duration) if isinstance(duration, (int, float)) else None,
            closes if last is None else bool(last),
        )

    def _stored(self, ids: object, *, outcome: bool) -> tuple[dict[str, Record], bool]:
        """The stored records that can be read, and whether these are all."""
        if not isinstance(ids, dict):
            return {}, False
        if self._ours and self._names <= ids.keys():
            return ids, True
        for scheme in self._schemes:
            record = ids.get(scheme.name)
            if record is None or not scheme.fits(record, outcome=outcome):
                return self._readable(ids, outcome), False
        return ids, True

    def _readable(self, ids: dict[str, Record], outcome: bool) -> dict[str, Record]:
        """Those of *ids* that can be read, in a dict of the caller's own."""
        found = dict(ids)
        for scheme in self._schemes:
            if scheme.name in found and not scheme.fits(found[scheme.name], outcome=outcome):
                del found[scheme.name]
        return found

    def _complete(
        self,
        records: dict[str, Record],
        call: Call,
        args: object,
        traits: Traits,
        answer: object,
        kind: str,
    ) -> None:
        asked = args if isinstance(args, Payload) else Payload(args, self._digester)
        result = Payload(answer, self._digester)
        for scheme in self._schemes:
            if scheme.name not in records:
                request = call.records[scheme.name]
                records[scheme.name] = scheme.outcome(
                    call.tool, asked, result, kind == "ok", traits, request
                )
