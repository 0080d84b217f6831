"""Inspect logs, OpenTelemetry spans and Langfuse traces: order, batches, agents inside tool calls."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import zstandard

from importing import DATA, calls, ends, opened, texts


def test_inspect_events_are_preferred_and_attachments_put_back() -> None:
    (one, events), (child, inside), (two, messages) = opened("inspect.json")
    assert [(t, o) for t, _, o in calls(events)] == [
        ("read", "error"),
        ("bash", "ok"),
        ("bash", "denied"),
        ("helper", "ok"),
    ]
    assert calls(events)[0][1] == {"path": "long text"}
    assert ends(events)["c2"].data["result"] == "long text"
    assert ends(events)["c3"].data["verdict"]["source"] == "inspect"
    batches = [e.data["message"] for e in events if e.type == "call_start"]
    assert batches[0] == batches[1] != batches[2]
    assert (one.part, two.part) == ("one", "one_epoch_2")
    assert child.parent == one.session
    assert calls(inside) == [("read", {"path": "b"}, "ok")]
    assert [(t, o) for t, _, o in calls(messages)] == [("read", "error")]
    assert texts(events) == texts(messages) == ["do it"]


def test_inspect_archives_open_whatever_their_compression(tmp_path: Path) -> None:
    want = [e for _, e in opened("inspect.json")]
    assert [e for _, e in opened("inspect.eval")] == want
    packed = tmp_path / "zstd.eval"
    with zipfile.ZipFile(DATA / "inspect.eval") as archive:
        packed.write_bytes(_zstd_archive({n: archive.read(n) for n in archive.namelist()}))
    assert [e for _, e in opened(packed)] == want


def _zstd_archive(members: dict[str, bytes]) -> bytes:
    """A zip whose members are compressed with method 93, which zipfile here cannot write."""
    body, directory = b"", b""
    for name, content in members.items():
        data = zstandard.compress(content)
        sizes = struct.pack("<IIIHH", zlib.crc32(content), len(data), len(content), len(name), 0)
        common = struct.pack("<HHHHH", 63, 0, 93, 0, 33) + sizes
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + common
        directory += struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + name.encode()
        body += b"PK\x03\x04" + common + name.encode() + data
    count = len(members)
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end


def test_spans_are_put_in_order_and_batched_by_the_models_answer() -> None:
    (main, events), (child, inside) = opened("otel.json")
    assert [(a["path"], o) for _, a, o in calls(events)] == [
        ("x", "error"),
        ("a", "ok"),
        ("sub", "ok"),
    ]
    assert ends(events)["c1"].data["result"] == "no x"
    batches = [e.data["message"] for e in events if e.type == "call_start"]
    assert batches[0] == batches[1] != batches[2]
    assert main.session == "conv-1"
    assert child.parent == "conv-1"
    assert calls(inside) == [("read_file", {"path": "b"}, "ok")]
    assert texts(events) == []
    assert len(texts(events, "turn_start")) == 1


def test_otlp_lines_openinference_and_traceloop() -> None:
    ((recording, events),) = opened("otlp.jsonl")
    assert calls(events) == [
        ("search", {"q": "x"}, "ok"),
        ("search", {"q": "x"}, "error"),
        ("fetch", {"inputs": {"u": 1}}, "ok"),
    ]
    assert recording.session == "bb"
    assert events[0].ts == 1772359201.0


def test_pretty_printed_spans_one_after_the_other_open(tmp_path: Path) -> None:
    spans = json.loads((DATA / "otel.json").read_text())
    path = tmp_path / "console.json"
    path.write_text("\n".join(json.dumps(s, indent=4) for s in spans))
    assert [e for _, e in opened(path)] == [e for _, e in opened("otel.json")]


def test_langfuse_tools_by_type_attributes_and_langgraph_node() -> None:
    ((recording, events),) = opened("langfuse.json")
    assert calls(events) == [
        ("Web-Search", {"q": "x", "n": 1}, "ok"),
        ("fetch", {"u": 1}, "error"),
        ("lookup", {"k": 2}, "ok"),
    ]
    assert ends(events)["o4"].data["result"] == "timed out"
    assert texts(events) == ["search it"]
    assert recording.session == "tr-1"


def test_phoenix_exports_open(tmp_path: Path) -> None:
    span: dict[str, Any] = {
        "name": "search",
        "context": {"trace_id": "t", "span_id": "s"},
        "span_kind": "TOOL",
        "parent_id": None,
        "start_time": "2026-03-01T10:00:00+00:00",
        "end_time": "2026-03-01T10:00:01+00:00",
        "status_code": "ERROR",
        "status_message": "no index",
        "attributes": {"openinference": {"span": {"kind": "TOOL"}}, "tool": {"name": "search"}},
        "events": [],
    }
    path = tmp_path / "spans.json"
    path.write_text(json.dumps({"data": [span], "next_cursor": None}))
    ((_, events),) = opened(path)
    assert [(t, o) for t, _, o in calls(events)] == [("search", "error")]


def test_langfuse_spans_of_frameworks_name_their_tool_in_attributes(tmp_path: Path) -> None:
    document = json.loads((DATA / "langfuse.json").read_text())
    document["trace"]["input"] = json.dumps([{"role": "user", "parts": [{"content": "tell"}]}])
    attributes = {"gen_ai.tool.name": "joke", "tool_arguments": '{"topic": "x"}'}
    tool = next(o for o in document["observations"] if o["name"] == "lookup")
    tool |= {"name": "running tool", "input": None, "output": None}
    tool["metadata"] = {"attributes": {**attributes, "tool_response": "ha"}}
    path = tmp_path / "langfuse.json"
    path.write_text(json.dumps(document))
    ((_, events),) = opened(path)
    assert calls(events)[-1] == ("joke", {"topic": "x"}, "ok")
    assert ends(events)["o7"].data["result"] == "ha"
    assert texts(events) == ["tell"]


def test_inspect_logs_before_spans_nest_events_and_keep_texts_in_a_transcript(
    tmp_path: Path,
) -> None:
    document = json.loads((DATA / "inspect.json").read_text())
    sample = document["samples"][0]
    events = [e for e in sample.pop("events") if e["event"] in ("model", "tool", "approval")]
    inner = [e for e in events if e["span_id"] == "s3"]
    outer = [e for e in events if e["span_id"] != "s3"]
    next(e for e in outer if e.get("function") == "helper")["events"] = inner
    text = json.dumps({"events": [{"event": "subtask", "events": outer}], "content": {"h1": "T"}})
    sample["transcript"] = json.loads(text.replace("attachment://", "tc://"))
    del sample["attachments"]
    document["samples"] = [sample]
    path = tmp_path / "old.json"
    path.write_text(json.dumps(document))
    (_, main), (child, inside) = opened(path)
    assert [(t, o) for t, _, o in calls(main)] == [
        ("read", "error"),
        ("bash", "ok"),
        ("bash", "denied"),
        ("helper", "ok"),
    ]
    assert calls(main)[0][1] == {"path": "T"}
    assert calls(inside) == [("read", {"path": "b"}, "ok")]
    assert child.part.startswith("one/")
