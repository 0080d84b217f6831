"""Traces as the stores of traces give them out: Jaeger, Tempo, Phoenix, Langfuse's API and buckets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from importing import DATA, calls, ends, opened

TOOL = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "search",
    "gen_ai.tool.call.arguments": '{"q": "x"}',
    "gen_ai.tool.call.result": "nothing",
}


def write(folder: Path, value: object) -> Path:
    path = folder / "trace.json"
    path.write_text(json.dumps(value))
    return path


def otlp(kind: str) -> list[dict[str, Any]]:
    return [{"key": k, "value": {kind: v}} for k, v in TOOL.items()]


def test_jaeger(tmp_path: Path) -> None:
    tags = [{"key": k, "type": "string", "value": v} for k, v in TOOL.items()]
    failed = [*tags[:3], {"key": "error", "type": "bool", "value": True}]
    told = [{"key": "event", "value": "exception"}, {"key": "exception.message", "value": "down"}]
    span = {"traceID": "t", "operationName": "execute_tool search", "references": []}
    spans = [
        {**span, "spanID": "a", "startTime": 1_772_359_200_000_000, "duration": 5, "tags": tags},
        {
            **span,
            "spanID": "b",
            "startTime": 1_772_359_201_000_000,
            "duration": 2_000_000,
            "tags": failed,
            "logs": [{"timestamp": 1, "fields": told}],
            "references": [{"refType": "CHILD_OF", "traceID": "t", "spanID": "root"}],
        },
    ]
    path = write(tmp_path, {"data": [{"traceID": "t", "spans": spans, "processes": {}}]})
    ((recording, events),) = opened(path)
    assert recording.format == "otel"
    assert calls(events) == [("search", {"q": "x"}, "ok"), ("search", {"q": "x"}, "error")]
    started, ended = events[-2:]
    assert (started.ts, ended.ts) == (1_772_359_201.0, 1_772_359_203.0)
    assert [e.data["result"] for e in ends(events).values()] == ["nothing", "down"]


def test_tempo_and_names_with_underscores(tmp_path: Path) -> None:
    ids = {"traceId": "dA==", "spanId": "YQ==", "name": "x"}
    times = {"startTimeUnixNano": "1772359200000000000", "endTimeUnixNano": "1772359201000000000"}
    span = {**ids, **times, "attributes": otlp("stringValue")}
    snake = {
        "trace_id": "t",
        "span_id": "a",
        "start_time_unix_nano": "1772359200000000000",
        "end_time_unix_nano": "1772359201000000000",
        "attributes": otlp("string_value"),
    }
    older = {"batches": [{"instrumentationLibrarySpans": [{"spans": [span]}]}]}
    newer = {"trace": {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}}
    plain = {"resource_spans": [{"scope_spans": [{"spans": [snake]}]}]}
    for document in (older, newer, plain):
        ((recording, events),) = opened(write(tmp_path, document))
        assert recording.format == "otel"
        assert calls(events) == [("search", {"q": "x"}, "ok")]
        assert [e.ts for e in events[-2:]] == [1_772_359_200.0, 1_772_359_201.0]


def test_rows_of_a_table_of_spans(tmp_path: Path) -> None:
    row = {
        "name": "search",
        "span_kind": "TOOL",
        "parent_id": None,
        "start_time": 1_772_359_200_000,
        "end_time": 1_772_359_201_000,
        "status_code": "OK",
        "context.trace_id": "t",
        "context.span_id": "a",
        "attributes.openinference.span.kind": "TOOL",
        "attributes.tool.name": "search",
        "attributes.input.value": '{"q": "x"}',
        "attributes.llm.model_name": None,
    }
    ((recording, events),) = opened(write(tmp_path, [row, {**row, "context.span_id": "b"}]))
    assert recording.format == "otel"
    assert calls(events) == [("search", {"q": "x"}, "ok")] * 2


def test_langfuse_pages_of_the_api_and_buckets(tmp_path: Path) -> None:
    document = json.loads((DATA / "langfuse.json").read_text())
    ((_, whole),) = opened("langfuse.json")
    page = {"data": document["observations"], "meta": {"page": 1}}
    spelled = [
        {"".join(f"_{c.lower()}" if c.isupper() else c for c in k): v for k, v in o.items()}
        for o in document["observations"]
    ]
    for shape in (page, spelled):
        found = [(r, calls(events)) for r, events in opened(write(tmp_path, shape))]
        assert [r.format for r, _ in found] == ["langfuse"]
        assert found[0][1] == calls(whole)
    lines = tmp_path / "observations.jsonl"
    lines.write_text("".join(json.dumps(o) + "\n" for o in spelled))
    ((_, events),) = opened(lines)
    assert calls(events) == calls(whole)


def test_langfuse_steps_that_name_no_trace_and_no_tool(tmp_path: Path) -> None:
    asked = {"tool_calls": [{"function": {"name": "search", "arguments": "{}"}}]}
    step = {"startTime": "2026-03-01T10:00:01Z", "level": "DEFAULT"}
    observations = [
        {**step, "id": "a", "type": "GENERATION", "name": "plan", "output": [{"message": asked}]},
        {**step, "id": "b", "type": "SPAN", "name": "search", "input": {"q": "x"}, "output": "y"},
        {**step, "id": "c", "type": "SPAN", "name": "format", "input": {}, "output": "z"},
    ]
    trace = {"id": "t1", "timestamp": "2026-03-01T10:00:00Z", "input": {"question": "what?"}}
    path = write(tmp_path, [{**trace, "observations": observations}])
    ((recording, events),) = opened(path)
    assert (recording.format, recording.session) == ("langfuse", "t1")
    assert calls(events) == [("search", {"q": "x"}, "ok")]
    assert [e.text("text") for e in events if e.type == "user_message"] == ["what?"]


def test_langfuse_results_that_only_an_attribute_tells(tmp_path: Path) -> None:
    attributes = {
        "gen_ai.tool.name": "greet",
        "gen_ai.tool.call.id": "c1",
        "gcp.vertex.agent.tool_call_args": {"to": "x"},
        "output.value": {"response": {"greeting": "hi"}},
    }
    step = {"id": "a", "traceId": "t", "startTime": "2026-03-01T10:00:01Z", "type": "TOOL"}
    told = {**step, "name": "execute_tool greet", "metadata": {"attributes": attributes}}
    document = {"trace": {"id": "t"}, "observations": [{**told, "input": None, "output": {}}]}
    ((_, events),) = opened(write(tmp_path, document))
    assert calls(events) == [("greet", {"to": "x"}, "ok")]
    assert ends(events)["c1"].data["result"] == {"response": {"greeting": "hi"}}
    assert len([e for e in events if e.type == "user_message"]) == 1


def test_langfuse_steps_of_an_agent_that_name_a_tool_are_no_calls(tmp_path: Path) -> None:
    def step(own: str, name: str, **attributes: str) -> dict[str, Any]:
        about = {"id": own, "traceId": "t", "startTime": "2026-03-01T10:00:01Z", "type": "SPAN"}
        return {**about, "name": name, "metadata": {"attributes": attributes}, "input": {"q": "x"}}

    update = {"openinference.span.kind": "AGENT", "tool.name": "search"}
    observations = [
        step("a", "agent.react.update-1", **update),
        step("b", "search", **{"openinference.span.kind": "TOOL", "tool.name": "search"}),
        step("c", "tool.search", **{"gen_ai.tool.name": "search"}),
    ]
    path = write(tmp_path, {"trace": {"id": "t"}, "observations": observations})
    ((_, events),) = opened(path)
    assert [e.data["call"] for e in events if e.type == "call_start"] == ["b", "c"]


def test_langfuse_what_the_human_said_is_found_where_the_trace_leaves_it_out(
    tmp_path: Path,
) -> None:
    asked = {"startTime": "2026-03-01T10:00:01Z", "traceId": "t", "type": "GENERATION", "id": "a"}
    question = {"role": "user", "parts": [{"type": "text", "content": "what?"}]}
    for given, told, text in (
        (None, [question], "what?"),
        (None, [{"role": "user", "content": "and?"}], "and?"),
        (json.dumps({"args": ["solve it"], "kwargs": {}}), [question], "solve it"),
    ):
        trace = {"id": "t", "timestamp": "2026-03-01T10:00:00Z", "input": given}
        document = {"trace": trace, "observations": [{**asked, "input": told}]}
        ((_, events),) = opened(write(tmp_path, document))
        assert [e.text("text") for e in events if e.type == "user_message"] == [text]
