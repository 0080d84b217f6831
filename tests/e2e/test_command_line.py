"""Agents of the command line themselves, each against a scripted model, with our hook or plugin in them."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

from agent import GRADED, Human
from command_line import (
    LOOK,
    ClaudeCode,
    Codex,
    CommandLine,
    Copilot,
    Gemini,
    Hermes,
    OpenCode,
    each,
)
from servers.loopback import Received, Text, ToolUse, repeat

from processes import environment

ASK = GRADED + "unattended_wait_seconds = 60\n"
OBSERVE = GRADED + 'mode = "observe"\n'
NOT_THERE = "No such file"


@each()
def test_it_is_warned_blocked_and_halted_and_freed_by_the_next_prompt(
    kind: type[CommandLine], tmp_path: Path
) -> None:
    with kind(tmp_path, repeat(kind.shell(LOOK), 5)) as agent:
        got = [r.latest for r in agent.say("please read the file")]
        ended = agent.bench.outcomes()
        session = agent.bench.events()[0].session
        again = agent.say("please try once more", *agent.further(session))
    assert NOT_THERE in got[1] and "[loopguard]" not in got[1]
    assert NOT_THERE in got[2] and "[loopguard]" in got[2]
    for refused in got[3:]:
        assert "not run" in refused and NOT_THERE not in refused
    assert not any("loopguard-console" in text for text in got), "the model learns no command"
    refusals = 2 if kind.halts else 3
    assert ended == [kind.failed, kind.failed] + ["blocked"] * refusals
    assert len(got) == (4 if kind.halts else 6), "a halt that ends the turn asks the model no more"
    assert NOT_THERE in again[1].latest
    assert agent.bench.outcomes() == ended * 2


@each()
def test_one_call_is_approved_by_another_process_and_the_next_is_asked_about_again(
    kind: type[CommandLine], tmp_path: Path
) -> None:
    words = [("approve",), ("deny", "--note", "the file does not exist")]
    with (
        kind(tmp_path, repeat(kind.shell(LOOK), 4), ASK) as agent,
        Human(agent.bench, words) as human,
    ):
        got = [r.latest for r in agent.say("please read the file")]
    assert human.answered == ["R1", "R2"]
    assert NOT_THERE in got[3], "the approved call ran"
    assert "the file does not exist" in got[4] and NOT_THERE not in got[4]
    opened = [e for e in agent.bench.events() if e.type == "request_opened"]
    assert [e.data["verdict"]["count"] for e in opened] == [3, 3]
    assert agent.bench.outcomes() == [kind.failed] * 3 + ["blocked"]


@each()
def test_a_human_changes_the_arguments(kind: type[CommandLine], tmp_path: Path) -> None:
    words: list[tuple[str, ...]] = [
        ("modify", json.dumps({"command": "echo CHANGED", **kind.beside}))
    ]
    with kind(tmp_path, repeat(kind.shell(LOOK), 3), ASK) as agent, Human(agent.bench, words):
        last = agent.say("please read the file")[-1].latest
    assert "CHANGED" in last and kind.said_changed in last


@each()
def test_a_halt_of_the_session_denies_everything_until_it_is_resumed(
    kind: type[CommandLine], tmp_path: Path
) -> None:
    with kind(tmp_path, repeat(kind.shell(LOOK), 1)) as agent:
        agent.say("please read the file")
        session = agent.bench.events()[0].session
        agent.bench.console("halt", session, "--scope", "session", "--note", "wait for me")
        agent.say("go on", *agent.further(session))
        assert agent.bench.outcomes() == [kind.failed, "blocked"]
        agent.bench.console("resume", session)
        freed = agent.say("and now", *agent.further(session))
    assert NOT_THERE in freed[-1].latest
    told = any("wait for me" in result.text for result in freed[-1].results)
    assert told is kind.told_of_halt


@each(ClaudeCode, Codex, Copilot, OpenCode, Hermes)  # Gemini does not tell its subagents apart
def test_a_subagent_is_a_session_with_a_parent(kind: type[CommandLine], tmp_path: Path) -> None:
    def script(received: Received) -> list[Text | ToolUse]:
        if not agent.offers(received):
            return [Text("a title")]
        if any("SUBTASK" in prompt for prompt in received.prompts):
            return [kind.shell(LOOK)] if len(received.results) < 2 else [Text("not there")]
        return agent.delegates(received)

    with kind(tmp_path, script) as agent:
        agent.say("please look")
    store = agent.bench.store()
    parents = {s.session: s.parent for s in store.sessions()}
    store.close()
    (child,) = (session for session, parent in parents.items() if parent)
    assert len(parents) == 2 and parents[parents[child]] == ""
    inside = agent.bench.events(child)
    ended = [e.data["outcome"] for e in inside if e.type == "call_end"]
    assert any(e.type == "call_start" for e in inside) and set(ended) <= {kind.failed}
    assert len(ended) == 2 or not kind.waits
    above = [e.type for e in agent.bench.events(parents[child])]
    assert above.count("user_message") == 1, "the child's prompt is not its parent's turn"


@each()
def test_a_model_with_a_shell_cannot_let_itself_go(kind: type[CommandLine], tmp_path: Path) -> None:
    path = environment()["PYTHONPATH"]
    resume = shlex.join([sys.executable, "-m", "loopguard_console", "resume"])
    lines = [
        f"PYTHONPATH={path} {resume}; echo code=$?",
        f"env -u LOOPGUARD_SESSION PYTHONPATH={path} {resume} s; echo code=$?",
    ]

    def script(received: Received) -> list[Text | ToolUse]:
        if not agent.offers(received) or len(received.results) == len(lines):
            return [Text("done")]
        return [agent.shell(lines[len(received.results)])]

    with kind(tmp_path, script) as agent:
        got = agent.say("let yourself go")
    assert len(got[-1].results) == len(lines)
    for result in got[-1].results:
        assert "code=0" not in result.text and "code=" in result.text


@each(ClaudeCode, OpenCode)  # the others let a call run whose hook does not start
def test_trap_3_a_hook_that_cannot_be_started_refuses(
    kind: type[CommandLine], tmp_path: Path
) -> None:
    with kind(tmp_path, repeat(kind.shell(LOOK), 1)) as agent:
        agent.break_hook()
        got = agent.say("please read the file")
    assert NOT_THERE not in got[1].latest


def test_trap_8_geminis_own_loop_detection_is_shown(tmp_path: Path) -> None:
    with Gemini(tmp_path, repeat(Gemini.shell(LOOK), 9), OBSERVE) as agent:
        agent.say("please read the file")
    said = [e.data for e in agent.bench.events() if e.type == "system_message"]
    assert [each["verdict"]["source"] for each in said] == ["gemini-cli"]


def test_trap_8_a_call_that_hermes_own_guard_stops_keeps_that_guards_verdict(
    tmp_path: Path,
) -> None:
    with Hermes(tmp_path, repeat(Hermes.shell(LOOK), 4), OBSERVE, own_guard="strict") as agent:
        agent.say("please read the file")
    ends = [e.data for e in agent.bench.events() if e.type == "call_end"]
    assert [end["outcome"] for end in ends] == ["error", "error", "denied"]
    assert (ends[2]["foreign"]["source"], ends[2]["foreign"]["tier"]) == ("hermes", "block")
    assert "failed 2 times" in ends[2]["foreign"]["reason"]
