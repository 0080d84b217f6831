"""What an agent's own guard said stands in the recording as another guard's verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from importing import calls, opened, texts
from loopguard_core.events import Event


def written(path: Path, *records: object) -> Path:
    """*records* as JSON Lines."""
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


def words(events: list[Event]) -> list[tuple[str, str, str, str]]:
    """(tier, source, reason, call) of each verdict that stands beside the calls, in order."""
    said = [e for e in events if e.type == "system_message" and "verdict" in e.data]
    return [
        (v["tier"], v["source"], v["reason"], e.text("call"))
        for e in said
        for v in [e.data["verdict"]]
    ]


def codex_item(**payload: Any) -> dict[str, Any]:
    """A line of a rollout."""
    return {"timestamp": "2026-03-01T10:00:01Z", "type": "response_item", "payload": payload}


def developer(text: str, *kinds: str) -> dict[str, Any]:
    """A message from the host, of these kinds."""
    content = [{"type": "input_text", "text": text}]
    about = {"content_item_kinds": list(kinds)}
    more = {"internal_chat_message_metadata_passthrough": about}
    return codex_item(type="message", role="developer", content=content, **more)


def test_a_codex_hook_advises_in_the_middle_of_a_call(tmp_path: Path) -> None:
    file = written(
        tmp_path / "r.jsonl",
        {"timestamp": "2026-03-01T10:00:00Z", "type": "session_meta", "payload": {"id": "s"}},
        developer("the rules of the house", "skills"),
        codex_item(type="function_call", name="exec_command", arguments="{}", call_id="c1"),
        developer("this was asked before", "hooks.additional_context"),
        codex_item(type="function_call_output", call_id="c1", output="done"),
        developer("and it failed before", "hooks.additional_context"),
    )
    ((_, events),) = opened(file)
    assert words(events) == [
        ("warn", "hook", "this was asked before", "c1"),
        ("warn", "hook", "and it failed before", ""),
    ]
    assert texts(events, "system_message")[0] == "the rules of the house"


def gemini_message(own: str, second: int, kind: str, **more: Any) -> dict[str, Any]:
    """A message of a Gemini chat."""
    return {"id": own, "timestamp": f"2026-03-01T10:00:{second:02d}Z", "type": kind, **more}


def test_gemini_drops_its_own_warning_when_it_rewrites_the_chat(tmp_path: Path) -> None:
    call = {"id": "t1", "name": "run", "args": {}, "status": "success", "result": []}
    asked = gemini_message("a", 1, "user", content="go")
    first = gemini_message("b", 2, "gemini", content="", toolCalls=[call])
    warning = "System: Potential loop detected. Details: the same again"
    warned = gemini_message("c", 3, "user", content=[{"text": warning}])
    last = gemini_message("d", 4, "gemini", content="I stop")
    file = written(
        tmp_path / "session-1.jsonl",
        {"sessionId": "g", "projectHash": "h", "startTime": "2026-03-01T10:00:00Z"},
        asked,
        first,
        warned,
        {"$set": {"messages": [asked, first, last]}},
    )
    ((_, events),) = opened(file)
    assert words(events) == [("warn", "gemini-cli", warning, "")]
    assert [
        e.type for e in events if e.type in ("call_end", "assistant_text", "system_message")
    ] == [
        "call_end",
        "system_message",
        "assistant_text",
    ]
    assert calls(events) == [("run", {}, "ok")]
    assert texts(events) == ["go"]
