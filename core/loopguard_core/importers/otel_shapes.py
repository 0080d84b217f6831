"""In what spans are wrapped: OTLP and what Tempo makes of it, Jaeger, Phoenix, bare lists and lines."""

from __future__ import annotations

from loopguard_core.importers.base import array, obj, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

#: names that hold spans by resource, and in it by instrumentation
WRAPPINGS = frozenset({"resourceSpans", "resource_spans", "batches"})
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "ilSpans")
_COLUMN = "attributes."


def raw_spans(record: object) -> list[dict[str, Any]]:
    """The spans in a line or a document, each as SDKs or OTLP have it; empty where there are none."""
    if isinstance(record, list):
        return [s for r in record if isinstance(r, dict) for s in raw_spans(r)]
    whole = obj(record)
    if wrapped := WRAPPINGS & whole.keys():
        return list(_by_resource(array(whole[min(wrapped)])))
    if isinstance(whole.get("trace"), dict) and WRAPPINGS & whole["trace"].keys():
        return raw_spans(whole["trace"])
    if "traceID" in whole and isinstance(whole.get("spans"), list):
        return [_from_jaeger(s) for s in whole["spans"] if isinstance(s, dict)]
    for name in ("spans", "data"):
        if isinstance(whole.get(name), list):
            held = [s for s in whole[name] if isinstance(s, dict)]
            return [t for s in held for t in raw_spans(s)] if _wraps(held) else held
    if "attributes" in whole:
        return [whole]
    return [_from_columns(whole)] if any(k.startswith(_COLUMN) for k in whole) else []


def _wraps(held: list[dict[str, Any]]) -> bool:
    return bool(held) and isinstance(held[0].get("spans"), list)


def _by_resource(resources: list[Any]) -> Iterator[dict[str, Any]]:
    for resource in map(obj, resources):
        for scopes in (array(resource.get(name)) for name in _SCOPES):
            for scope in map(obj, scopes):
                yield from (s for s in array(scope.get("spans")) if isinstance(s, dict))


def _from_jaeger(span: dict[str, Any]) -> dict[str, Any]:
    """A span of Jaeger's JSON; its times are microseconds."""
    tags = _tags(span.get("tags"))
    above = (
        string(r.get("spanID"))
        for r in map(obj, array(span.get("references")))
        if r.get("refType") == "CHILD_OF"
    )
    failed = tags.get("error") is True or tags.get("otel.status_code") == "ERROR"
    logs = [_tags(obj(log).get("fields")) for log in array(span.get("logs"))]
    started, took = span.get("startTime"), span.get("duration")
    ended = started + took if isinstance(started, int) and isinstance(took, int) else None
    return {
        "traceId": span.get("traceID"),
        "spanId": span.get("spanID"),
        "parentSpanId": next(above, ""),
        "name": span.get("operationName"),
        "start_time": started,
        "end_time": ended,
        "attributes": tags,
        "status": {"code": "ERROR", "message": tags.get("otel.status_description")}
        if failed
        else {},
        "events": [{"name": fields.get("event"), "attributes": fields} for fields in logs],
    }


def _tags(tags: object) -> dict[str, Any]:
    return {string(t.get("key")): t.get("value") for t in map(obj, array(tags))}


def _from_columns(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a table of spans, as Phoenix writes its data frames."""
    attributes = {
        k.removeprefix(_COLUMN): v
        for k, v in row.items()
        if k.startswith(_COLUMN) and v is not None
    }
    context = {n: row.get(f"context.{n}") for n in ("trace_id", "span_id")}
    rest = {k: v for k, v in row.items() if not k.startswith((_COLUMN, "context."))}
    return {**rest, "context": context, "attributes": attributes}
