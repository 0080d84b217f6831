"""``watch``: real agents that run without a hook, followed by their transcripts while they work."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent import Bench, program
from servers.anthropic import AnthropicServer
from servers.gemini import GeminiServer
from servers.loopback import ModelServer, ToolUse, repeat
from servers.openai import OpenAIServer

from commands import until
from processes import CONSOLE, environment

LOOKS = 4


@contextmanager
def watching(bench: Bench) -> Iterator[None]:
    """Our command beside the agent, in the home that both have."""
    process = subprocess.Popen(
        [*CONSOLE, "watch"],
        cwd=bench.project,
        env={**bench.env, "PYTHONPATH": environment()["PYTHONPATH"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        until(bench.store_path.exists, "the store")
        yield
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=30)
        assert process.returncode == 0, said
        assert "nothing is warned or stopped here" in said
        assert "halt would be said here" in said, said
    finally:
        process.kill()
        process.communicate()


def watched(bench: Bench, model: ModelServer, tool: str, argv: list[str]) -> None:
    """Run the agent to its end; the store must have its whole chain, and the model no word of ours."""
    with watching(bench):
        done = bench.run(argv, timeout=120)
        assert not model.errors, model.errors
        assert done.returncode == 0, done.stdout + done.stderr
        until(lambda: len(bench.outcomes()) >= LOOKS, f"{LOOKS} calls")
    got = model.agent_requests(tool)
    assert len(got) == LOOKS + 1, "every call ran"
    assert not any("[loopguard]" in r.latest for r in got)
    events = bench.events()
    assert events[0].data["mode"] == "observe"
    starts = [e for e in events if e.type == "call_start"]
    assert [e.data["tool"] for e in starts] == [tool] * LOOKS
    assert [e.data["verdict"]["tier"] for e in starts][2:] == ["block", "halt"]
    assert bench.outcomes() == ["error"] * LOOKS
    assert [e.seq for e in events] == list(range(1, len(events) + 1))


def test_claude_code(tmp_path: Path) -> None:
    claude = program("LOOPGUARD_E2E_CLAUDE", "claude")
    bench = Bench(tmp_path)
    bench.more = {
        "CLAUDE_CONFIG_DIR": str(bench.home / ".claude"),
        "ANTHROPIC_API_KEY": "scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }
    look = ToolUse("Bash", {"command": "cat nope.txt", "description": "read the file"})
    with AnthropicServer(repeat(look, LOOKS)) as model:
        bench.more["ANTHROPIC_BASE_URL"] = model.url
        argv = [claude, "-p", "please read the file", "--permission-mode", "bypassPermissions"]
        watched(bench, model, "Bash", argv)


def test_codex(tmp_path: Path) -> None:
    codex = program("LOOPGUARD_E2E_CODEX", "codex")
    bench = Bench(tmp_path)
    home = bench.home / ".codex"
    home.mkdir()
    look = ToolUse("exec_command", {"cmd": "cat nope.txt"})
    with OpenAIServer(repeat(look, LOOKS)) as model:
        bench.more = {"CODEX_HOME": str(home), "SCRIPTED_KEY": "scripted"}
        (home / "config.toml").write_text(
            'model = "gpt-5.1-codex"\nmodel_provider = "scripted"\napproval_policy = "never"\n'
            'sandbox_mode = "danger-full-access"\n[model_providers.scripted]\nname = "scripted"\n'
            f'base_url = "{model.url}/v1"\nwire_api = "responses"\nenv_key = "SCRIPTED_KEY"\n'
            "request_max_retries = 0\nstream_max_retries = 0\n[analytics]\nenabled = false\n"
        )
        argv = [codex, "exec", "--skip-git-repo-check", "please read the file"]
        watched(bench, model, "exec_command", argv)


def test_gemini(tmp_path: Path) -> None:
    gemini = program("LOOPGUARD_E2E_GEMINI", "gemini")
    bench = Bench(tmp_path)
    settings = bench.home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(
        json.dumps(
            {
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "privacy": {"usageStatisticsEnabled": False},
                "model": {"disableLoopDetection": True},
            }
        )
    )
    look = ToolUse("run_shell_command", {"command": "cat nope.txt"})
    with GeminiServer(repeat(look, LOOKS)) as model:
        bench.more = {
            "GEMINI_API_KEY": "scripted",
            "GOOGLE_GEMINI_BASE_URL": model.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }
        argv = [gemini, "-p", "please read the file", "-m", "gemini-2.5-flash"]
        watched(bench, model, "run_shell_command", [*argv, "--approval-mode", "yolo"])


def test_hermes(tmp_path: Path) -> None:
    hermes = program("LOOPGUARD_E2E_HERMES", "hermes")
    bench = Bench(tmp_path)
    home = bench.home / ".hermes"
    home.mkdir()
    look = ToolUse("terminal", {"command": "cat nope.txt"})
    with OpenAIServer(repeat(look, LOOKS)) as model:
        bench.more = {"HERMES_HOME": str(home), "OPENAI_API_KEY": "scripted"}
        (home / "config.yaml").write_text(
            f"model:\n  default: scripted\n  provider: custom\n  base_url: {model.url}/v1\n"
            '  api_key: scripted\napprovals:\n  mode: "off"\n'
            "tool_loop_guardrails:\n  warnings_enabled: false\n  hard_stop_enabled: false\n"
        )
        watched(bench, model, "terminal", [hermes, "chat", "-q", "please read the file", "--yolo"])
