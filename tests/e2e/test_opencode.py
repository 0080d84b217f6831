"""opencode itself with our plugin, against a scripted model."""

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
def opencode() -> str:
    return program("LOOPGUARD_E2E_OPENCODE", "opencode")


class OpenCode:
    """opencode without a terminal, with our plugin installed in the project."""

    def __init__(self, path: str, folder: Path, config: str = GRADED) -> None:
        self.path = path
        self.bench = Bench(folder, config)
        self.bench.console("install", "opencode", "--project")

    def say(self, model: OpenAIServer, prompt: str, *more: str) -> list[Received]:
        """Give opencode a prompt; what the model received until the turn ended."""
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Scripted",
            "options": {"baseURL": f"{model.url}/v1", "apiKey": "scripted"},
            "models": {"scripted": {"name": "scripted", "tool_call": True}},
        }
        settings = {
            "provider": {"scripted": provider},
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "autoupdate": False,
            "share": "disabled",
            "permission": {"bash": "allow", "edit": "allow"},
        }
        path = self.bench.project / "opencode.json"
        path.write_text(json.dumps(settings), encoding="utf-8")
        before = len(model.received)
        done = self.bench.run([self.path, "run", *more, prompt])
        assert not model.errors, model.errors
        self.output = done.stdout + done.stderr
        return [r for r in model.received[before:] if "bash" in r.tools]


def test_it_is_warned_blocked_and_halted(opencode: str, tmp_path: Path) -> None:
    agent = OpenCode(opencode, tmp_path)
    with OpenAIServer(repeat(LOOK, 9)) as model:
        got = [r.latest for r in agent.say(model, "please read the file")]
    assert "No such file" in got[1] and "loopguard" not in got[1], agent.output
    assert "No such file" in got[2] and "[loopguard]" in got[2]
    assert "not run" in got[3] and len(got) == 4, "the halt ends the turn"
    assert agent.bench.outcomes() == ["error", "error", "blocked", "blocked"]


@pytest.mark.parametrize("word", ["approve", "modify"])
def test_one_call_is_let_through_by_another_process(
    opencode: str, tmp_path: Path, word: str
) -> None:
    agent = OpenCode(opencode, tmp_path, ASK)
    changed = json.dumps({"command": "echo CHANGED", "description": "x"})
    words = [(word, changed)] if word == "modify" else [(word,)]
    with OpenAIServer(repeat(LOOK, 3)) as model, Human(agent.bench, words):
        last = agent.say(model, "please read the file")[-1].latest
    assert ("CHANGED" if word == "modify" else "No such file") in last
    assert ("human changed" in last) is (word == "modify")


def test_a_halt_of_the_session_denies_everything_until_it_is_resumed(
    opencode: str, tmp_path: Path
) -> None:
    agent = OpenCode(opencode, tmp_path)
    with OpenAIServer(repeat(LOOK, 1)) as model:
        agent.say(model, "please read the file")
        session = agent.bench.events()[0].session
        agent.bench.console("halt", session, "--scope", "session", "--note", "wait for me")
        agent.say(model, "go on", "--continue")
        assert agent.bench.outcomes() == ["error", "blocked"]
        agent.bench.console("resume", session)
        freed = agent.say(model, "and now", "--continue")
        assert "No such file" in freed[-1].latest


def test_a_subagent_is_a_session_with_a_parent(opencode: str, tmp_path: Path) -> None:
    def script(received: Received) -> list[Text | ToolUse]:
        if any("SUBTASK" in prompt for prompt in received.prompts):
            return [LOOK] if len(received.results) < 2 else [Text("not there")]
        if received.results or "task" not in received.tools:
            return [Text("done")]
        task = {"description": "look", "prompt": "SUBTASK", "subagent_type": "general"}
        return [ToolUse("task", task)]

    agent = OpenCode(opencode, tmp_path)
    with OpenAIServer(script) as model:
        agent.say(model, "please look")
    store = agent.bench.store()
    children = [s for s in store.sessions() if s.parent]
    store.close()
    assert [s.calls for s in children] == [2], agent.output
    turns = [e.type for e in agent.bench.events(children[0].parent)]
    assert turns.count("user_message") == 1


def test_trap_3_a_hook_that_cannot_be_started_refuses(opencode: str, tmp_path: Path) -> None:
    agent = OpenCode(opencode, tmp_path)
    plugin = agent.bench.project / ".opencode" / "plugin" / "loopguard.js"
    broken = plugin.read_text(encoding="utf-8").replace("hook_launcher.py", "gone.py")
    plugin.write_text(broken, encoding="utf-8")
    with OpenAIServer(repeat(LOOK, 1)) as model:
        got = agent.say(model, "please read the file")
    assert "No such file" not in got[1].latest and "not run" in got[1].latest
