"""Gemini CLI, Copilot CLI, opencode and pi: outcomes by each format's own rules, turns, batches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from importing import calls, ends, opened, texts
from loopguard_core.events import compared


def outcomes(name: str, session: int = 0) -> list[tuple[str, str]]:
    return [(tool, outcome) for tool, _, outcome in calls(opened(name)[session][1])]


def test_gemini_records_that_are_written_again_replace_what_they_were() -> None:
    ((recording, events),) = opened("gemini.jsonl")
    assert outcomes("gemini.jsonl") == [
        ("run_shell_command", "error"),
        ("run_shell_command", "error"),
        ("read_file", "ok"),
        ("run_shell_command", "blocked"),
        ("write_file", "cancelled"),
        ("read_file", "pending"),
    ]
    assert texts(events) == ["read it", "another way"]
    assert recording.session == "gem-1"
    messages = [e.data["message"] for e in events if e.type == "call_start"]
    assert messages[1] == messages[2] != messages[0]


def test_gemini_verdicts_of_hooks_and_of_its_own_loop_detection() -> None:
    ((_, events),) = opened("gemini.jsonl")
    ended = ends(events)
    assert ended["c4"].data["verdict"]["source"] == "hook"
    assert ended["c2"].data["verdict"]["reason"] == "advice n=2"
    assert compared(ended["c1"].data) == compared(ended["c2"].data)
    injected = [e for e in events if e.type == "system_message" and "verdict" in e.data]
    assert injected[0].data["verdict"]["source"] == "gemini-cli"


def test_gemini_older_documents_open() -> None:
    ((recording, events),) = opened("gemini.json")
    assert calls(events) == [("list_directory", {"path": "."}, "ok")]
    assert texts(events) == ["list"]
    assert recording.session == "gem-old"


def test_copilot_exit_codes_hooks_rejections_and_subagents() -> None:
    (main, events), (child, inside) = opened("copilot.jsonl")
    assert outcomes("copilot.jsonl") == [
        ("bash", "error"),
        ("view", "ok"),
        ("bash", "error"),
        ("bash", "blocked"),
        ("bash", "denied"),
        ("task", "cancelled"),
        ("bash", "cancelled"),
    ]
    assert texts(events) == ["read it"]
    ended = ends(events)
    assert compared(ended["c1"].data) == compared(ended["c3"].data)
    assert ended["c3"].data["verdict"]["tier"] == "warn"
    assert (child.parent, len(calls(inside))) == (main.session, 1)
    assert main.report.unknown == {"zebra": 1}


def test_opencode_failures_stand_in_the_metadata() -> None:
    ((recording, events),) = opened("opencode.json")
    assert outcomes("opencode.json") == [
        ("bash", "error"),
        ("read", "ok"),
        ("bash", "denied"),
        ("bash", "error"),
        ("bash", "pending"),
    ]
    assert ends(events)["c4"].data["interrupted"] is True
    assert texts(events) == ["read it"]
    assert events[0].ts == pytest.approx(1772359200.0)
    assert recording.report.unknown == {"hologram": 1}


def test_pi_results_carry_their_own_flag() -> None:
    ((recording, events),) = opened("pi.jsonl")
    assert outcomes("pi.jsonl") == [("read", "ok"), ("bash", "error"), ("bash", "cancelled")]
    assert texts(events) == ["read it"]
    assert recording.report.duplicates == 1
    assert recording.report.unknown == {"confetti": 1}


def test_copilot_prints_the_same_events_without_their_tree(tmp_path: Path) -> None:
    records = [
        {"type": "session.start", "data": {"sessionId": "p-1", "selectedModel": "m"}},
        {"type": "assistant.message_delta", "data": {"deltaContent": "o"}},
        {
            "type": "assistant.message",
            "data": {
                "toolRequests": [{"toolCallId": c, "name": "view", "arguments": "{}"} for c in "ab"]
            },
        },
        {
            "type": "tool.execution_complete",
            "data": {"toolCallId": "a", "success": True, "result": "x"},
        },
        {
            "type": "tool.execution_complete",
            "data": {"toolCallId": "b", "error": {"message": "no"}},
        },
        {"type": "result", "sessionId": "p-1", "exitCode": 0},
    ]
    path = tmp_path / "printed.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    ((recording, events),) = opened(path)
    assert (recording.format, recording.session) == ("copilot", "p-1")
    assert [outcome for _, _, outcome in calls(events)] == ["ok", "error"]
    assert not recording.report.unknown


def test_what_pi_prints_is_read_from_the_ends_of_its_messages(tmp_path: Path) -> None:
    asked = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "make"}}
    messages: list[dict[str, object]] = [
        {"role": "user", "content": "build it", "timestamp": 1_772_359_200_000},
        {"role": "assistant", "content": [asked], "timestamp": 1_772_359_201_000},
        {"role": "toolResult", "toolCallId": "c1", "content": [], "isError": True},
    ]
    records: list[dict[str, object]] = [
        {"type": "session", "version": 3, "id": "pp-1", "timestamp": "2026-03-01", "cwd": "/app"},
        {"type": "agent_start"},
    ]
    for message in messages:
        records += [{"type": kind, "message": message} for kind in ("message_start", "message_end")]
    records += [
        {"type": "tool_execution_end", "toolCallId": "c1"},
        {"type": "agent_end", "messages": messages},
    ]
    path = tmp_path / "printed.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    ((recording, events),) = opened(path)
    assert (recording.format, recording.session) == ("pi", "pp-1")
    assert calls(events) == [("bash", {"command": "make"}, "error")]
    assert texts(events) == ["build it"]
    assert not recording.report.unknown
