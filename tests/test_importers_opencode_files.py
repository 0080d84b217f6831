"""opencode: a file a part, and what a run prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from importing import calls, opened, texts

SESSION = {"id": "ses_1", "directory": "/home/dev/app", "time": {"created": 1_772_359_200_000}}


def tool(name: str, part: str, message: str, exit: int) -> dict[str, Any]:
    state = {
        "status": "completed",
        "input": {"command": "make"},
        "output": "no rule",
        "metadata": {"exit": exit},
        "time": {"start": 1_772_359_201_000, "end": 1_772_359_202_000},
    }
    about = {"id": part, "messageID": message, "sessionID": "ses_1"}
    return {**about, "type": "tool", "callID": f"c-{part}", "tool": name, "state": state}


def put(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2))


@pytest.mark.parametrize("older", [False, True])
def test_a_session_kept_in_many_files_opens_by_its_own(tmp_path: Path, older: bool) -> None:
    root = tmp_path / "storage"
    session = root / "session" / ("info" if older else "project") / "ses_1.json"
    base = session.parent.parent if older else root
    put(session, SESSION)
    for number, role in enumerate(("user", "assistant"), 1):
        own = f"msg_{number}"
        about = {"id": own, "role": role, "time": {"created": 1_772_359_200_000 + number}}
        put(base / "message" / "ses_1" / f"{own}.json", {**about, "sessionID": "ses_1"})
        folder = base / "part" / ("ses_1" if older else "") / own
        text = {"id": f"prt_{number}a", "type": "text", "text": f"said by {role}"}
        put(folder / f"prt_{number}a.json", text)
        if role == "assistant":
            put(folder / "prt_2b.json", tool("bash", "prt_2b", own, 2))
            (folder / "prt_2c.json").write_text('{"id": "prt_2c", "ty')
    for target in (session, tmp_path):
        ((recording, events),) = opened(target)
        assert (recording.format, recording.session) == ("opencode", "ses_1")
        assert calls(events) == [("bash", {"command": "make"}, "error")]
        assert texts(events) == ["said by user"]
        assert texts(events, "assistant_text") == ["said by assistant"]
        assert recording.report.bad_lines == 1


def test_what_a_run_prints(tmp_path: Path) -> None:
    def line(kind: str, **more: Any) -> dict[str, Any]:
        return {"type": kind, "timestamp": 1_772_359_200_000, "sessionID": "ses_1", **more}

    records = [
        line("step_start", part={"type": "step-start", "messageID": "msg_1"}),
        line("tool_use", part=tool("bash", "prt_1", "msg_1", 0)),
        line("tool_use", part=tool("bash", "prt_2", "msg_1", 1)),
        line("text", part={"type": "text", "text": "It fails.", "messageID": "msg_2"}),
        line("error", error={"name": "ProviderError", "data": {"message": "overloaded"}}),
    ]
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    ((recording, events),) = opened(path)
    assert (recording.format, recording.session) == ("opencode", "ses_1")
    assert [outcome for _, _, outcome in calls(events)] == ["ok", "error"]
    assert texts(events, "assistant_text") == ["It fails."]
    assert texts(events, "system_message") == ["overloaded"]
    assert not recording.report.unknown
