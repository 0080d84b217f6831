"""``run``: an agent in this terminal, connected for this one run. The agents here are stand-ins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from loopguard_console.wiring import recognise
from loopguard_core.store.door import open_store
from processes import CONSOLE, environment

#: what a stand-in does: it tells how it was started, runs the hook it was given once, and ends with 7
AGENT = """
import json, os, subprocess, sys
told = {"argv": sys.argv[1:], "stdin": sys.stdin.read(), "tty": os.getpid()}
told["config"] = os.environ.get("OPENCODE_CONFIG_CONTENT", "")
told["store"] = os.environ.get("LOOPGUARD_STORE", "")
if "--settings" in sys.argv:
    settings = json.loads(sys.argv[sys.argv.index("--settings") + 1])
    hook = settings["hooks"]["PreToolUse"][-1]["hooks"][0]
    call = {"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "Bash",
            "tool_input": {"command": "ls"}, "tool_use_id": "t1", "cwd": os.getcwd()}
    told["hook"] = subprocess.run(hook["command"], shell=True, input=json.dumps(call), text=True).returncode
print(json.dumps(told))
sys.exit(7)
"""


class Terminal:
    """A folder with stand-ins for the agents on its path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.bin = folder / "bin"
        self.store = folder / "events.db"
        self.home.mkdir()
        self.bin.mkdir()
        (folder / "agent.py").write_text(AGENT, encoding="utf-8")
        for name in ("claude", "codex", "copilot", "gemini", "hermes", "npx", "opencode", "mine"):
            program = self.bin / name
            program.write_text(f'#!/bin/sh\nexec {sys.executable} {folder}/agent.py "$@"\n')
            program.chmod(0o755)

    def run(
        self, *argv: str, options: tuple[str, ...] = (), store: bool = True
    ) -> subprocess.CompletedProcess[str]:
        env = environment(HOME=str(self.home), XDG_STATE_HOME=str(self.folder / "state"))
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
            env.pop(name, None)
        env["PATH"] = f"{self.bin}{os.pathsep}{env['PATH']}"
        named = ["--store", str(self.store)] if store else []
        return subprocess.run(
            [*CONSOLE, *named, *options, "run", "--", *argv],
            input="typed by a person",
            env=env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def told(self, *argv: str) -> tuple[dict[str, Any], str]:
        """How the agent was started, and what was said on stderr."""
        done = self.run(*argv)
        assert done.returncode == 7, done.stderr
        return dict(json.loads(done.stdout)), done.stderr


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path)


def test_claude_code_gets_our_hooks_beside_its_own_settings(terminal: Terminal) -> None:
    own: dict[str, Any] = {
        "model": "x",
        "hooks": {"PreToolUse": [{"hooks": [{"command": "mine"}]}]},
    }
    told, said = terminal.told("claude", "-p", "do it", "--settings", json.dumps(own), "--", "-x")
    option, given, *rest = told["argv"]
    assert (option, rest) == ("--settings", ["-p", "do it", "--", "-x"])
    settings = json.loads(given)
    assert settings["model"] == "x"
    assert settings["hooks"]["PreToolUse"][0] == own["hooks"]["PreToolUse"][0]
    assert told["hook"] == 0
    assert told["stdin"] == "typed by a person"
    assert told["store"] == str(terminal.store)
    assert said == (
        "loopguard: claude-code is guarded; "
        f"watch it with: loopguard-console --store {terminal.store}\n"
    )
    events = open_store(str(terminal.store)).read("s1")
    assert [e.type for e in events] == ["session_start", "call_start"]
    assert list(terminal.home.iterdir()) == [], "its configuration stays as it is"


def test_settings_that_cannot_be_read_are_left_to_the_agent(terminal: Terminal) -> None:
    told, said = terminal.told("claude", "--settings=nowhere.json")
    assert told["argv"] == ["--settings=nowhere.json"]
    assert "goes unguarded: its --settings nowhere.json cannot be read" in said
    (terminal.folder / "some.json").write_text('{"model": "y"}', encoding="utf-8")
    told, _ = terminal.told("claude", "--settings=some.json")
    assert json.loads(told["argv"][1])["model"] == "y"


def test_codex_gets_overrides_that_it_can_read(terminal: Terminal) -> None:
    told, _ = terminal.told("codex", "exec", "do it")
    *options, word, prompt = told["argv"]
    assert (word, prompt) == ("exec", "do it")
    assert options[::2] == ["-c"] * (len(options) // 2)
    read = [tomllib.loads(override) for override in options[1::2]]
    events = {e: g for each in read for e, g in each["hooks"].items()}
    assert events["PreToolUse"][0]["hooks"][0]["timeout"] == 600
    keys = events["state"]
    assert "/<session-flags>/config.toml:pre_tool_use:0:0" in keys
    assert all(k["trusted_hash"].startswith("sha256:") for k in keys.values())
    assert len(keys) == len(events) - 1


def test_copilot_gets_a_plugin(terminal: Terminal) -> None:
    told, _ = terminal.told("copilot", "-p", "do it")
    option, folder, *rest = told["argv"]
    assert (option, rest) == ("--plugin-dir", ["-p", "do it"])
    hooks = json.loads((Path(folder) / "hooks.json").read_text())
    assert "preToolUse" in hooks["hooks"]
    assert json.loads((Path(folder) / "plugin.json").read_text())["hooks"] == "hooks.json"
    assert Path(folder).stat().st_mode & 0o777 == 0o700
    again, _ = terminal.told("copilot", "-p", "do it")
    assert again["argv"] == told["argv"]


def test_opencode_gets_a_plugin_beside_its_own(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCODE_CONFIG_CONTENT", '{"plugin": ["mine"], "theme": "x"}')
    told, _ = terminal.told("opencode", "run", "do it")
    assert told["argv"] == ["run", "do it"]
    config = json.loads(told["config"])
    assert config["theme"] == "x"
    own, ours = config["plugin"]
    assert own == "mine"
    assert "hook_launcher.py" in Path(ours.removeprefix("file://")).read_text()
    monkeypatch.setenv("OPENCODE_CONFIG_CONTENT", "{")
    _, said = terminal.told("opencode", "run", "do it")
    assert "goes unguarded: OPENCODE_CONFIG_CONTENT is not JSON" in said


@pytest.mark.parametrize("name", ["gemini", "hermes"])
def test_what_cannot_be_connected_is_said_and_started(terminal: Terminal, name: str) -> None:
    told, said = terminal.told(name, "-p", "do it")
    assert told["argv"] == ["-p", "do it"]
    assert said.count("\n") == 1
    assert f"loopguard-console install {name}" in said


def test_a_program_of_ones_own_is_started_as_it_is(terminal: Terminal) -> None:
    told, said = terminal.told("mine", "--flag", "a b", "")
    assert told["argv"] == ["--flag", "a b", ""]
    assert said.startswith("loopguard: mine is no agent that can be connected from outside")
    assert terminal.store.is_file(), "the console can be opened on the store"


def test_the_agent_has_the_terminal_and_the_process_to_itself(terminal: Terminal) -> None:
    program = terminal.bin / "mine"
    program.write_text(
        f"#!{sys.executable}\nimport os, sys\n"
        "print(os.getpid(), all(map(os.isatty, (0, 1, 2))), input())\nos.kill(os.getpid(), 15)\n"
    )
    ours, theirs = os.openpty()
    env = environment(HOME=str(terminal.home), XDG_STATE_HOME=str(terminal.folder))
    process = subprocess.Popen(
        [*CONSOLE, "--store", str(terminal.store), "run", "--", str(program)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=env,
        cwd=terminal.folder,
    )
    os.close(theirs)
    os.write(ours, b"typed\n")
    said = b""
    while f"{process.pid} True typed".encode() not in said:
        said += os.read(ours, 1_000)
    assert process.wait(30) == -15, "it is the agent's own end"
    os.close(ours)


def test_an_agent_that_is_connected_for_good_is_not_connected_twice(terminal: Terminal) -> None:
    env = environment(HOME=str(terminal.home))
    argv = [*CONSOLE, "install", "claude-code", "--project"]
    subprocess.run(argv, env=env, cwd=terminal.folder, check=True, capture_output=True)
    told, said = terminal.told("claude", "-p", "do it")
    assert told["argv"] == ["-p", "do it"]
    assert "claude-code is guarded" in said


def test_a_program_that_is_not_there_is_said_in_one_line(terminal: Terminal) -> None:
    done = terminal.run("no-such-agent")
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr
        == "loopguard-console: no-such-agent cannot be started: No such file or directory\n"
    )
    assert "Traceback" not in done.stderr
    assert terminal.run().returncode == 2


@pytest.mark.parametrize(
    ("line", "agent", "at"),
    [
        ("claude -p x", "claude-code", 0),
        ("/opt/bin/codex exec", "codex", 0),
        ("npx -y @openai/codex@latest exec", "codex", 2),
        ("npx @google/gemini-cli", "gemini", 1),
        ("env A=1 claude", "claude-code", 2),
        ("node /usr/lib/gemini.js", "gemini", 1),
        ("uvx hermes-agent", "hermes", 1),
        ("python claude.py", "", 0),
        ("vim claude", "", 0),
        ("npx other", "", 0),
    ],
)
def test_an_agent_is_recognised_behind_what_starts_it(line: str, agent: str, at: int) -> None:
    assert recognise(line.split()) == (agent, at)
