"""Langfuse exports: a trace with its observations.

A tool is an observation of type TOOL, or a SPAN that says so: by its attributes, or as a child of
LangGraph's ``tools`` node.
"""

from __future__ import annotations

import ast

from loopguard_core.importers.base import Importer, array, obj, string, text_of, when
from loopguard_core.importers.otel import ARGUMENTS, CALL_ID, RESULT, TOOL_NAME, first
from loopguard_core.importers.reading import arguments
from loopguard_core.importers.spans import Span, Spans
from loopguard_core.importers.usage import money, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.head import Head
    from loopguard_core.importers.report import Report
    from loopguard_core.importers.source import Source


class Langfuse(Importer):
    """Traces exported from Langfuse."""

    name = "langfuse"
    title = "Langfuse"

    def sniff(self, head: Head) -> float:
        for record in head.records[:20]:
            for _, observations in _traces(record):
                if any(_is_step(o) for o in observations[:20]):
                    return 0.95
        return 0.0

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        spans: list[Span] = []
        for number, record in source.records(report):
            traces = _traces(record)
            if not traces:
                report.skip("no trace", number)
            for trace, observations in traces:
                spans += _spans(trace, [o for o in observations if _is_step(o)])
        yield from Spans(spans).events(report, "langfuse", source.name_session(), human=True)


def _traces(record: object) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each trace with its observations, whatever holds them."""
    if isinstance(record, list):
        held = [_camel(r) for r in record if isinstance(r, dict)]
        if held and all(map(_is_observation, held[:5])):
            return [({}, held)]
        return [t for r in record if isinstance(r, dict) for t in _traces(r)]
    whole = _camel(obj(record))
    observations = [_camel(o) for o in array(whole.get("observations")) if isinstance(o, dict)]
    if observations:
        return [(obj(whole.get("trace")) or whole, observations)]
    if _is_observation(whole):
        return [({}, [whole])]
    page = whole.get("data")  # of the API
    return _traces(page) if isinstance(page, (list, dict)) else []


def _camel(record: dict[str, Any]) -> dict[str, Any]:
    """*record* with the API's names where an export to a bucket spells them with underscores."""
    if "trace_id" not in record and "parent_observation_id" not in record:
        return record
    return {_name(k): v for k, v in record.items()}


def _name(name: str) -> str:
    first_word, *more = name.split("_")
    return first_word + "".join(map(str.capitalize, more))


def _is_step(record: dict[str, Any]) -> bool:
    """True for an observation inside its trace, where it need not say whose it is."""
    return isinstance(record.get("type"), str) and "startTime" in record


def _is_observation(record: dict[str, Any]) -> bool:
    return _is_step(record) and ("parentObservationId" in record or "traceId" in record)


def _spans(trace: dict[str, Any], observations: list[dict[str, Any]]) -> list[Span]:
    by_id = {string(o.get("id")): o for o in observations}
    kinds = {string(o.get("id")): _kind(o, by_id) for o in observations}
    if "tool" not in kinds.values():
        _guess_tools(observations, kinds)
    spans = []
    trace_id = string(trace.get("id")) or string(
        observations[0].get("traceId") if observations else ""
    )
    if trace_id:
        root = Span(f"trace-{trace_id}", "", trace_id, "agent", string(trace.get("name")))
        root.start = when(trace.get("timestamp"))
        root.text = _said(trace.get("input")) or _said_first(observations)
        spans.append(root)
    for raw in observations:
        own = string(raw.get("traceId")) or trace_id
        span = Span(
            string(raw.get("id")),
            string(raw.get("parentObservationId")) or f"trace-{own}",
            own,
            kinds[string(raw.get("id"))],
            string(raw.get("name")),
        )
        span.start, span.end = when(raw.get("startTime")), when(raw.get("endTime"))
        if span.kind == "tool":
            _fill(span, raw, by_id)
        elif span.kind == "model":
            span.used = _used(raw)
        spans.append(span)
    return spans


def _fill(span: Span, raw: dict[str, Any], by_id: dict[str, dict[str, Any]]) -> None:
    attributes = _attributes(raw)
    named = string(first(attributes, TOOL_NAME)) or span.name
    span.name = named.removeprefix("execute_tool ")
    given = raw.get("input")
    span.args = _literal(arguments(first(attributes, ARGUMENTS) if given is None else given))
    told = raw.get("output")  # some frameworks leave it empty and say it in an attribute
    span.result = first(attributes, RESULT) if told in (None, {}) else told
    if span.result is None:
        span.result = told
    span.call = string(first(attributes, CALL_ID))
    answer = obj(arguments(raw.get("output")))
    if answer.get("tool_call_id"):
        span.call = string(answer["tool_call_id"])
    parent = string(raw.get("parentObservationId"))
    if _node(by_id.get(parent, {})) == "tools":
        span.message = parent
    if raw.get("level") == "ERROR" or answer.get("status") == "error":
        span.outcome = "error"
        if span.result is None:
            span.result = raw.get("statusMessage")


def _used(raw: dict[str, Any]) -> dict[str, Any]:
    older = obj(raw.get("usage"))
    if string(older.get("unit")).upper() not in ("", "TOKENS"):
        older = {}
    used = tokens(raw.get("usageDetails"), inside=False) or tokens(older, inside=False)
    costs = (obj(raw.get("costDetails")).get("total"), raw.get("totalCost"))
    return {**used, **money(*costs, raw.get("calculatedTotalCost"), older.get("totalCost"))}


def _kind(raw: dict[str, Any], by_id: dict[str, dict[str, Any]]) -> str:
    kind = string(raw.get("type")).upper()
    if kind == "TOOL":
        return "tool"
    if kind == "GENERATION":
        return "model"
    attributes = _attributes(raw)
    said = attributes.get("openinference.span.kind") or attributes.get("gen_ai.operation.name")
    named = bool({"tool.name", "gen_ai.tool.name"} & attributes.keys())
    if said in ("TOOL", "execute_tool") or (
        named and not said
    ):  # an agent's step may name a tool, too
        return "tool"
    parent = by_id.get(string(raw.get("parentObservationId")), {})
    inside = _node(parent) == "tools" and parent.get("name") != "tools"
    if kind == "SPAN" and _node(raw) == "tools" and raw.get("name") != "tools" and not inside:
        return "tool"
    return "agent" if kind == "AGENT" else ""


def _guess_tools(observations: list[dict[str, Any]], kinds: dict[str, str]) -> None:
    """Where nothing says what a tool is: a span that is named as a model's answer asked for."""
    asked = {name for o in observations for name in _asked_in(arguments(o.get("output")), 0)}
    for raw in observations:
        if string(raw.get("type")).upper() == "SPAN" and string(raw.get("name")) in asked:
            kinds[string(raw.get("id"))] = "tool"


def _asked_in(answer: object, depth: int) -> Iterator[str]:
    """The tools that a model's answer asks for, wherever its calls stand in it."""
    if depth > 6:
        return
    for inner in array(answer):
        yield from _asked_in(inner, depth + 1)
    for name, inner in obj(answer).items():
        if name == "tool_calls":
            for call in map(obj, array(inner)):
                yield string(obj(call.get("function")).get("name") or call.get("name"))
        elif isinstance(inner, (dict, list)):
            yield from _asked_in(inner, depth + 1)


def _node(raw: dict[str, Any]) -> str:
    return string(obj(arguments(raw.get("metadata"))).get("langgraph_node"))


def _attributes(raw: dict[str, Any]) -> dict[str, Any]:
    metadata = obj(arguments(raw.get("metadata")))
    return obj(arguments(metadata.get("attributes")))


def _literal(value: Any) -> Any:
    """Arguments that a framework wrote as Python's repr, as the value they show."""
    if isinstance(value, str) and value[:1] in "{[" and len(value) < 1_000_000:
        try:
            found = ast.literal_eval(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return value
        return found if isinstance(found, (dict, list)) else value
    return value


def _said_first(observations: list[dict[str, Any]]) -> str:
    """What the human said, where only the first answer of a model tells it."""
    answers = [o for o in observations if string(o.get("type")).upper() == "GENERATION"]
    answers.sort(key=lambda o: string(o.get("startTime")))
    return next((text for o in answers if (text := _said(o.get("input")))), "")


def _said(value: object) -> str:
    """What the human said, in a trace's input."""
    for _ in range(2):
        value = arguments(value)
    messages = array(obj(value).get("messages")) or array(value)
    said = [
        text_of(obj(m).get("content", obj(m).get("parts")))
        for m in messages
        if obj(m).get("role") == "user" or obj(m).get("type") == "human"
    ]
    if said:
        return said[-1]
    if isinstance(obj(value).get("new_message"), dict):
        return text_of(obj(value)["new_message"].get("parts"))
    given = [a for a in array(obj(value).get("args")) if isinstance(a, str)]  # of a traced function
    if given:
        return given[-1]
    for name in ("input", "query", "question", "message", "prompt"):
        if isinstance(obj(value).get(name), str):
            return string(obj(value)[name])
    return value if isinstance(value, str) and len(value) < 10_000 else ""
