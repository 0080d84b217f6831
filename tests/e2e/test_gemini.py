"""Gemini CLI itself, against a scripted model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agent import GRADED, Bench, Human, program
from servers.gemini import GeminiServer
from servers.loopback import Received, ToolUse, repeat

LOOK = ToolUse("run_shell_command", {"command": "cat nope.txt", "description": "read it"})
ASK = GRADED + "unattended_wait_seconds = 60\n"

_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "telemetry": {"enabled": False},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"disableAutoUpdate": True},
}


@pytest.fixture
def gemini() -> str:
    return program("LOOPGUARD_E2E_GEMINI", "gemini")


class Gemini:
    """Gemini CLI without a terminal, with our hook installed for the user."""

    def __init__(self, path: str, folder: Path, config: str = GRADED) -> None:
        self.path = path
        self.bench = Bench(folder, config)
        settings = self.bench.home / ".gemini" / "settings.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps(_SETTINGS), encoding="utf-8")
        self.bench.more = {"GEMINI_API_KEY": "scripted", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
        self.bench.console("install", "gemini", "--user")

    def say(self, model: GeminiServer, prompt: str, *more: str) -> list[Received]:
        """Give Gemini a prompt; what the model received until the turn ended."""
        before = len(model.received)
        argv = [self.path, "-p", prompt, "-m", "gemini-2.5-flash", "--approval-mode", "yolo", *more]
        done = self.bench.run(argv, {"GOOGLE_GEMINI_BASE_URL": model.url})
        assert not model.errors, model.errors
        assert done.returncode == 0, done.stdout + done.stderr
        return [r for r in model.received[before:] if "run_shell_command" in r.tools]


def test_it_is_warned_blocked_and_halted(gemini: str, tmp_path: Path) -> None:
    agent = Gemini(gemini, tmp_path)
    with GeminiServer(repeat(LOOK, 9)) as model:
        got = [r.latest for r in agent.say(model, "please read the file")]
    assert "No such file" in got[1] and "loopguard" not in got[1]
    assert "No such file" in got[2] and "[loopguard]" in got[2]
    assert "not run" in got[3] and len(got) == 4, "the halt ends the run"
    assert agent.bench.outcomes() == ["error", "error", "blocked", "blocked"]


@pytest.mark.parametrize("word", ["approve", "modify"])
def test_one_call_is_let_through_by_another_process(gemini: str, tmp_path: Path, word: str) -> None:
    agent = Gemini(gemini, tmp_path, ASK)
    words = [(word, json.dumps({"command": "echo CHANGED"}))] if word == "modify" else [(word,)]
    with GeminiServer(repeat(LOOK, 3)) as model, Human(agent.bench, words):
        last = agent.say(model, "please read the file")[-1].latest
    assert ("CHANGED" if word == "modify" else "No such file") in last


def test_a_halt_of_the_session_denies_everything_until_it_is_resumed(
    gemini: str, tmp_path: Path
) -> None:
    agent = Gemini(gemini, tmp_path)
    with GeminiServer(repeat(LOOK, 1)) as model:
        agent.say(model, "please read the file")
        session = agent.bench.events()[0].session
        agent.bench.console("halt", session, "--scope", "session", "--note", "wait for me")
        agent.say(model, "go on", "--resume", "latest")
        assert agent.bench.outcomes() == ["error", "blocked"]
        agent.bench.console("resume", session)
        freed = agent.say(model, "and now", "--resume", "latest")
    assert "No such file" in freed[-1].latest


def test_trap_8_its_own_loop_detection_is_shown(gemini: str, tmp_path: Path) -> None:
    agent = Gemini(gemini, tmp_path, GRADED + 'mode = "observe"\n')
    with GeminiServer(repeat(LOOK, 9)) as model:
        agent.say(model, "please read the file")
    said = [e.data for e in agent.bench.events() if e.type == "system_message"]
    assert [each["verdict"]["source"] for each in said] == ["gemini-cli"]
