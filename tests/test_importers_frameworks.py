"""OpenHands, SWE-agent, mini-swe-agent, hermes, chat logs and ATIF."""

from __future__ import annotations

import json
from pathlib import Path

from importing import DATA, calls, ends, opened, texts
from loopguard_core.events import compared


def outcomes(name: str, session: int = 0) -> list[tuple[str, str]]:
    return [(tool, outcome) for tool, _, outcome in calls(opened(name)[session][1])]


def test_openhands_pairs_by_cause_and_ids_start_at_zero() -> None:
    ((_, events),) = opened("openhands.json")
    assert outcomes("openhands.json") == [
        ("run", "ok"),
        ("run", "error"),
        ("run", "ok"),
        ("read", "error"),
        ("edit", "error"),
        ("finish", "pending"),
    ]
    assert calls(events)[0][1] == {"command": "pwd"}
    assert texts(events) == ["fix it"]


def test_openhands_runs_in_one_file_are_sessions_with_their_names() -> None:
    pairs, flat = opened("openhands_output.jsonl")
    assert (pairs[0].part, flat[0].part) == ("repo__1", "7")
    assert [o for _, _, o in calls(pairs[1])] == ["ok", "ok"]
    assert [(t, o) for t, _, o in calls(flat[1])] == [("run", "error"), ("finish", "pending")]
    assert calls(flat[1])[0][1] == {"command": "ls"}


def test_openhands_sdk_events() -> None:
    ((recording, events),) = opened("openhands_sdk.jsonl")
    assert outcomes("openhands_sdk.jsonl") == [
        ("terminal", "error"),
        ("terminal", "denied"),
        ("edit", "error"),
    ]
    messages = [e.data["message"] for e in events if e.type == "call_start"]
    assert messages == ["r1", "r1", "r2"]
    assert texts(events) == ["fix it"]
    assert recording.report.unknown == {"FancyNewEvent": 1}


def test_swe_agent_outcomes_are_guesses_and_say_so() -> None:
    ((recording, events),) = opened("swe_agent.traj")
    assert [t for t, _, _ in calls(events)] == ["ls", "python", "python"]
    assert not recording.failures_known
    assert all(e.data["guessed"] for e in ends(events).values())
    assert all(e.ts is None for e in events)
    assert texts(events) == ["fix the bug"]


def test_mini_swe_agent_commands_in_code_blocks() -> None:
    ((_, events),) = opened("mini_swe_agent_v1.traj.json")
    assert [(a["command"], o) for _, a, o in calls(events)] == [
        ("ls", "ok"),
        ("false", "error"),
        ("echo done", "pending"),
    ]
    assert texts(events) == ["fix it"]


def test_mini_swe_agent_tool_calls() -> None:
    ((_, events),) = opened("mini_swe_agent.traj.json")
    assert [(a["command"], o) for _, a, o in calls(events)] == [
        ("ls", "ok"),
        ("false", "error"),
        ("sleep 99", "error"),
        ("submit", "pending"),
    ]
    assert ends(events)["c0"].ts == 1772359200.5


def test_hermes_reads_results_as_json_and_its_guard_after_it() -> None:
    (_, events), (second, _) = opened("hermes.jsonl")
    assert [o for _, _, o in calls(events)] == ["error", "error", "blocked", "denied", "ok"]
    ended = ends(events)
    assert compared(ended["c0"].data) == compared(ended["c1"].data)
    verdict = ended["c1"].data["verdict"]
    assert (verdict["source"], verdict["tier"], verdict["count"]) == ("hermes", "warn", 2)
    assert ended["c2"].data["verdict"]["detector"] == "repeated_exact_failure_block"
    assert second.parent == "h-1"


def test_hermes_trajectories_answer_in_order() -> None:
    first, second = opened("hermes_trajectories.jsonl")
    assert [(a["command"], o) for _, a, o in calls(first[1])] == [
        ("cat x", "error"),
        ("ls", "ok"),
        ("cat x", "error"),
    ]
    assert (first[0].part, second[0].part) == ("0", "1")
    assert texts(first[1]) == ["read it"]


def test_chat_logs_in_every_shape() -> None:
    want = ["ok", "error", "ok", "ok", "pending"]
    for name in ("openai_chat.json", "openai_chat_lines.jsonl", "tau_bench.json"):
        recording, events = opened(name)[0]
        assert [o for _, _, o in calls(events)] == want
        ids = [e.data["call"] for e in events if e.type == "call_start"]
        assert ids == ["c1", "c2", "c1#2", "function-1", "c9"]
        assert texts(events) == ["book it", "again"]
        assert recording.format == "openai-chat"
    assert [r.part for r, _ in opened("tau_bench.json")] == ["3.0", "3.1"]


def test_atif_results_name_their_calls() -> None:
    ((recording, events),) = opened("atif.json")
    assert [(a["cmd"], o) for _, a, o in calls(events)] == [
        ("ls", "ok"),
        ("x", "error"),
        ("ls", "pending"),
    ]
    assert recording.session == "at-1"
    assert not recording.failures_known


def test_openhands_folders_with_one_event_a_file_are_one_session(tmp_path: Path) -> None:
    events = [json.loads(x) for x in (DATA / "openhands_sdk.jsonl").read_text().splitlines()]
    folder = tmp_path / "conversations" / "c0ffee" / "events"
    folder.mkdir(parents=True)
    for number, event in enumerate(events):
        text = json.dumps(event, indent=1 if number % 2 else None)
        (folder / f"event-{number:05d}-{event['id']}.json").write_text(text)
    ((want, wanted),) = opened("openhands_sdk.jsonl")
    for path in (folder, tmp_path):
        ((recording, got),) = opened(path)
        assert calls(got) == calls(wanted)
        assert recording.session.startswith("c0ffee-")
        assert recording.report.unknown == want.report.unknown


def test_atif_subagents_beside_the_trajectory_are_children(tmp_path: Path) -> None:
    document = json.loads((DATA / "atif.json").read_text())
    inner = {**document, "session_id": "at-2"}
    (tmp_path / "sub.json").write_text(json.dumps(inner))
    reference = [{"session_id": "at-2", "trajectory_path": "sub.json"}]
    outside = [{"session_id": "at-3", "trajectory_path": "../../etc/passwd"}]
    results = document["steps"][2]["observation"]["results"]
    results[0]["subagent_trajectory_ref"] = reference
    results[1]["subagent_trajectory_ref"] = outside
    (tmp_path / "main.json").write_text(json.dumps(document))
    (main, _), (child, _) = opened(tmp_path / "main.json")
    assert (child.session, child.parent) == ("at-2", main.session)


def test_older_hermes_session_files_begin_with_their_meta(tmp_path: Path) -> None:
    function = {"name": "terminal", "arguments": '{"command": "ls"}'}
    call = {"id": "c1", "type": "function", "function": function}
    lines = [
        {"role": "session_meta", "model": "m", "tools": [], "timestamp": "2026-03-01T10:00:00"},
        {"role": "user", "content": "list", "timestamp": "2026-03-01T10:00:01"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"output": "", "exit_code": 2}'},
    ]
    path = tmp_path / "20260301_ab.jsonl"
    path.write_text("".join(json.dumps(x) + "\n" for x in lines))
    ((recording, events),) = opened(path)
    assert recording.format == "hermes"
    assert calls(events) == [("terminal", {"command": "ls"}, "error")]
    assert texts(events) == ["list"]
    assert events[1].ts == 1772359201.0


def test_chat_logs_of_other_apis(tmp_path: Path) -> None:
    shapes = {
        "anthropic.json": [
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t", "content": "no", "is_error": True}
                ],
            },
        ],
        "responses.json": [
            {"role": "user", "content": "go"},
            {"type": "function_call", "call_id": "t", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "t", "output": "Error: no"},
        ],
        "langchain.json": [
            {"type": "human", "content": "go"},
            {"type": "ai", "content": "", "tool_calls": [{"id": "t", "name": "f", "args": {}}]},
            {"type": "tool", "content": "no", "tool_call_id": "t", "status": "error"},
        ],
    }
    for name, messages in shapes.items():
        (tmp_path / name).write_text(json.dumps(messages))
        ((_, events),) = opened(tmp_path / name)
        assert calls(events) == [("f", {}, "error")]
        assert texts(events) == ["go"]


def test_a_demonstration_of_swe_agent_is_a_history_alone(tmp_path: Path) -> None:
    def acts(action: str, **more: object) -> dict[str, object]:
        return {"role": "assistant", "content": "…", "thought": "so", "action": action, **more}

    history = [
        {"role": "system", "content": "You are an engineer.", "agent": "main"},
        {"role": "user", "content": "Fix it.", "agent": "main"},
        {**acts("ls", is_demo=True)},
        acts("find_file a.py", tool_calls=[{"id": "c", "function": {"name": "find_file"}}]),
        {"role": "tool", "content": "Found 1", "tool_call_ids": ["c"]},
        acts("python a.py"),
        {"role": "user", "content": "Traceback (most recent call last): …"},
        acts("submit"),
    ]
    path = tmp_path / "demonstration.traj"
    path.write_text(json.dumps({"history": history}))
    ((recording, events),) = opened(path)
    assert recording.format == "swe-agent"
    assert [(tool, outcome) for tool, _, outcome in calls(events)] == [
        ("find_file", "ok"),
        ("python", "error"),
        ("submit", "pending"),
    ]
    assert texts(events) == ["Fix it."]


def test_what_openhands_prints_stands_behind_marks_among_other_output(tmp_path: Path) -> None:
    lines = (DATA / "openhands_sdk.jsonl").read_text().splitlines()
    printed = "Initializing agent...\n" + "Loading {x}\n" * 50
    for line in lines:
        pretty = json.dumps(json.loads(line), indent=2, sort_keys=True)
        printed += f"--JSON Event--\n{pretty}\nAgent is working\n"
    path = tmp_path / "openhands.log"
    ((_, whole),) = opened("openhands_sdk.jsonl")
    path.write_text(printed + "Agent finished\n")
    ((recording, events),) = opened(path)
    assert (recording.format, calls(events)) == ("openhands", calls(whole))
    assert texts(events) == texts(whole)
    assert recording.report.clean
    for cut in range(len(printed) // 4, len(printed), 97):
        path.write_text(printed[:cut])
        ((recording, events),) = opened(path)
        made = [(tool, args) for tool, args, _ in calls(events)]
        assert made == [(tool, args) for tool, args, _ in calls(whole)][: len(made)]
        assert recording.report.bad_lines <= 1
