"""``run``: real command-line agents that are connected for one run and keep their configuration."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agent import Bench, program
from servers.anthropic import AnthropicServer
from servers.loopback import ModelServer, Received, ToolUse, repeat
from servers.openai import OpenAIServer

from processes import CONSOLE, environment


def everything(folder: Path) -> dict[str, str]:
    """The configuration files below *folder*, with their content."""
    kept = ("settings.json", "hooks.json", "config.toml", "config.json", "opencode.json")
    return {
        str(p): p.read_text()
        for p in folder.rglob("*")
        if p.name in kept and ".local" not in p.parts
    }


def play(bench: Bench, model: ModelServer, tool: str, argv: list[str]) -> list[Received]:
    """Run the agent through our command; what the model received. The configuration must stay."""
    before = everything(bench.home) | everything(bench.project)
    done = bench.run(
        [*CONSOLE, "run", "--", *argv],
        {"PYTHONPATH": environment()["PYTHONPATH"]},
        timeout=120,
    )
    assert not model.errors, model.errors
    assert "is guarded; watch it with: loopguard-console" in done.stderr, done.stderr
    after = everything(bench.home) | everything(bench.project)
    assert {p: t for p, t in after.items() if p in before} == before
    assert not any("hook_launcher" in text for text in after.values())
    return model.agent_requests(tool)


def judged(bench: Bench) -> list[str]:
    """The tiers of the calls of the only session."""
    return [e.data["verdict"]["tier"] for e in bench.events() if e.type == "call_start"]


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
    with AnthropicServer(repeat(look, 5)) as model:
        bench.more["ANTHROPIC_BASE_URL"] = model.url
        own = json.dumps({"permissions": {"defaultMode": "bypassPermissions"}})
        argv = [claude, "--settings", own, "-p", "please read the file"]
        got = [r.latest for r in play(bench, model, "Bash", argv)]
    assert "[loopguard]" in got[2] and "No such file" in got[2]
    assert "not run" in got[3]  # and the fourth ends the turn, from 2.1.332 on
    assert bench.outcomes()[:4] == ["error", "error", "blocked", "blocked"]


def test_codex_trusts_the_hook_of_this_run(tmp_path: Path) -> None:
    codex = program("LOOPGUARD_E2E_CODEX", "codex")
    bench = Bench(tmp_path)
    home = bench.home / ".codex"
    home.mkdir()
    look = ToolUse("exec_command", {"cmd": "cat nope.txt"})
    with OpenAIServer(repeat(look, 5)) as model:
        bench.more = {"CODEX_HOME": str(home), "SCRIPTED_KEY": "scripted"}
        (home / "config.toml").write_text(
            'model = "gpt-5.1-codex"\nmodel_provider = "scripted"\napproval_policy = "never"\n'
            'sandbox_mode = "danger-full-access"\n[model_providers.scripted]\nname = "scripted"\n'
            f'base_url = "{model.url}/v1"\nwire_api = "responses"\nenv_key = "SCRIPTED_KEY"\n'
            "request_max_retries = 0\nstream_max_retries = 0\n[analytics]\nenabled = false\n"
        )
        argv = [codex, "exec", "--json", "--skip-git-repo-check", "please read the file"]
        got = [r.latest for r in play(bench, model, "exec_command", argv)]
    assert "[loopguard]" in got[2] and "No such file" in got[2]
    assert "not run" in got[3] and "No such file" not in got[3]
    assert judged(bench)[2:4] == ["block", "halt"]


def test_copilot(tmp_path: Path) -> None:
    copilot = program("LOOPGUARD_E2E_COPILOT", "copilot")
    bench = Bench(tmp_path)
    look = ToolUse("bash", {"command": "cat nope.txt", "description": "read the file"})
    with OpenAIServer(repeat(look, 5)) as model:
        bench.more = {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1",
            "COPILOT_MODEL": "scripted",
            "COPILOT_AUTO_UPDATE": "false",
        }
        argv = [copilot, "-p", "please read the file", "--allow-all-tools"]
        got = [r.latest for r in play(bench, model, "bash", argv)]
    assert "not run" in got[3]
    assert judged(bench)[2:4] == ["block", "halt"]


def test_opencode(tmp_path: Path) -> None:
    opencode = program("LOOPGUARD_E2E_OPENCODE", "opencode")
    bench = Bench(tmp_path)
    look = ToolUse("bash", {"command": "cat nope.txt", "description": "read the file"})
    with OpenAIServer(repeat(look, 5)) as model:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{model.url}/v1", "apiKey": "scripted"},
            "models": {"scripted": {"name": "scripted", "tool_call": True}},
        }
        own = {
            "$schema": "https://opencode.ai/config.json",  # else opencode adds it
            "model": "scripted/scripted",
            "provider": {"scripted": provider},
            "autoupdate": False,
        }
        (bench.project / "opencode.json").write_text(json.dumps(own), encoding="utf-8")
        argv = [opencode, "run", "please read the file"]
        got = [r.latest for r in play(bench, model, "bash", argv)]
    assert "[loopguard]" in got[2] and "not run" in got[3]
    assert judged(bench)[2:4] == ["block", "halt"]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOOPGUARD_SESSION", raising=False)
