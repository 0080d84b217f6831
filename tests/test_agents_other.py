"""Codex, Gemini CLI and Copilot CLI: each gets exactly what it takes, and nothing another one takes."""

from __future__ import annotations

import pytest

from loopguard_core.agents import host
from loopguard_core.agents.ability import unstoppable
from loopguard_core.agents.codex import ADAPTER as CODEX
from loopguard_core.agents.copilot import ADAPTER as COPILOT
from loopguard_core.agents.gemini import ADAPTER as GEMINI
from loopguard_core.agents.host import Adapter, Answer, Heard, HostError
from loopguard_core.agents.opencode import ADAPTER as OPENCODE

BASE = {"session_id": "s1", "cwd": "/p"}
TOOL = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
ANSWERS = (
    Answer(True),
    Answer(True, "note", args={"command": "pwd"}, notice="look"),
    Answer(False, "no", notice="approve R1"),
    Answer(False, "stop", ends_turn=True, notice="resume s1"),
)


def codex(event: str, **fields: object) -> Heard:
    return CODEX.hear({**BASE, **fields, "hook_event_name": event}, "")


def gemini(event: str, **fields: object) -> Heard:
    return GEMINI.hear({**BASE, **fields, "hook_event_name": event}, "")


def copilot(event: str, **fields: object) -> Heard:
    return COPILOT.hear({"sessionId": "s1", "cwd": "/p", "timestamp": 1, **fields}, event)


@pytest.mark.parametrize("answer", ANSWERS)
def test_trap_2_codex_gets_no_field_that_voids_the_answer(answer: Answer) -> None:
    heard = codex("PreToolUse", **TOOL, tool_use_id="c1", turn_id="t1")
    out = CODEX.before(heard, answer) or {}
    assert "continue" not in out and "stopReason" not in out
    specific = out.get("hookSpecificOutput", {})
    decision = specific.get("permissionDecision")
    assert decision in (None, "deny", "allow")
    assert (decision == "allow") == ("updatedInput" in specific)
    assert answer.run or specific["permissionDecisionReason"]


def test_trap_4_codex_and_gemini_results_as_the_model_sees_them() -> None:
    done = codex("PostToolUse", **TOOL, tool_use_id="c1", tool_response="cat: nope\n")
    assert (done.kind, done.result, done.outcome) == (host.AFTER, "cat: nope\n", "ok")
    said = "Output: gone\nExit Code: 1\nProcess Group PGID: 4711\n"
    failed = gemini("AfterTool", **TOOL, tool_response={"llmContent": said, "returnDisplay": "x"})
    assert failed.outcome == "error"
    other = gemini("AfterTool", **TOOL, tool_response={"llmContent": said.replace("4711", "9")})
    assert failed.result == other.result


def test_trap_4_copilots_success_with_an_exit_code_is_an_error() -> None:
    def result(shell: int, code: int) -> Heard:
        said = f"cat: nope\n<shellId: {shell} completed with exit code {code}>"
        response = {"resultType": "success", "textResultForLlm": said}
        return copilot("postToolUse", toolName="bash", toolArgs={}, toolResult=response)

    assert result(0, 1).outcome == "error"
    assert result(0, 0).outcome == "ok"
    assert result(0, 1).result == result(7, 1).result


@pytest.mark.parametrize("answer", ANSWERS)
def test_trap_5_nobody_is_ever_asked_by_the_agent(answer: Answer) -> None:
    for adapter, heard in (
        (CODEX, codex("PreToolUse", **TOOL)),
        (GEMINI, gemini("BeforeTool", **TOOL)),
        (COPILOT, copilot("preToolUse", toolName="bash", toolArgs={})),
    ):
        assert "ask" not in str(adapter.before(heard, answer))


def test_gemini_stops_the_run_and_denies_at_once() -> None:
    heard = gemini("BeforeTool", **TOOL)
    assert GEMINI.before(heard, Answer(False, "stop", ends_turn=True)) == {
        "decision": "deny",
        "reason": "stop",
        "continue": False,
        "stopReason": "stop",
    }
    assert GEMINI.before(heard, Answer(True, args={"command": "pwd"})) == {
        "hookSpecificOutput": {"hookEventName": "BeforeTool", "tool_input": {"command": "pwd"}}
    }


def test_copilots_event_is_named_by_the_command_line() -> None:
    heard = copilot("preToolUse", toolName="bash", toolArgs='{"command": "ls"}')
    assert (heard.kind, heard.args, heard.call) == (host.BEFORE, {"command": "ls"}, "")
    assert COPILOT.before(heard, Answer(False, "no")) == {
        "permissionDecision": "deny",
        "permissionDecisionReason": "no",
    }
    changed = Answer(True, "note", args={"command": "pwd"})
    assert COPILOT.before(heard, changed) == {
        "modifiedArgs": {"command": "pwd"},
        "additionalContext": "note",
    }


@pytest.mark.parametrize("adapter", [CODEX, GEMINI, COPILOT])
def test_trap_10_saying_nothing_lets_a_call_run(adapter: Adapter) -> None:
    heard = Heard(host.BEFORE, "PreToolUse", "s1")
    assert adapter.before(heard, Answer(True)) is None
    assert adapter.after(heard, "") is None
    assert "advice" in str(adapter.after(heard, "advice"))
    with pytest.raises(HostError, match="session"):
        adapter.hear({}, "PreToolUse")


def test_turns_and_sessions() -> None:
    assert codex("UserPromptSubmit", prompt="go").text == "go"
    assert gemini("BeforeAgent", prompt="go").kind == host.TURN
    assert copilot("userPromptSubmitted", prompt="go").kind == host.TURN
    assert codex("SessionStart", source="resume").resumed
    assert copilot("sessionEnd", reason="complete").kind == host.END
    assert gemini("AfterAgent").kind == host.NOTHING


def test_opencodes_plugin_is_answered_in_our_own_words() -> None:
    call = {
        "session": "c1",
        "parent": "s1",
        "call": "t1",
        "tool": "bash",
        "args": {"command": "ls"},
    }
    heard = OPENCODE.hear(call, "before")
    assert (heard.kind, heard.session, heard.parent, heard.call) == (host.BEFORE, "c1", "s1", "t1")
    assert OPENCODE.before(heard, Answer(True)) is None
    stopped = Answer(False, "stop", ends_turn=True, notice="look")
    assert OPENCODE.before(heard, stopped) == {"deny": "stop", "halt": True, "notice": "look"}
    done = OPENCODE.hear({**call, "output": "x", "exit": 1}, "after")
    assert (done.kind, done.outcome) == (host.AFTER, "error")
    failed = OPENCODE.hear({**call, "output": "thrown"}, "failed")
    assert [(s.call, s.outcome) for s in failed.settled] == [("t1", "error")]
    assert OPENCODE.hear({"session": "c1", "parent": "s1"}, "turn").human is False


@pytest.mark.parametrize("agent", ["codex", "copilot", "hermes", "mcp:files"])
def test_what_cannot_be_stopped_is_said(agent: str) -> None:
    assert "cannot be stopped" in unstoppable(agent) and "mcp:" not in unstoppable(agent)
    assert unstoppable("claude-code") == unstoppable("gemini") == ""


def test_trap_8_geminis_own_loop_detection_is_heard() -> None:
    said = "System: Potential loop detected. Details: the same call 5 times"
    messages = [{"role": "user", "content": "go"}, {"role": "user", "content": said}]
    heard = gemini("BeforeModel", llm_request={"messages": messages})
    assert (heard.kind, heard.foreign["source"]) == (host.NATIVE, "gemini-cli")
    assert gemini("BeforeModel", llm_request={"messages": messages[:1]}).kind == host.NOTHING
    assert gemini("BeforeModel").kind == host.NOTHING


def test_trap_7_codexs_subagents_are_sessions_and_their_prompts_are_nobodys_words() -> None:
    child = {"agent_id": "a1", "agent_type": "explorer"}
    heard = codex("PreToolUse", **TOOL, tool_use_id="c1", **child)
    assert (heard.session, heard.parent, heard.name) == ("a1", "s1", "explorer")
    prompt = codex("UserPromptSubmit", prompt="look", **child)
    assert (prompt.session, prompt.human, prompt.reason) == ("a1", False, "task")
    assert codex("SubagentStop", **child).kind == host.END
    assert codex("SubagentStop").kind == host.NOTHING


def test_trap_7_copilots_subagents_are_sessions_too() -> None:
    child = {"sessionId": "a1", "agentId": "a1", "agentType": "explore", "parentAgentId": "s1"}
    heard = copilot("preToolUse", toolName="bash", toolArgs={}, **child)
    assert (heard.session, heard.parent, heard.name) == ("a1", "s1", "explore")
    assert copilot("userPromptSubmitted", prompt="look", **child).human is False
    ended = copilot("subagentStop", **{**child, "sessionId": "s1"})
    assert (ended.kind, ended.session) == (host.END, "a1")
