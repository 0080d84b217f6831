"""Hermes Agent itself with our plugin, against a scripted model. A plugin cannot halt: it denies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agent import GRADED, Bench, Human, program
from servers.loopback import Received, Text, ToolUse, repeat
from servers.openai import OpenAIServer

LOOK = ToolUse("terminal", {"command": "cat nope.txt"})
ASK = GRADED + "unattended_wait_seconds = 60\n"

_CONFIG = """\
# a comment of the user's
model:
  default: scripted
  provider: custom
  base_url: {url}/v1
  api_key: scripted
approvals:
  mode: "off"
"""


@pytest.fixture
def hermes() -> str:
    return program("LOOPGUARD_E2E_HERMES", "hermes")


class Hermes:
    """Hermes without a terminal, with our plugin installed."""

    def __init__(self, path: str, folder: Path, config: str = GRADED, native: str = "") -> None:
        self.path = path
        self.bench = Bench(folder, config)
        self.native = native
        self.home = self.bench.home / ".hermes"
        self.home.mkdir()
        self.bench.more = {"HERMES_HOME": str(self.home), "OPENAI_API_KEY": "scripted"}

    def say(self, model: OpenAIServer, prompt: str, *more: str) -> list[Received]:
        """Give hermes a prompt; what the model received until the turn ended."""
        config = self.home / "config.yaml"
        config.write_text(_CONFIG.format(url=model.url) + self.native, encoding="utf-8")
        self.bench.console("install", "hermes")
        before = len(model.received)
        done = self.bench.run([self.path, "chat", "-q", prompt, "--yolo", *more])
        assert not model.errors, model.errors
        assert done.returncode == 0, done.stdout + done.stderr
        return [r for r in model.received[before:] if "terminal" in r.tools]


def test_it_is_warned_blocked_and_denied_until_it_is_resumed(hermes: str, tmp_path: Path) -> None:
    agent = Hermes(hermes, tmp_path)
    with OpenAIServer(repeat(LOOK, 5)) as model:
        got = [r.latest for r in agent.say(model, "please read the file")]
    assert "No such file" in got[1] and "[loopguard]" not in got[1]
    assert "No such file" in got[2] and "[loopguard]" in got[2]
    for refused in got[3:]:
        assert "not run" in refused and "No such file" not in refused
    assert agent.bench.outcomes() == ["error", "error", "blocked", "blocked", "blocked"]


@pytest.mark.parametrize("word", ["approve", "modify"])
def test_one_call_is_let_through_by_another_process(hermes: str, tmp_path: Path, word: str) -> None:
    agent = Hermes(hermes, tmp_path, ASK)
    words = [(word, json.dumps({"command": "echo CHANGED"}))] if word == "modify" else [(word,)]
    with OpenAIServer(repeat(LOOK, 3)) as model, Human(agent.bench, words):
        last = agent.say(model, "please read the file")[-1].latest
    assert ("CHANGED" if word == "modify" else "No such file") in last
    assert ("human changed" in last) is (word == "modify")


def test_a_halt_of_the_session_denies_everything_until_it_is_resumed(
    hermes: str, tmp_path: Path
) -> None:
    agent = Hermes(hermes, tmp_path)
    with OpenAIServer(repeat(LOOK, 1)) as model:
        agent.say(model, "please read the file")
        session = agent.bench.events()[0].session
        agent.bench.console("halt", session, "--scope", "session", "--note", "wait for me")
        halted = agent.say(model, "go on", "--resume", session)
        assert "wait for me" in halted[-1].latest
        agent.bench.console("resume", session)
        freed = agent.say(model, "and now", "--resume", session)
        assert "No such file" in freed[-1].latest


def test_trap_8_a_call_that_hermes_own_guard_stops_keeps_that_guards_verdict(
    hermes: str, tmp_path: Path
) -> None:
    native = (
        "tool_loop_guardrails:\n  hard_stop_enabled: true\n  warnings_enabled: true\n"
        "  hard_stop_after:\n    exact_failure: 2\n"
    )
    agent = Hermes(hermes, tmp_path, 'policy = "graded"\nmode = "observe"\n', native)
    with OpenAIServer(repeat(LOOK, 4)) as model:
        agent.say(model, "please read the file")
    ends = [e.data for e in agent.bench.events() if e.type == "call_end"]
    assert [end["outcome"] for end in ends] == ["error", "error", "denied"]
    assert (ends[2]["foreign"]["source"], ends[2]["foreign"]["tier"]) == ("hermes", "block")
    assert "failed 2 times" in ends[2]["foreign"]["reason"]


def test_a_subagent_is_a_session_with_a_parent(hermes: str, tmp_path: Path) -> None:
    def script(received: Received) -> list[Text | ToolUse]:
        if any("SUBTASK" in prompt for prompt in received.prompts):
            return [LOOK] if len(received.results) < 2 else [Text("not there")]
        if received.results or "delegate_task" not in received.tools:
            return [Text("done")]
        return [ToolUse("delegate_task", {"goal": "SUBTASK", "context": "none"})]

    agent = Hermes(hermes, tmp_path)
    with OpenAIServer(script) as model:
        agent.say(model, "please look")
    store = agent.bench.store()
    children = [s for s in store.sessions() if s.parent]
    store.close()
    assert len(children) == 1 and children[0].calls > 0  # it works on while its parent may end
    inside = [e.type for e in agent.bench.events(children[0].session)]
    assert inside.count("turn_start") == 1 and "user_message" not in inside
    turns = [e.type for e in agent.bench.events(children[0].parent)]
    assert turns.count("user_message") == 1
