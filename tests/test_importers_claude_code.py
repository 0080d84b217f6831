"""Claude Code transcripts: pairing, outcomes, turns, batches, and subagents in all three places."""

from __future__ import annotations

import json
from pathlib import Path

from importing import DATA, calls, ends, opened, texts


def test_every_outcome_is_told_apart() -> None:
    (main, events), (child, inside) = opened("claude_code.jsonl")
    assert [(tool, outcome) for tool, _, outcome in calls(events)] == [
        ("Bash", "error"),
        ("Grep", "cancelled"),
        ("Read", "ok"),
        ("Bash", "denied"),
        ("Bash", "blocked"),
        ("Agent", "ok"),
        ("Bash", "cancelled"),
        ("Bash", "pending"),
    ]
    assert texts(events) == ["find the flaky test", "go on, but do not delete", "once more"]
    assert ends(events)["t3"].data["result"] == "line 1\nline 2"
    assert "result" not in ends(events)["t7"].data
    assert main.session == "5e55-main"
    assert (child.session, child.parent, child.part) == ("5e55-main/ab12", "5e55-main", "ab12")
    assert [tool for tool, _, _ in calls(inside)] == ["Read", "Read"]
    assert texts(inside) == []
    assert inside[0].data["parent_call"] == "t6"


def test_what_was_skipped_is_counted() -> None:
    main, _ = opened("claude_code.jsonl")[0]
    assert main.report.unknown == {"brand-new-record": 1}
    assert main.report.duplicates == 1
    assert not main.report.bad_lines


def test_calls_of_one_message_form_a_batch() -> None:
    _, events = opened("claude_code.jsonl")[0]
    messages = [e.data["message"] for e in events if e.type == "call_start"]
    assert messages == ["m1", "m1", "m1", "m2", "m3", "m4", "m5", "m6"]


def test_a_hooks_refusal_is_another_guards_verdict() -> None:
    _, events = opened("claude_code.jsonl")[0]
    verdict = ends(events)["t5"].data["verdict"]
    assert verdict["source"] == "hook"
    assert verdict["tier"] == "block"
    assert verdict["reason"] == "loop guard: the same command failed before"


def test_subagents_in_the_same_file_are_sessions_of_their_own() -> None:
    (main, events), (child, inside) = opened("claude_code_sidechain.jsonl")
    assert calls(events) == [("Task", {"prompt": "part one"}, "ok")]
    assert calls(inside) == [("LS", {"path": "."}, "ok")]
    assert child.parent == main.session
    assert texts(events) == ["do both"]


def test_a_stream_of_the_headless_mode_opens_too() -> None:
    (main, events), (child, inside) = opened("claude_code_stream.jsonl")
    assert [(t, o) for t, _, o in calls(events)] == [("Bash", "error"), ("Task", "pending")]
    assert calls(inside) == [("Bash", {"command": "ls"}, "ok")]
    assert child.parent == main.session == "st-1"
    assert events[-1].type == "session_end"


def test_a_permission_decision_tells_who_refused(tmp_path: Path) -> None:
    lines = (DATA / "claude_code.jsonl").read_text().splitlines()
    record = json.loads(next(x for x in lines if "hook error" in x))
    record["message"]["content"][0]["content"] = "no, and no prefix"
    for source, outcome in (("hook", "blocked"), ("user", "denied"), ("config", "denied")):
        record["permissionDecision"] = {"decision": "reject", "source": source}
        path = tmp_path / f"{source}.jsonl"
        path.write_text(
            "\n".join(x if "hook error" not in x else json.dumps(record) for x in lines)
        )
        assert ends(opened(path)[0][1])["t5"].data["outcome"] == outcome
