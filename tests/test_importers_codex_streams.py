"""What ``codex exec --json`` prints, and rollouts with little in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from importing import calls, ends, opened, texts


def lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


def item(kind: str, state: str = "completed", **more: Any) -> dict[str, Any]:
    return {"type": f"item.{state}", "item": {"type": kind, **more}}


def test_items_of_a_thread(tmp_path: Path) -> None:
    command = {"id": "item_1", "command": "bash -lc 'make test'"}
    remote: dict[str, Any] = {
        "id": "item_2",
        "server": "docs",
        "tool": "find",
        "arguments": {"q": "x"},
    }
    found = {"content": [{"type": "text", "text": "nothing"}]}
    records = [
        {"type": "thread.started", "thread_id": "th-1"},
        {"type": "turn.started"},
        item("agent_message", id="item_0", text="I will run the tests."),
        item("command_execution", "started", status="in_progress", **command),
        item(
            "command_execution",
            aggregated_output="2 failed",
            exit_code=1,
            status="failed",
            **command,
        ),
        item("mcp_tool_call", status="completed", result=found, **remote),
        item("mcp_tool_call", status="failed", error={"message": "down"}, **{**remote, "id": "3"}),
        item("command_execution", status="declined", exit_code=None, id="4", command="rm -r /"),
        item("file_change", id="5", changes=[{"path": "a", "kind": "add"}], status="completed"),
        item("todo_list", "updated", id="6", items=[]),
        item("command_execution", "started", id="7", command="sleep 99", status="in_progress"),
        {"type": "turn.completed", "usage": {"input_tokens": 1}},
        {"type": "turn.started"},
        item("command_execution", id="item_1", command="ls", exit_code=0, status="completed"),
    ]
    ((recording, events),) = opened(lines(tmp_path / "run.jsonl", records))
    assert (recording.format, recording.session) == ("codex", "th-1")
    assert [(tool, outcome) for tool, _, outcome in calls(events)] == [
        ("shell", "error"),
        ("docs.find", "ok"),
        ("docs.find", "error"),
        ("shell", "denied"),
        ("apply_patch", "ok"),
        ("shell", "pending"),
        ("shell", "ok"),
    ]
    assert len(texts(events)) == 2
    results = [e.data.get("result") for e in ends(events).values()]
    assert results[:3] == ["2 failed", "nothing", "down"]


def test_messages_of_the_protocol(tmp_path: Path) -> None:
    def message(kind: str, **more: Any) -> dict[str, Any]:
        return {"id": "0", "msg": {"type": kind, **more}}

    shown = {"Ok": {"content": [{"type": "text", "text": "hi"}], "isError": True}}
    records = [
        {"model": "gpt-5", "workdir": "/home/dev/app", "sandbox": "read-only"},
        {"prompt": "run it"},
        message("task_started"),
        message("exec_command_begin", call_id="c1", command=["ls"], cwd="/home/dev/app"),
        message("exec_command_output_delta", call_id="c1", chunk=[1]),
        message("exec_command_end", call_id="c1", stdout="a", stderr="b", exit_code=2),
        message("mcp_tool_call_begin", call_id="c2", invocation={"server": "s", "tool": "t"}),
        message("mcp_tool_call_end", call_id="c2", result=shown),
        message("patch_apply_begin", call_id="c3", changes={"a": {}}),
        message("turn_aborted", reason="interrupted"),
    ]
    ((_, events),) = opened(lines(tmp_path / "run.jsonl", records))
    assert [(tool, outcome) for tool, _, outcome in calls(events)] == [
        ("shell", "error"),
        ("s.t", "error"),
        ("apply_patch", "cancelled"),
    ]
    assert texts(events) == ["run it"]
    assert ends(events)["c1"].data["result"] == "ab"


def test_a_rollout_without_events_has_its_turns_from_the_prompts(tmp_path: Path) -> None:
    def line(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-03-01T10:00:00Z", "type": kind, "payload": payload}

    def said(role: str, text: str) -> dict[str, Any]:
        kind = "input_text" if role == "user" else "output_text"
        content = [{"type": kind, "text": text}]
        return line("response_item", type="message", role=role, content=content)

    searched = {"type": "tool_search_call", "call_id": "c1", "arguments": {"query": "x"}}
    answer = {"type": "tool_search_output", "call_id": "c1", "tools": [{"name": "git"}]}
    hosted = {"type": "mcp_tool_call", "call_id": "c2", "server": "fs", "tool": "read"}
    shown = {"Ok": {"content": [{"type": "text", "text": "hi"}]}}
    records = [
        line("session_meta", id="r-1", cwd="/home/dev/app"),
        said("user", "<environment_context>…</environment_context>"),
        said("user", "build it"),
        said("assistant", "Searching."),
        line("response_item", **searched),
        line("response_item", **answer),
        line("response_item", arguments={"path": "a"}, **hosted),
        line("event_msg", type="mcp_tool_call_end", call_id="c2", result=shown),
        said("user", "and now test it"),
        said("assistant", "Done."),
    ]
    ((recording, events),) = opened(lines(tmp_path / "rollout.jsonl", records))
    assert texts(events) == ["build it", "and now test it"]
    assert [(tool, outcome) for tool, _, outcome in calls(events)] == [
        ("tool_search", "ok"),
        ("fs.read", "ok"),
    ]
    assert ends(events)["c2"].data["result"] == "hi"
    assert not recording.report.unknown
