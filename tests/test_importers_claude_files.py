"""Claude Code transcripts that are several files, and sessions in other wrappings than lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from importing import calls, opened, texts
from loopguard_core.events import Event
from loopguard_core.importers import Recording


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def asks(call: str, tool: str, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call, "name": tool, "input": {"n": call}}
    message = {"id": f"m-{call}", "role": "assistant", "content": [block]}
    return {"type": "assistant", "message": message, **more}


def answers(call: str, **more: Any) -> dict[str, Any]:
    return user([{"type": "tool_result", "tool_use_id": call, "content": "done"}], **more)


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


def main_file(folder: Path, name: str = "s1.jsonl", session: str = "s1") -> Path:
    own = {"sessionId": session}
    launched = answers("t1", **own, toolUseResult={"agentId": "a1", "status": "completed"})
    records = [user("look around", **own), asks("t1", "Task", **own), launched]
    return write(folder / name, records)


def agent_file(folder: Path, agent: str = "a1", session: str = "s1") -> Path:
    own = {"sessionId": session, "agentId": agent, "isSidechain": True}
    records = [
        user("the task", uuid=f"{agent}-1", **own),
        asks(f"{agent}-c1", "Read", uuid=f"{agent}-2", **own),
        answers(f"{agent}-c1", uuid=f"{agent}-3", **own),
        asks(f"{agent}-c2", "Read", uuid=f"{agent}-4", **own),
    ]
    return write(folder / f"agent-{agent}.jsonl", records)


def tools(found: list[tuple[Recording, list[Event]]]) -> dict[str, list[str]]:
    return {r.session: [tool for tool, _, _ in calls(events)] for r, events in found}


def test_subagents_in_the_parents_own_folder_are_read_with_it(tmp_path: Path) -> None:
    path = main_file(tmp_path)
    agent_file(tmp_path)
    agent_file(tmp_path, "b2", session="somebody-else")
    found = opened(path)
    assert tools(found) == {"s1": ["Task"], "s1/a1": ["Read", "Read"]}
    child, events = found[1]
    assert (child.parent, events[0].data["parent_call"]) == ("s1", "t1")
    assert [outcome for _, _, outcome in calls(events)] == ["ok", "pending"]
    assert texts(events) == []


def test_subagents_of_a_workflow_lie_deeper(tmp_path: Path) -> None:
    path = main_file(tmp_path)
    folder = tmp_path / "s1" / "subagents" / "workflows" / "w1"
    folder.mkdir(parents=True)
    agent_file(folder)
    for target in (path, tmp_path):
        assert tools(opened(target)) == {"s1": ["Task"], "s1/a1": ["Read", "Read"]}


def test_a_folder_lists_each_subagent_once(tmp_path: Path) -> None:
    main_file(tmp_path, "renamed.jsonl")
    agent_file(tmp_path)
    agent_file(tmp_path, "lost", session="its parent is gone")
    assert tools(opened(tmp_path)) == {
        "s1": ["Task"],
        "s1/a1": ["Read", "Read"],
        "its parent is gone/lost": ["Read", "Read"],
    }


def test_what_progress_told_of_a_subagent_is_told_once(tmp_path: Path) -> None:
    path = main_file(tmp_path)
    inside = [json.loads(line) for line in agent_file(tmp_path).read_text().splitlines()]
    told = [
        {
            "type": "progress",
            "sessionId": "s1",
            "parentToolUseID": "t1",
            "data": {
                "type": "agent_progress",
                "agentId": "a1",
                "message": {k: r[k] for k in ("type", "message", "uuid")},
            },
        }
        for r in inside[:3]
    ]
    write(path, [*map(json.loads, path.read_text().splitlines()), *told])
    assert tools(opened(path)) == {"s1": ["Task"], "s1/a1": ["Read", "Read"]}


def test_sessions_open_without_ids_in_a_list_and_in_a_download(tmp_path: Path) -> None:
    records = [
        user("do it", timestamp="2026-03-01T10:00:00Z"),
        asks("t1", "Bash", timestamp="2026-03-01T10:00:01Z"),
        answers("t1", timestamp="2026-03-01T10:00:02Z"),
    ]
    lines = write(tmp_path / "lines.jsonl", records)
    (tmp_path / "list.json").write_text(json.dumps(records, indent=1))
    (tmp_path / "download.json").write_text(json.dumps({"loglines": records}))
    for name in (lines.name, "list.json", "download.json"):
        ((recording, events),) = opened(tmp_path / name)
        assert recording.format == "claude-code"
        assert recording.session.startswith(name.split(".")[0])
        assert (calls(events), texts(events)) == ([("Bash", {"n": "t1"}, "ok")], ["do it"])
