"""Codex itself, against a scripted model. It has no halt: a halt denies, call by call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agent import GRADED, Bench, Human, program
from servers.loopback import Received, Text, ToolUse, repeat
from servers.openai import OpenAIServer

LOOK = ToolUse("exec_command", {"cmd": "cat nope.txt"})
ASK = GRADED + "unattended_wait_seconds = 60\n"

_CONFIG = """
model = "gpt-5.1-codex"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
"""


@pytest.fixture
def codex() -> str:
    return program("LOOPGUARD_E2E_CODEX", "codex")


class Codex:
    """Codex without a terminal, with our hook installed for the user."""

    def __init__(self, path: str, folder: Path, config: str = GRADED) -> None:
        self.path = path
        self.bench = Bench(folder, config)
        self.home = self.bench.home / ".codex"
        self.home.mkdir()
        self.bench.more = {"CODEX_HOME": str(self.home), "SCRIPTED_KEY": "scripted"}
        self.bench.console("install", "codex", "--user")

    def say(self, model: OpenAIServer, prompt: str, *more: str) -> list[Received]:
        """Give Codex a prompt; what the model received until the turn ended."""
        (self.home / "config.toml").write_text(_CONFIG.format(url=model.url), encoding="utf-8")
        before = len(model.received)
        argv = [self.path, "exec", "--json", "--skip-git-repo-check"]
        argv += ["--dangerously-bypass-hook-trust", *more, prompt]
        done = self.bench.run(argv)
        assert not model.errors, model.errors
        assert done.returncode == 0, done.stdout + done.stderr
        return [r for r in model.received[before:] if "exec_command" in r.tools]


def test_it_is_warned_blocked_and_denied_until_it_is_resumed(codex: str, tmp_path: Path) -> None:
    agent = Codex(codex, tmp_path)
    with OpenAIServer(repeat(LOOK, 6)) as model:
        got = [r.latest for r in agent.say(model, "please read the file")]
        assert "No such file" in got[1] and "loopguard" not in got[1]
        assert "No such file" in got[2] and "[loopguard]" in got[2]
        for refused in got[3:]:
            assert "not run" in refused and "No such file" not in refused
        assert not any("loopguard-console" in text for text in got)
    assert agent.bench.outcomes() == ["ok", "ok", "blocked", "blocked", "blocked", "blocked"]


@pytest.mark.parametrize("word", ["approve", "modify"])
def test_one_call_is_let_through_by_another_process(codex: str, tmp_path: Path, word: str) -> None:
    agent = Codex(codex, tmp_path, ASK)
    words = [(word, json.dumps({"command": "echo CHANGED"}))] if word == "modify" else [(word,)]
    with OpenAIServer(repeat(LOOK, 3)) as model, Human(agent.bench, words):
        last = agent.say(model, "please read the file")[-1].latest
    assert ("CHANGED" if word == "modify" else "No such file") in last
    assert ("human changed" in last) is (word == "modify")


def test_a_halt_of_the_session_denies_everything_until_it_is_resumed(
    codex: str, tmp_path: Path
) -> None:
    agent = Codex(codex, tmp_path)
    with OpenAIServer(repeat(LOOK, 1)) as model:
        agent.say(model, "please read the file")
        session = agent.bench.events()[0].session
        agent.bench.console("halt", session, "--scope", "session", "--note", "wait for me")
        halted = agent.say(model, "go on", "resume", "--last")
        assert "wait for me" in halted[-1].latest
        agent.bench.console("resume", session)
        freed = agent.say(model, "and now", "resume", "--last")
        assert "No such file" in freed[-1].latest


def test_a_subagent_is_a_session_with_a_parent(codex: str, tmp_path: Path) -> None:
    def script(received: Received) -> list[Text | ToolUse]:
        if any("SUBTASK" in prompt for prompt in received.prompts):
            return [LOOK] if len(received.results) < 2 else [Text("not there")]
        if not received.results:
            return [
                ToolUse(
                    "multi_agent_v1.spawn_agent", {"message": "SUBTASK", "agent_type": "explorer"}
                )
            ]
        if len(received.results) == 1:
            child = json.loads(received.results[0].text)["agent_id"]
            return [
                ToolUse("multi_agent_v1.wait_agent", {"targets": [child], "timeout_ms": 30_000})
            ]
        return [Text("done")]

    agent = Codex(codex, tmp_path)
    with OpenAIServer(script) as model:
        agent.say(model, "please look", "-c", "features.multi_agent=true")
    store = agent.bench.store()
    parents = {s.session: s.parent for s in store.sessions()}
    store.close()
    child = next(session for session, parent in parents.items() if parent)
    assert parents[parents[child]] == "" and len(parents) == 2
    inside = agent.bench.events(child)
    assert [e.type for e in inside].count("call_end") == 2
    turns = [e.type for e in agent.bench.events(parents[child])]
    assert turns.count("user_message") == 1, "the child's prompt is not its parent's turn"
