"""Gemini CLI beside its chats: streams, saved chats, the log of prompts."""

from __future__ import annotations

import json
from pathlib import Path

from importing import calls, ends, opened, texts


def test_a_stream_is_read_and_the_models_words_are_put_together() -> None:
    ((recording, events),) = opened("gemini_stream.jsonl")
    assert (recording.format, recording.session) == ("gemini", "gs-1")
    assert [(tool, outcome) for tool, _, outcome in calls(events)] == [
        ("list_directory", "ok"),
        ("read_file", "error"),
        ("run_shell_command", "error"),
    ]
    assert texts(events) == ["list it, then build"]
    assert texts(events, "assistant_text") == ["I will look."]
    messages = [e.data["message"] for e in events if e.type == "call_start"]
    assert messages[0] == messages[1] != messages[2]
    assert ends(events)["g2"].data["result"] == "File not found."


def test_a_saved_chat_pairs_answers_by_tool_where_there_are_no_ids(tmp_path: Path) -> None:
    ((recording, events),) = opened("gemini_saved.json")
    assert recording.format == "gemini"
    assert calls(events) == [
        ("read_file", {"path": "a"}, "ok"),
        ("read_file", {"path": "b"}, "error"),
        ("glob", {"pattern": "*"}, "ok"),
        ("run_shell_command", {"command": "rm b"}, "denied"),
        ("run_shell_command", {"command": "true"}, "pending"),
    ]
    assert texts(events) == ["read both", "then stop"]
    contents = json.loads(
        (Path(__file__).parent / "data/transcripts/gemini_saved.json").read_text()
    )
    held = tmp_path / "before-write.json"
    whole = {"history": [], "clientHistory": contents, "toolCall": {}, "sessionId": "gs-2"}
    held.write_text(json.dumps(whole))
    ((recording, again),) = opened(held)
    assert (recording.session, calls(again)) == ("gs-2", calls(events))


def test_the_log_of_prompts_holds_turns_only(tmp_path: Path) -> None:
    entries = [
        {"sessionId": s, "messageId": n, "type": "user", "message": m, "timestamp": "2026-03-01"}
        for s, n, m in (("a", 0, "do it"), ("a", 1, "/quit"), ("b", 0, "again"))
    ]
    (tmp_path / "logs.json").write_text(json.dumps(entries))
    found = opened(tmp_path / "logs.json")
    assert [(r.session, texts(events)) for r, events in found] == [
        ("a", ["do it"]),
        ("b", ["again"]),
    ]


def test_messages_alone_are_a_chat(tmp_path: Path) -> None:
    asked = {"id": "g1", "name": "glob", "args": {}, "status": "success", "result": []}
    messages = [
        {"type": "user", "content": "first"},
        {"type": "gemini", "content": "ok", "toolCalls": [asked]},
    ]
    (tmp_path / "full.json").write_text(json.dumps({"messages": messages}))
    ((recording, events),) = opened(tmp_path / "full.json")
    assert (recording.format, texts(events)) == ("gemini", ["first"])
    assert calls(events) == [("glob", {}, "ok")]
