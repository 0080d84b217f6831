"""OpenHands: events of V0 (a list, a folder, ``history`` in output.jsonl) and of the SDK (V1).

Observations name their action by ``cause``. Ids start at 0. Two older shapes have no ids at all: pairs
``[action, observation]`` and flat objects, where the next one is the result.
"""

from __future__ import annotations

from loopguard_core.importers.base import (
    Closed,
    Importer,
    array,
    obj,
    result_of,
    string,
    text_of,
    when,
)
from loopguard_core.importers.reading import arguments, foreign, whole
from loopguard_core.importers.track import Track
from loopguard_core.importers.usage import money, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.head import Head
    from loopguard_core.importers.report import Report
    from loopguard_core.importers.source import Source

_NO_CALL = frozenset(
    {
        "system",
        "recall",
        "change_agent_state",
        "null",
        "initialize",
        "start",
        "pause",
        "resume",
        "condensation",
        "condensation_request",
    }
)
_NOT_ARGUMENTS = frozenset(
    {"action", "thought", "confirmation_state", "security_risk", "is_confirmed", "action_risk"}
)
_QUIET_KINDS = frozenset(
    [
        "ConversationStateUpdateEvent",
        "SystemPromptEvent",
        "PauseEvent",
        "Condensation",
        "CondensationRequest",
        "CondensationSummaryEvent",
        "TokenEvent",
        "LLMCompletionLogEvent",
        "StreamingDeltaEvent",
    ]
)


class OpenHands(Importer):
    """Trajectories and event logs."""

    name = "openhands"
    title = "OpenHands"

    def sniff(self, head: Head) -> float:
        for record in head.records[:20]:
            sure = max((_sure(obj(r)) for r in _opening(record)), default=0.0)
            if sure:
                return sure
        return 0.0

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        name = source.name_session(array(source.head.document)[:1])
        single: _Reader | None = None
        for number, record in source.records(report):
            whole_run = obj(record)
            if isinstance(whole_run.get("history"), list):
                yield from _run(whole_run, report, f"{name}-{number}", number)
                continue
            if single is None:
                single = _Reader(Track(report, name), report)
                yield from single.start({})
            items = array(whole_run.get("trajectory")) or (
                record if isinstance(record, list) else [record]
            )
            for item in items:
                yield from single.item(item, number)
        if single is not None:
            yield from single.finish()


def _opening(record: object) -> list[Any]:
    """The first events in a record, whatever holds them."""
    if isinstance(record, dict):
        held = record.get("history", record.get("trajectory"))
        record = held if isinstance(held, list) and "messages" not in record else [record]
    opening = array(record)[:20]
    return [x for r in opening for x in (r if isinstance(r, list) else [r])]


def _sure(event: dict[str, Any]) -> float:
    kind = string(event.get("kind"))
    if kind.endswith(("Event", "Observation")) and "source" in event:
        return 0.95
    if ("action" in event or "observation" in event) and "source" in event:
        return 0.9
    if (
        isinstance(event.get("action"), str)
        and {"is_confirmed", "action_risk", "args"} & event.keys()
    ):
        return 0.7
    return 0.0


def _run(run: dict[str, Any], report: Report, fallback: str, number: int) -> Iterator[Event]:
    """One line of an output.jsonl: one session."""
    part = string(obj(run.get("issue")).get("number")) or string(run.get("instance_id"))
    reader = _Reader(Track(report, f"{fallback}-{part}" if part else fallback), report)
    yield from reader.start({"part": part or str(number)})
    for item in run["history"]:
        yield from reader.item(item, number)
    yield from reader.finish()
    yield from reader.track.used_in_all(money(obj(run.get("metrics")).get("accumulated_cost")))
    yield Closed(reader.track.session)


class _Reader:
    """The events of one session."""

    def __init__(self, track: Track, report: Report) -> None:
        self.track = track
        self._report = report
        self._count = 0
        self._waiting = ""
        self._actions: dict[str, str] = {}

    def start(self, about: dict[str, Any]) -> Iterator[Event]:
        yield from self.track.start(None, agent="openhands", format="openhands", **about)

    def finish(self) -> Iterator[Event]:
        """The end of the session."""
        yield from self.track.finish()

    def item(self, item: object, number: int) -> Iterator[Event]:
        """An event, or a pair of action and observation."""
        if isinstance(item, list):
            for event in item:
                yield from self.item(event, number)
            return
        event = obj(item)
        if not event:
            self._report.skip(type(item).__name__, number)
        elif isinstance(event.get("kind"), str):
            yield from self._sdk(event, number)
        elif event.get("observation") is not None:
            yield from self._observation(event)
        elif event.get("action") is not None:
            yield from self._action(event)
        elif not {"source", "message"} & event.keys():
            self._report.skip(",".join(list(event)[:3]), number)

    # -- V0 ----------------------------------------------------------------------------------------

    def _action(self, event: dict[str, Any]) -> Iterator[Event]:
        action = string(event["action"])
        ts = when(event.get("timestamp"))
        flat = "args" not in event
        args = event if flat else obj(event.get("args"))
        if action == "message":
            yield self._said(event, text_of(args.get("content")), ts)
            return
        if action in _NO_CALL:
            return
        self._count += 1
        metadata = obj(event.get("tool_call_metadata"))
        own = string(event.get("id")) or f"item-{self._count}"
        self._waiting = own
        response = obj(metadata.get("model_response"))
        used = tokens(response.get("usage"), inside=True)
        yield from self.track.usage(used, ts, message=string(response.get("id")))
        spent = money(obj(event.get("llm_metrics")).get("accumulated_cost"))
        yield from self.track.used_so_far(spent, ts)
        thought = text_of(args.get("thought"))
        if thought:
            yield self.track.event("assistant_text", ts, text=thought)
        yield from self.track.call(
            own,
            action,
            {k: v for k, v in args.items() if k not in _NOT_ARGUMENTS},
            message=string(response.get("id")),
            ts=ts,
        )

    def _said(self, event: dict[str, Any], text: str, ts: float | None) -> Event:
        source = event.get("source")
        if source == "user":
            return self.track.event("user_message", ts, text=text)
        if source == "agent":
            return self.track.event("assistant_text", ts, text=text)
        return self.track.event("turn_start", ts, reason="task", text=text)

    def _observation(self, event: dict[str, Any]) -> Iterator[Event]:
        cause = event.get("cause")
        if cause is None and ("id" in event or not self._waiting):
            return
        call = string(cause) if cause is not None else self._waiting
        self._waiting = ""
        if not self.track.is_open(call) and event["observation"] in ("null", "agent_state_changed"):
            return
        content = event.get("content")
        extras = obj(event.get("extras"))
        code = _exit_code(extras, event)
        text = text_of(content)
        if event["observation"] == "user_rejected":
            outcome = "denied"
        elif (
            event["observation"] == "error"
            or code not in (None, 0, -1)
            or text.startswith("ERROR:")
        ):
            outcome = "error"
        else:
            outcome = "ok"
        yield from self.track.end(
            call, outcome, ts=when(event.get("timestamp")), result=result_of(content)
        )

    # -- SDK ---------------------------------------------------------------------------------------

    def _sdk(self, event: dict[str, Any], number: int) -> Iterator[Event]:
        kind = string(event.get("kind"))
        ts = when(event.get("timestamp"))
        call = string(event.get("tool_call_id")) or self._actions.get(
            string(event.get("action_id")), string(event.get("action_id"))
        )
        if kind == "ActionEvent":
            yield from self._sdk_action(event, ts)
        elif kind == "ObservationEvent":
            yield from self._sdk_observation(call, obj(event.get("observation")), ts)
        elif kind == "AgentErrorEvent":
            yield from self.track.end(call, "error", ts=ts, result=event.get("error"))
        elif kind == "UserRejectObservation":
            reason = text_of(event.get("rejection_reason"))
            if event.get("rejection_source") == "hook":
                verdict = foreign("block", reason, "hook")
                yield from self.track.end(call, "blocked", ts=ts, result=reason, verdict=verdict)
            else:
                yield from self.track.end(call, "denied", ts=ts, result=reason)
        elif kind == "MessageEvent":
            message = obj(event.get("llm_message"))
            yield self._said(event, text_of(message.get("content")), ts)
        elif kind == "ConversationErrorEvent":
            yield self.track.event("system_message", ts, text=text_of(event.get("detail")))
        elif kind == "ConversationStateUpdateEvent" and event.get("key") == "stats":
            yield from self.track.used_so_far(_stats(obj(event.get("value"))), ts)
        elif kind not in _QUIET_KINDS:
            self._report.skip(kind, number)

    def _sdk_action(self, event: dict[str, Any], ts: float | None) -> Iterator[Event]:
        own = string(event.get("tool_call_id")) or string(event.get("id"))
        self._actions[string(event.get("id"))] = own
        thought = text_of(event.get("thought"))
        if thought:
            yield self.track.event("assistant_text", ts, text=thought)
        action = event.get("action")
        requested = obj(event.get("tool_call"))
        if isinstance(action, dict):
            args: Any = {k: v for k, v in action.items() if k != "kind"}
        else:
            args = arguments(requested.get("arguments"))
        yield from self.track.call(
            own,
            string(event.get("tool_name") or requested.get("name")) or "unknown",
            args,
            message=string(event.get("llm_response_id")),
            ts=ts,
        )

    def _sdk_observation(
        self, call: str, observation: dict[str, Any], ts: float | None
    ) -> Iterator[Event]:
        code = _exit_code(observation, observation)
        content = observation.get("content", observation.get("output"))
        failed = observation.get("is_error") is True or code not in (None, 0, -1)
        texts = [
            {"text": string(b.get("text"))} if obj(b).get("type") == "text" else b
            for b in array(content)
        ]
        yield from self.track.end(
            call, "error" if failed else "ok", ts=ts, result=result_of(texts or content)
        )


def _stats(value: dict[str, Any]) -> dict[str, Any]:
    """What all models of a conversation have used up so far."""
    out: dict[str, Any] = {}
    for metrics in map(obj, obj(value.get("usage_to_metrics")).values()):
        used = tokens(metrics.get("accumulated_token_usage"), inside=True)
        for name, amount in {**used, **money(metrics.get("accumulated_cost"))}.items():
            out[name] = out.get(name, 0) + amount
    return out


def _exit_code(*places: dict[str, Any]) -> int | None:
    for place in places:
        for holder in (place, obj(place.get("metadata"))):
            code = whole(holder.get("exit_code"))
            if code is not None:
                return code
    return None
