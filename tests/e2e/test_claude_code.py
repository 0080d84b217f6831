"""Claude Code itself, against a scripted model: watched, warned, blocked, approved, halted, resumed."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from agent import GRADED, Bench, Human, program
from servers.anthropic import AnthropicServer
from servers.loopback import Received, Text, ToolUse, repeat

from processes import environment

LOOK = ToolUse("Bash", {"command": "cat nope.txt", "description": "read the file"})
ASK = GRADED + "unattended_wait_seconds = 60\n"


@pytest.fixture
def claude() -> str:
    return program("LOOPGUARD_E2E_CLAUDE", "claude")


class Claude:
    """Claude Code without a terminal, in a project where our hook is installed."""

    def __init__(self, path: str, folder: Path, config: str = GRADED) -> None:
        self.path = path
        self.bench = Bench(folder, config)
        self.bench.more = {
            "CLAUDE_CONFIG_DIR": str(self.bench.home / ".claude"),
            "ANTHROPIC_API_KEY": "scripted",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }
        self.bench.console("install", "claude-code", "--project")

    def say(self, model: AnthropicServer, prompt: str, *more: str) -> list[Received]:
        """Give Claude a prompt; what the model received until the turn ended."""
        before = len(model.received)
        argv = [self.path, "-p", prompt, "--output-format", "stream-json", "--verbose"]
        argv += ["--permission-mode", "bypassPermissions", *more]
        done = self.bench.run(argv, {"ANTHROPIC_BASE_URL": model.url})
        assert not model.errors, model.errors
        assert done.returncode == 0, done.stdout + done.stderr
        self.stream = [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
        return [r for r in model.received[before:] if "Bash" in r.tools]


def test_it_is_warned_blocked_and_halted_and_freed_by_the_next_prompt(
    claude: str, tmp_path: Path
) -> None:
    agent = Claude(claude, tmp_path)
    with AnthropicServer(repeat(LOOK, 9)) as model:
        got = [r.latest for r in agent.say(model, "please read the file")]
        first, second, third = got[1:4]
        assert "No such file" in first and "loopguard" not in first
        assert "No such file" in second and "[loopguard]" in second
        assert "not run" in third and "No such file" not in third
        assert len(got) == 4, "the fourth call halts the turn: the model is not asked again"
        assert agent.stream[-1]["terminal_reason"] == "hook_stopped"
        assert not any("loopguard-console" in text for text in got), "the model learns no command"
        again = agent.say(model, "please try once more", "--continue")
        assert "No such file" in again[1].latest
    assert agent.bench.outcomes() == ["error", "error", "blocked", "blocked"] * 2
    kinds = [e.type for e in agent.bench.events()]
    assert kinds.count("session_start") == 2 and kinds.count("session_end") == 2


def test_one_call_is_approved_by_another_process(claude: str, tmp_path: Path) -> None:
    agent = Claude(claude, tmp_path, ASK)
    words = [("approve",), ("deny", "--note", "the file does not exist")]
    with AnthropicServer(repeat(LOOK, 4)) as model, Human(agent.bench, words) as human:
        got = [r.latest for r in agent.say(model, "please read the file")]
    assert human.answered == ["R1", "R2"], "the next identical call is asked about again"
    assert "No such file" in got[3], "the approved call ran"
    assert "the file does not exist" in got[4] and "No such file" not in got[4]
    opened = [e for e in agent.bench.events() if e.type == "request_opened"]
    assert [e.data["verdict"]["count"] for e in opened] == [3, 3]
    assert agent.bench.outcomes() == ["error", "error", "error", "blocked"]


def test_a_human_changes_the_arguments(claude: str, tmp_path: Path) -> None:
    agent = Claude(claude, tmp_path, ASK)
    changed = json.dumps({"command": "echo CHANGED", "description": "say it"})
    words = [("modify", changed)]
    with AnthropicServer(repeat(LOOK, 3)) as model, Human(agent.bench, words):
        got = [r.latest for r in agent.say(model, "please read the file")]
    assert "CHANGED" in got[3] and "human changed" in got[3]


def test_a_halt_of_the_session_denies_everything_until_it_is_resumed(
    claude: str, tmp_path: Path
) -> None:
    agent = Claude(claude, tmp_path)
    with AnthropicServer(repeat(LOOK, 1)) as model:
        agent.say(model, "please read the file")
        session = agent.bench.events()[0].session
        agent.bench.console("halt", session, "--scope", "session", "--note", "wait for me")
        agent.say(model, "go on", "--continue")
        assert agent.bench.outcomes() == ["error", "blocked"]
        agent.bench.console("resume", session)
        freed = agent.say(model, "and now", "--continue")
        assert "No such file" in freed[-1].latest
    assert any("wait for me" in r.text for r in freed[-1].results)


def test_a_subagent_is_a_session_with_a_parent(claude: str, tmp_path: Path) -> None:
    def script(received: Received) -> list[Text | ToolUse]:
        names = received.tools
        if "Bash" not in names:
            return [Text("a title")]
        if any("SUBTASK" in p for p in received.prompts):
            return [LOOK] if len(received.results) < 2 else [Text("not there")]
        tool = "Agent" if "Agent" in names else "Task"
        if received.results:
            return [Text("done")]
        task = {
            "description": "look",
            "prompt": "SUBTASK: look",
            "subagent_type": "general-purpose",
        }
        return [ToolUse(tool, {**task, "run_in_background": False})]

    agent = Claude(claude, tmp_path)
    with AnthropicServer(script) as model:
        agent.say(model, "please look")
    store = agent.bench.store()
    children = [s for s in store.sessions() if s.parent]
    store.close()
    assert len(children) == 1
    assert children[0].calls == 2 and children[0].ended
    assert children[0].session.startswith(children[0].parent + "/")
    inside = agent.bench.events(children[0].session)
    assert [e.data["outcome"] for e in inside if e.type == "call_end"] == ["error", "error"]


def test_a_model_with_a_shell_cannot_let_itself_go(claude: str, tmp_path: Path) -> None:
    path = environment()["PYTHONPATH"]
    line = shlex.join([sys.executable, "-m", "loopguard_console", "resume"])
    escape = ToolUse(
        "Bash", {"command": f"PYTHONPATH={path} {line}; echo code=$?", "description": "x"}
    )
    unmarked = ToolUse(
        "Bash",
        {
            "command": f"env -u LOOPGUARD_SESSION PYTHONPATH={path} {line} s; echo code=$?",
            "description": "y",
        },
    )

    def script(received: Received) -> list[Text | ToolUse]:
        if "Bash" not in received.tools or len(received.results) > 1:
            return [Text("done")]
        return [unmarked if received.results else escape]

    agent = Claude(claude, tmp_path)
    with AnthropicServer(script) as model:
        got = agent.say(model, "let yourself go")
    for result in got[-1].results:
        assert "code=0" not in result.text and "code=" in result.text


def test_trap_3_a_hook_that_fails_blocks(claude: str, tmp_path: Path) -> None:
    agent = Claude(claude, tmp_path)
    path = agent.bench.project / ".claude" / "settings.json"
    settings = json.loads(path.read_text())
    settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"] = "/bin/false"
    path.write_text(json.dumps(settings))
    with AnthropicServer(repeat(LOOK, 1)) as model:
        got = agent.say(model, "please read the file")
    assert "No such file" not in got[1].latest
