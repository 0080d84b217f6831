"""Transcripts with odd records among good ones: what is good is read, what is not is said."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from importing import calls, ends, opened, texts
from loopguard_core.events import compared
from loopguard_core.importers import Unreadable, open_recordings

_META = {"type": "session_meta", "timestamp": "2026-03-01T10:00:00Z", "payload": {"id": "odd-1"}}


def written(path: Path, *records: object) -> Path:
    """*records* as JSON Lines; bytes are written as they are."""
    lines = [r if isinstance(r, bytes) else json.dumps(r).encode() for r in records]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def codex(*items: dict[str, Any]) -> list[object]:
    """A rollout with these items of its conversation."""
    stamp = "2026-03-01T10:00:01Z"
    return [_META, *({"type": "response_item", "timestamp": stamp, "payload": i} for i in items)]


def command(call: str, output: object) -> list[dict[str, Any]]:
    """A command and its output."""
    arguments = json.dumps({"cmd": "make"})
    asked = {"type": "function_call", "name": "exec_command", "arguments": arguments}
    return [
        {**asked, "call_id": call},
        {"type": "function_call_output", "call_id": call, "output": output},
    ]


@pytest.mark.parametrize(
    ("first", "bad"),
    [
        (json.dumps({"type": "attic", "held": "y" * 300_000}).encode(), 0),
        (b"\0" * 64, 0),
        (b'{"type":' + b"[" * 100_000, 1),
        (b'{"type": "session_me', 1),
    ],
)
def test_a_first_line_that_says_nothing_does_not_hide_the_format(
    tmp_path: Path, first: bytes, bad: int
) -> None:
    file = written(tmp_path / "r.jsonl", first, *codex(*command("c1", "ok")))
    ((recording, events),) = opened(file)
    assert recording.session == "odd-1"
    assert calls(events) == [("exec_command", {"cmd": "make"}, "ok")]
    assert recording.report.bad_lines == bad


def test_content_nested_without_end_stops_nothing(tmp_path: Path) -> None:
    deep: Any = "word"
    for _ in range(400):
        deep = [deep]
    said = {"type": "message", "role": "assistant", "content": deep}
    file = written(tmp_path / "r.jsonl", *codex(said, *command("c1", deep), *command("c2", "ok")))
    ((recording, events),) = opened(file)
    assert [outcome for _, _, outcome in calls(events)] == ["ok", "ok"]
    assert recording.report.clean


def test_a_document_nested_without_end_gives_one_line(tmp_path: Path) -> None:
    file = tmp_path / "deep.json"
    file.write_text("[" * 400 + "]" * 400)
    with pytest.raises(Unreadable, match="not a transcript"):
        list(open_recordings(file))


def test_a_text_block_without_text_is_an_empty_one(tmp_path: Path) -> None:
    action = {"kind": "ActionEvent", "id": "a1", "source": "agent", "tool_name": "terminal"}
    seen = {"kind": "ObservationEvent", "id": "o1", "source": "environment", "action_id": "a1"}
    file = written(
        tmp_path / "e.jsonl",
        {**action, "tool_call_id": "c1", "action": {"command": "ls"}},
        {**seen, "tool_call_id": "c1", "observation": {"content": [{"type": "text"}]}},
        {**action, "id": "a2", "tool_call_id": "c2", "action": {"command": "pwd"}},
    )
    ((recording, events),) = opened(file)
    assert [outcome for _, _, outcome in calls(events)] == ["ok", "pending"]
    assert recording.report.clean


def test_what_a_codex_script_printed_of_a_command_counts(tmp_path: Path) -> None:
    def printed(chunk: str, wall: float, code: int) -> str:
        held = {"chunk_id": chunk, "wall_time_seconds": wall, "exit_code": code, "output": "no"}
        return f"Script completed\nWall time {wall} seconds\nOutput:\n\n{json.dumps(held)}"

    file = written(
        tmp_path / "r.jsonl",
        *codex(
            *command("c1", printed("a1", 0.25, 1)),
            *command("c2", printed("b2", 1.5, 1)),
            *command("c3", printed("c3", 0.5, 0)),
        ),
    )
    ((_, events),) = opened(file)
    assert [outcome for _, _, outcome in calls(events)] == ["error", "error", "ok"]
    ended = ends(events)
    assert compared(ended["c1"].data) == compared(ended["c2"].data)
    assert compared(ended["c1"].data) != compared(ended["c3"].data)


def test_a_long_command_before_the_exit_code_does_not_hide_it(tmp_path: Path) -> None:
    repeated = f"Command: bash -lc 'cat <<E\n{'x' * 5_000}\nOutput:\nE'\n"
    output = (
        f"{repeated}Chunk ID: ab\nWall time: 1.0 seconds\nProcess exited with code 3\nOutput:\n"
    )
    ((_, events),) = opened(written(tmp_path / "r.jsonl", *codex(*command("c1", output))))
    assert [outcome for _, _, outcome in calls(events)] == ["error"]


def test_a_command_that_its_human_stopped_was_refused(tmp_path: Path) -> None:
    outputs = ["aborted by user after 9.4s", "Wall time: 2.0 seconds\naborted by user"]
    items = [i for n, output in enumerate(outputs) for i in command(f"c{n}", output)]
    ((_, events),) = opened(written(tmp_path / "r.jsonl", *codex(*items)))
    assert [outcome for _, _, outcome in calls(events)] == ["denied", "denied"]


def test_tools_of_a_simulated_human_are_not_the_agents(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "it is slow"},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c1", "name": "look_up", "arguments": {"n": 1}}],
        },
        {"role": "tool", "id": "c1", "content": "found", "requestor": "assistant", "error": False},
        {
            "role": "user",
            "content": None,
            "tool_calls": [{"id": "u1", "name": "restart", "arguments": {}, "requestor": "user"}],
        },
        {"role": "tool", "id": "u1", "content": "restarted", "requestor": "user", "error": False},
        {"role": "user", "content": "better"},
    ]
    file = tmp_path / "results.json"
    file.write_text(
        json.dumps({"simulations": [{"task_id": "t", "trial": 0, "messages": messages}]})
    )
    ((recording, events),) = opened(file)
    assert calls(events) == [("look_up", {"n": 1}, "ok")]
    assert texts(events) == ["it is slow", "better"]
    assert recording.report.clean


def gemini_document(own: str, *calls_made: str) -> dict[str, Any]:
    """A Gemini chat of the older form."""
    made = [{"id": c, "name": c, "args": {}, "status": "success", "result": []} for c in calls_made]
    said = {"id": "m1", "type": "gemini", "content": "", "toolCalls": made}
    return {"sessionId": own, "projectHash": "h", "messages": [said]}


@pytest.mark.parametrize("indent", [None, 1])
def test_several_gemini_documents_are_several_sessions(tmp_path: Path, indent: int | None) -> None:
    documents = [gemini_document("a", "one"), gemini_document("b", "two", "three")]
    file = tmp_path / "both.json"
    file.write_text("\n".join(json.dumps(d, indent=indent) for d in documents))
    found = {r.session: [tool for tool, _, _ in calls(events)] for r, events in opened(file)}
    assert found == {"a": ["one"], "b": ["two", "three"]}


def test_only_lines_that_could_not_be_read_are_named_so(tmp_path: Path) -> None:
    lines = codex(*command("c1", "ok"))
    broken = [b"{broken"] * 7
    file = written(tmp_path / "r.jsonl", *lines, {"type": "new", "payload": {}}, *broken)
    ((recording, _),) = opened(file)
    said = recording.report.lines_for_people()
    assert said[0] == "7 lines could not be read (5, 6, 7, 8, 9, …)"


def test_compressed_data_cut_before_its_first_line_says_so(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl.gz"
    whole = gzip.compress(json.dumps(_META).encode() * 50)
    file.write_bytes(whole[: len(whole) // 3])
    with pytest.raises(Unreadable, match="the compressed data ends early"):
        list(open_recordings(file))


def test_spans_of_a_graphs_tools_are_calls_and_what_runs_inside_is_not(tmp_path: Path) -> None:
    def span(own: str, name: str, parent: str, second: int, kind: str = "SPAN") -> dict[str, Any]:
        stamp = f"2026-03-01T10:00:{second:02d}Z"
        about = {"metadata": {"langgraph_node": "tools"}, "input": "{'n': 1}", "output": "x"}
        times = {"startTime": stamp, "endTime": stamp}
        return {
            "id": own,
            "type": kind,
            "name": name,
            "traceId": "t",
            "parentObservationId": parent,
            **times,
            **about,
        }

    observations = [
        span("w", "tools", "root", 1),
        span("a", "search", "w", 2),
        span("b", "parse", "a", 3),
        span("c", "route", "w", 4, "CHAIN"),
        span("d", "fetch", "root", 5),
    ]
    file = tmp_path / "trace.json"
    file.write_text(json.dumps({"trace": {"id": "t"}, "observations": observations}))
    ((_, events),) = opened(file)
    assert [(tool, args) for tool, args, _ in calls(events)] == [
        ("search", {"n": 1}),
        ("fetch", {"n": 1}),
    ]
