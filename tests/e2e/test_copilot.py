"""GitHub Copilot CLI itself, against a scripted model. It has no halt: a halt denies, call by call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agent import GRADED, Bench, Human, program
from servers.loopback import Received, Text, ToolUse, repeat
from servers.openai import OpenAIServer

LOOK = ToolUse("bash", {"command": "cat nope.txt", "description": "read it"})
ASK = GRADED + "unattended_wait_seconds = 60\n"


@pytest.fixture
def copilot() -> str:
    return program("LOOPGUARD_E2E_COPILOT", "copilot")


class Copilot:
    """Copilot without a terminal, with our hook installed for the user."""

    def __init__(self, path: str, folder: Path, config: str = GRADED) -> None:
        self.path = path
        self.bench = Bench(folder, config)
        self.bench.more = {
            "COPILOT_OFFLINE": "true",
            "COPILOT_MODEL": "scripted",
            "COPILOT_PROVIDER_API_KEY": "scripted",
        }
        (self.bench.project / ".git").mkdir()
        self.bench.console("install", "copilot", "--user")

    def say(self, model: OpenAIServer, prompt: str, *more: str) -> list[Received]:
        """Give Copilot a prompt; what the model received until the turn ended."""
        before = len(model.received)
        argv = [self.path, "-p", prompt, "--allow-all-tools", *more]
        done = self.bench.run(argv, {"COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1"})
        assert not model.errors, model.errors
        assert done.returncode == 0, done.stdout + done.stderr
        return [r for r in model.received[before:] if "bash" in r.tools]


def test_it_is_warned_blocked_and_denied_until_it_is_resumed(copilot: str, tmp_path: Path) -> None:
    agent = Copilot(copilot, tmp_path)
    with OpenAIServer(repeat(LOOK, 5)) as model:
        got = [r.latest for r in agent.say(model, "please read the file")]
    assert "No such file" in got[1] and "loopguard" not in got[1]
    assert "No such file" in got[2] and "[loopguard]" in got[2]
    for refused in got[3:]:
        assert "not run" in refused and "No such file" not in refused
    assert agent.bench.outcomes() == ["error", "error", "blocked", "blocked", "blocked"]


@pytest.mark.parametrize("word", ["approve", "modify"])
def test_one_call_is_let_through_by_another_process(
    copilot: str, tmp_path: Path, word: str
) -> None:
    agent = Copilot(copilot, tmp_path, ASK)
    changed = json.dumps({"command": "echo CHANGED", "description": "x"})
    words = [(word, changed)] if word == "modify" else [(word,)]
    with OpenAIServer(repeat(LOOK, 3)) as model, Human(agent.bench, words):
        last = agent.say(model, "please read the file")[-1].latest
    assert ("CHANGED" if word == "modify" else "No such file") in last
    assert ("human changed" in last) is (word == "modify")


def test_a_halt_of_the_session_denies_everything_until_it_is_resumed(
    copilot: str, tmp_path: Path
) -> None:
    agent = Copilot(copilot, tmp_path)
    with OpenAIServer(repeat(LOOK, 1)) as model:
        agent.say(model, "please read the file")
        session = agent.bench.events()[0].session
        agent.bench.console("halt", session, "--scope", "session", "--note", "wait for me")
        halted = agent.say(model, "go on", "--continue")
        assert "wait for me" in halted[-1].latest
        agent.bench.console("resume", session)
        freed = agent.say(model, "and now", "--continue")
        assert "No such file" in freed[-1].latest


def test_a_subagent_is_a_session_with_a_parent(copilot: str, tmp_path: Path) -> None:
    def script(received: Received) -> list[Text | ToolUse]:
        if any("SUBTASK" in prompt for prompt in received.prompts):
            return [LOOK] if len(received.results) < 2 else [Text("not there")]
        if received.results:
            return [Text("done")]
        task = {"description": "look", "prompt": "SUBTASK", "agent_type": "explore", "name": "look"}
        return [ToolUse("task", {**task, "mode": "sync"})]

    agent = Copilot(copilot, tmp_path)
    with OpenAIServer(script) as model:
        agent.say(model, "please look")
    store = agent.bench.store()
    children = [s for s in store.sessions() if s.parent]
    store.close()
    assert [(s.calls, s.name, s.ended) for s in children] == [(2, "explore", True)]
    turns = [e.type for e in agent.bench.events(children[0].parent)]
    assert turns.count("user_message") == 1
