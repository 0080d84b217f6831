"""OpenTelemetry spans of agents: GenAI conventions, OpenInference, Traceloop, pydantic-ai, AI SDK.

As SDKs print them (``to_json``: attributes as an object) and as OTLP/JSON (``resourceSpans``).
"""

from __future__ import annotations

from loopguard_core.importers.base import Importer, array, obj, string, when
from loopguard_core.importers.otel_shapes import WRAPPINGS, raw_spans
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

#: the attributes by which conventions name the same thing
TOOL_NAME = (
    "gen_ai.tool.name",
    "tool.name",
    "traceloop.entity.name",
    "ai.toolCall.name",
    "tool_name",
)
CALL_ID = ("gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id")
ARGUMENTS = (
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "input.value",
    "traceloop.entity.input",
    "ai.toolCall.args",
    "tool.parameters",
    "gcp.vertex.agent.tool_call_args",
)
RESULT = (
    "gen_ai.tool.call.result",
    "tool_response",
    "output.value",
    "traceloop.entity.output",
    "ai.toolCall.result",
    "gcp.vertex.agent.tool_response",
)
_CONVERSATION = (
    "gen_ai.conversation.id",
    "session.id",
    "traceloop.association.properties.session_id",
    "langfuse.session.id",
)
_AGENT = ("gen_ai.agent.name", "agent.name", "agent_name", "traceloop.entity.name")
#: under the names of ``usage.tokens``
_USAGE = {
    "input_tokens": (
        "gen_ai.usage.input_tokens",
        "llm.token_count.prompt",
        "gen_ai.usage.prompt_tokens",
        "ai.usage.inputTokens",
        "ai.usage.promptTokens",
    ),
    "output_tokens": (
        "gen_ai.usage.output_tokens",
        "llm.token_count.completion",
        "gen_ai.usage.completion_tokens",
        "ai.usage.outputTokens",
        "ai.usage.completionTokens",
    ),
    "cache_read_input_tokens": (
        "gen_ai.usage.cache_read.input_tokens",
        "llm.token_count.prompt_details.cache_read",
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.details.cache_read_tokens",
        "ai.usage.cachedInputTokens",
    ),
    "cache_creation_input_tokens": (
        "gen_ai.usage.cache_creation.input_tokens",
        "llm.token_count.prompt_details.cache_write",
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.details.cache_write_tokens",
    ),
    "total_tokens": ("llm.token_count.total", "llm.usage.total_tokens", "ai.usage.totalTokens"),
}
_STARTED = ("startTimeUnixNano", "start_time_unix_nano", "start_time")
_ENDED = ("endTimeUnixNano", "end_time_unix_nano", "end_time")
_COST = ("gen_ai.usage.cost", "llm.cost.total", "operation.cost", "gen_ai.usage.total_cost")
_KINDS = {
    "execute_tool": "tool",
    "TOOL": "tool",
    "tool": "tool",
    "invoke_agent": "agent",
    "AGENT": "agent",
    "agent": "agent",
    "chat": "model",
    "text_completion": "model",
    "generate_content": "model",
    "LLM": "model",
}
_MARKS = ("gen_ai.", "openinference.", "traceloop.", "ai.toolCall", "ai.operationId", "llm.")


class OTel(Importer):
    """Exported spans."""

    name = "otel"
    title = "OpenTelemetry GenAI spans"

    def sniff(self, head: Head) -> float:
        for record in head.records[:20]:
            if WRAPPINGS & obj(record).keys():
                return 0.95
            for span in raw_spans(record)[:20]:
                attributes = _attributes(span)
                if any(k.startswith(_MARKS) for k in attributes):
                    return 0.9
                if "trace_id" in obj(span.get("context")) and "start_time" in span:
                    return 0.5
        return 0.0

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        spans = []
        for number, record in source.records(report):
            raw = raw_spans(record)
            if not raw and not WRAPPINGS & obj(record).keys():
                report.skip("no span", number)
            spans += [span for r in raw if (span := read_span(r)) is not None]
        yield from Spans(spans).events(report, "otel", source.name_session())


def read_span(raw: dict[str, Any]) -> Span | None:
    """What counts of one span, or None where it is no part of an agent's run."""
    attributes = _attributes(raw)
    kind = _kind(attributes, string(raw.get("name"))) or _KINDS.get(
        string(raw.get("span_kind")), ""
    )
    context = obj(raw.get("context"))
    span = Span(
        string(raw.get("spanId") or context.get("span_id") or raw.get("span_id")),
        string(raw.get("parentSpanId") or raw.get("parent_id") or raw.get("parent_span_id")),
        string(raw.get("traceId") or context.get("trace_id") or raw.get("trace_id")),
        kind,
        string(raw.get("name")),
    )
    span.start = when(_number(first(raw, _STARTED)))
    span.end = when(_number(first(raw, _ENDED)))
    span.conversation = string(first(attributes, _CONVERSATION))
    span.agent = string(attributes.get("gen_ai.agent.name") or attributes.get("agent.name"))
    if kind == "tool":
        span.name = string(first(attributes, TOOL_NAME)) or span.name.removeprefix("execute_tool ")
        span.call = string(first(attributes, CALL_ID))
        span.args = arguments(first(attributes, ARGUMENTS))
        span.result = first(attributes, RESULT)
        _outcome(span, raw, attributes)
    elif kind == "agent":
        span.name = string(first(attributes, _AGENT)) or span.name
    elif kind == "model":
        span.calls = _requested(attributes)
        span.used = _used(attributes)
    return span


def _kind(attributes: dict[str, Any], name: str) -> str:
    for key in ("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind"):
        found = _KINDS.get(string(attributes.get(key)))
        if found:
            return found
    if "ai.toolCall.name" in attributes:
        return "tool"
    if name == "running tool" or (
        "gen_ai.tool.name" in attributes and "tool_arguments" in attributes
    ):
        return "tool"
    if name.endswith((".doGenerate", ".doStream")):
        return "model"
    return "agent" if name in ("agent run", "invoke_agent") else ""


def _outcome(span: Span, raw: dict[str, Any], attributes: dict[str, Any]) -> None:
    status = obj(raw.get("status"))
    code = status.get("status_code", status.get("code", raw.get("status_code")))
    raised = [
        _attributes(e) for e in map(obj, array(raw.get("events"))) if e.get("name") == "exception"
    ]
    if (
        code in ("ERROR", "STATUS_CODE_ERROR", "StatusCode.ERROR", 2)
        or raised
        or attributes.get("error.type")
    ):
        span.outcome = "error"
        if span.result is None:
            told = raised[-1].get("exception.message") if raised else None
            span.result = told or status.get("description") or status.get("message")


def _used(attributes: dict[str, Any]) -> dict[str, Any]:
    said = {name: first(attributes, keys) for name, keys in _USAGE.items()}
    return {**tokens(said, inside=True), **money(first(attributes, _COST))}


def _requested(attributes: dict[str, Any]) -> list[str]:
    """Ids of the calls that a model's answer holds."""
    parts = [
        part
        for message in array(arguments(attributes.get("gen_ai.output.messages")))
        for part in array(obj(message).get("parts"))
    ]
    ids = [string(obj(p).get("id")) for p in parts if obj(p).get("type") == "tool_call"]
    ids += [
        string(v)
        for k, v in attributes.items()
        if k.startswith("llm.output_messages") and k.endswith("tool_call.id")
    ]
    return [i for i in ids if i]


def _attributes(holder: dict[str, Any]) -> dict[str, Any]:
    """Attributes as one flat object, whichever way they are written."""
    raw = holder.get("attributes")
    if isinstance(raw, list):
        return {string(obj(a).get("key")): _value(obj(obj(a).get("value"))) for a in raw}
    flat: dict[str, Any] = {}
    _flatten(obj(arguments(raw)), "", flat, 0)
    return flat


def _flatten(nested: dict[str, Any], prefix: str, flat: dict[str, Any], depth: int) -> None:
    for key, value in nested.items():
        name = f"{prefix}{key}"
        flat[name] = value
        if isinstance(value, dict) and depth < 6 and "." not in key:
            _flatten(value, f"{name}.", flat, depth + 1)


def _value(value: dict[str, Any]) -> Any:
    for kind, held in value.items():
        if kind in ("arrayValue", "array_value"):
            return [_value(obj(v)) for v in array(obj(held).get("values"))]
        if kind in ("kvlistValue", "kvlist_value"):
            return {
                string(obj(v).get("key")): _value(obj(obj(v).get("value")))
                for v in array(obj(held).get("values"))
            }
        if kind in ("intValue", "int_value"):
            return int(held) if str(held).lstrip("-").isdigit() else held
        return held
    return None


def first(attributes: dict[str, Any], names: tuple[str, ...]) -> Any:
    """The first of the attributes *names* that is there, or None."""
    return next((attributes[n] for n in names if attributes.get(n) is not None), None)


def _number(value: object) -> object:
    return int(value) if isinstance(value, str) and value.isdigit() else value
