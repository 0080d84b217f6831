"""Claude Code's hook protocol: what it says becomes our words, our answers are exactly what it takes."""

from __future__ import annotations

import pytest

from loopguard_core.agents import host
from loopguard_core.agents.claude_code import ADAPTER, plain
from loopguard_core.agents.host import Answer, HostError

SESSION = {"session_id": "s1", "cwd": "/p", "transcript_path": "/t", "permission_mode": "default"}


def event(name: str, **fields: object) -> dict[str, object]:
    return {**SESSION, "hook_event_name": name, **fields}


PRE = event("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="toolu_1")


def test_a_call_that_is_about_to_run() -> None:
    heard = ADAPTER.hear(PRE, "")
    assert (heard.kind, heard.session, heard.parent) == (host.BEFORE, "s1", "")
    assert (heard.tool, heard.args, heard.call) == ("Bash", {"command": "ls"}, "toolu_1")


def test_a_result_keeps_what_the_model_sees_and_drops_what_differs_between_runs() -> None:
    response = {"stdout": "one", "stderr": "two", "interrupted": False}
    done = {**PRE, "hook_event_name": "PostToolUse", "tool_response": response, "duration_ms": 28}
    heard = ADAPTER.hear(done, "")
    assert (heard.kind, heard.outcome, heard.result) == (host.AFTER, "ok", "one\ntwo")
    assert heard.duration == 0.028
    assert plain({"filenames": ["a"], "durationMs": 7}) == plain(
        {"filenames": ["a"], "durationMs": 9}
    )
    assert plain([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]) == "a\nb"
    assert plain([{"type": "image"}]) == [{"type": "image"}]


def test_a_failure_is_an_error_and_an_interrupt_is_not() -> None:
    failed = {
        **PRE,
        "hook_event_name": "PostToolUseFailure",
        "error": "Exit code 1",
        "is_interrupt": False,
    }
    assert ADAPTER.hear(failed, "").outcome == "error"
    assert ADAPTER.hear({**failed, "is_interrupt": True}, "").outcome == "cancelled"


@pytest.mark.parametrize(
    ("source", "human"),
    [(None, True), ("user", True), ("sdk", True), ("system", False), ("loop_wakeup", False)],
)
def test_a_turn_is_a_humans_unless_the_host_woke_itself(source: str | None, human: bool) -> None:
    fields = {"prompt": "go on"} if source is None else {"prompt": "go on", "source": source}
    heard = ADAPTER.hear(event("UserPromptSubmit", **fields), "")
    assert (heard.kind, heard.text, heard.human) == (host.TURN, "go on", human)


def test_a_compaction_is_no_new_start() -> None:
    assert ADAPTER.hear(event("SessionStart", source="startup"), "").kind == host.START
    resumed = ADAPTER.hear(event("SessionStart", source="resume"), "")
    assert (resumed.kind, resumed.resumed) == (host.START, True)
    assert ADAPTER.hear(event("SessionStart", source="compact"), "").kind == host.NOTHING


def test_unknown_events_concern_nobody_and_broken_ones_are_named() -> None:
    assert ADAPTER.hear(event("Notification"), "").kind == host.NOTHING
    with pytest.raises(HostError, match="session_id"):
        ADAPTER.hear({"hook_event_name": "PreToolUse"}, "")
    with pytest.raises(HostError, match="tool_name"):
        ADAPTER.hear(event("PreToolUse"), "")


def test_trap_1_a_halt_says_deny_and_stop() -> None:
    out = ADAPTER.before(
        ADAPTER.hear(PRE, ""), Answer(False, "stop it", ends_turn=True, notice="approve R7")
    )
    assert out == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "stop it",
        },
        "continue": False,
        "stopReason": "approve R7",
        "systemMessage": "approve R7",
    }


def test_trap_4_a_batch_names_the_calls_that_had_no_post_event() -> None:
    calls = [
        {"tool_use_id": "toolu_1", "tool_name": "Bash", "tool_input": {}, "tool_response": "denied"}
    ]
    fell = {
        "tool_use_id": "toolu_2",
        "tool_name": "Bash",
        "tool_response": "Sibling tool call errored",
    }
    heard = ADAPTER.hear(event("PostToolBatch", tool_calls=[*calls, fell]), "")
    assert heard.kind == host.SETTLED
    assert [(s.call, s.tool, s.outcome) for s in heard.settled] == [
        ("toolu_1", "Bash", "denied"),
        ("toolu_2", "Bash", "cancelled"),
    ]


def test_trap_7_a_subagent_is_a_session_with_a_parent() -> None:
    heard = ADAPTER.hear({**PRE, "agent_id": "a1", "agent_type": "Explore"}, "")
    assert (heard.session, heard.parent, heard.name) == ("s1/a1", "s1", "Explore")
    ended = ADAPTER.hear(event("SubagentStop", agent_id="a1", agent_type="Explore"), "")
    assert (ended.kind, ended.session) == (host.END, "s1/a1")


def test_trap_10_letting_a_call_run_is_saying_nothing() -> None:
    heard = ADAPTER.hear(PRE, "")
    assert ADAPTER.before(heard, Answer(True)) is None
    changed = ADAPTER.before(heard, Answer(True, "a human changed it", args={"command": "pwd"}))
    assert changed == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "updatedInput": {"command": "pwd"},
            "additionalContext": "a human changed it",
        }
    }
    for answer in (Answer(True, "note"), Answer(True, args={}), Answer(False, "no")):
        assert "allow" not in str(ADAPTER.before(heard, answer))


@pytest.mark.parametrize("name", ["PostToolUse", "PostToolUseFailure"])
def test_advice_goes_beside_the_result(name: str) -> None:
    heard = ADAPTER.hear({**PRE, "hook_event_name": name, "tool_response": "", "error": ""}, "")
    assert ADAPTER.after(heard, "") is None
    assert ADAPTER.after(heard, "look elsewhere") == {
        "hookSpecificOutput": {"hookEventName": name, "additionalContext": "look elsewhere"}
    }


def test_the_projects_configuration_holds_wherever_the_model_went() -> None:
    heard = ADAPTER.hear({**PRE, "cwd": "/p/below"}, "")
    assert ADAPTER.folder(heard, {"CLAUDE_PROJECT_DIR": "/p"}) == "/p"
    assert ADAPTER.folder(heard, {}) == "/p/below"
