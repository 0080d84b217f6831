"""Codex rollouts: exit codes in the text, polling, hooks, interruptions, older lines, subagents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from importing import calls, ends, opened, texts
from loopguard_core.events import compared


def test_the_exit_code_in_the_preamble_decides() -> None:
    ((recording, events),) = opened("codex.jsonl")
    assert [(tool, outcome) for tool, _, outcome in calls(events)] == [
        ("exec_command", "ok"),
        ("exec_command", "error"),
        ("write_stdin", "ok"),
        ("write_stdin", "ok"),
        ("apply_patch", "error"),
        ("exec_command", "blocked"),
        ("web_search", "ok"),
        ("exec_command", "cancelled"),
        ("exec", "ok"),
        ("exec_command", "pending"),
    ]
    assert texts(events) == ["run the tests", "and now?"]
    assert recording.session == "0190-main"
    assert recording.report.unknown == {"something_new": 1}


def test_arguments_are_parsed_and_raw_input_stays_text() -> None:
    ((_, events),) = opened("codex.jsonl")
    args = [a for _, a, _ in calls(events)]
    assert args[0] == args[1] == {"cmd": "make", "workdir": "."}
    assert args[4] == "*** Begin Patch"


def test_calls_of_one_response_form_a_batch() -> None:
    ((_, events),) = opened("codex.jsonl")
    messages = [e.data["message"] for e in events if e.type == "call_start"]
    assert messages[0] == messages[1] != messages[2]


def test_chunk_ids_and_wall_times_do_not_make_results_differ() -> None:
    ((_, events),) = opened("codex.jsonl")
    ended = ends(events)
    assert ended["c3"].data["result"] != ended["c4"].data["result"]
    assert compared(ended["c3"].data) == compared(ended["c4"].data)
    assert compared(ended["c1"].data) != compared(ended["c2"].data)
    assert ended["c6"].data["verdict"]["reason"] == "third identical call"
    ((_, old),) = opened("codex_legacy.jsonl")
    assert compared(ends(old)["o1"].data) == compared(ends(old)["o2"].data)


def test_lines_without_an_envelope_open() -> None:
    ((recording, events),) = opened("codex_legacy.jsonl")
    assert calls(events) == [("shell", {"command": ["ls"]}, "ok")] * 2
    assert texts(events) == ["list files"]
    assert recording.session == "old-1"


def test_a_spawned_thread_names_its_parent() -> None:
    ((recording, events),) = opened("codex_subagent.jsonl")
    assert recording.parent == "0190-main"
    assert texts(events) == []
    assert texts(events, "turn_start") == ["look at a.py"]


def test_a_message_in_two_records_is_said_once_and_one_said_twice_is_two(tmp_path: Path) -> None:
    def message(text: str) -> list[dict[str, Any]]:
        block = [{"type": "text", "text": text}]
        return [
            {"type": "user_message", "message": text},
            {"type": "item_completed", "item": {"type": "UserMessage", "content": block}},
        ]

    records = [{"type": "session_meta", "payload": {"id": "x", "source": "cli"}}]
    said = [*message("go on"), message("go on")[0], *message("stop")]
    records += [{"type": "event_msg", "payload": p} for p in said]
    path = tmp_path / "rollout.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    ((_, events),) = opened(path)
    assert texts(events) == ["go on", "go on", "stop"]
