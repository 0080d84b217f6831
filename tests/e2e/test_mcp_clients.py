"""Real agents as clients of an MCP server behind our proxy: the model reads what the guard says."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

from agent import Bench, program
from servers.anthropic import AnthropicServer
from servers.gemini import GeminiServer
from servers.loopback import ModelServer, Received, Text, ToolUse
from servers.openai import OpenAIServer

from processes import CONSOLE, environment

SERVER = Path(__file__).parents[1] / "mcp_server.py"


def proxied(bench: Bench) -> tuple[str, list[str]]:
    """The server's command with the proxy in front: a program, and its arguments."""
    log = bench.store_path.with_name("server.log")
    program = bench.store_path.with_name("loopguard-console")
    path = environment()["PYTHONPATH"]
    line = f"PYTHONPATH={shlex.quote(path)} exec {shlex.join(CONSOLE)}"
    program.write_text(f'#!/bin/sh\n{line} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    guard = ["--store", str(bench.store_path), "mcp-proxy", "--name", "shelf", "--"]
    return str(program), [*guard, sys.executable, str(SERVER), str(log)]


def named(received: Received) -> str:
    """What this agent calls the server's tool ``fail``."""
    if "mcp__shelf" in received.tools:
        return "mcp__shelf.fail"  # Codex
    return next((t for t in received.tools if t.endswith("fail")), "")


def asks(received: Received) -> list[Text | ToolUse]:
    """A model that asks for the failing tool again and again."""
    tool = named(received)
    if not tool or len(received.since_prompt) >= 4:
        return [Text("done")]
    return [ToolUse(tool, {})]


def guarded(bench: Bench, model: ModelServer, argv: list[str]) -> None:
    """Run the agent: warned, blocked and halted, as the model received it, and recorded."""
    done = bench.run(argv, timeout=120)
    assert not model.errors, model.errors
    assert done.returncode == 0, done.stdout + done.stderr
    got = [r.latest for r in model.received if named(r)]
    assert "no such file" in got[1] and "[loopguard]" not in got[1]
    assert "no such file" in got[2] and "[loopguard]" in got[2]
    assert "not run" in got[3] and "no such file" not in got[3]
    assert "the turn ends here" in got[4]
    assert bench.outcomes() == ["error", "error", "blocked", "blocked"]
    assert bench.events()[0].data["agent"] == "mcp:shelf"
    assert bench.events()[-1].type == "session_end", "it ended with the agent"


def env(bench: Bench) -> dict[str, str]:
    """What a client gives its servers."""
    return {"LOOPGUARD_CONFIG": str(bench.project / "loopguard.toml")}


def test_claude_code(tmp_path: Path) -> None:
    claude = program("LOOPGUARD_E2E_CLAUDE", "claude")
    bench = Bench(tmp_path)
    bench.more = {
        "CLAUDE_CONFIG_DIR": str(bench.home / ".claude"),
        "ANTHROPIC_API_KEY": "scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
        "ENABLE_TOOL_SEARCH": "false",
    }
    command, args = proxied(bench)
    servers = {"mcpServers": {"shelf": {"command": command, "args": args, "env": env(bench)}}}
    with AnthropicServer(asks) as model:
        bench.more["ANTHROPIC_BASE_URL"] = model.url
        argv = [claude, "-p", "please fail", "--permission-mode", "bypassPermissions"]
        guarded(bench, model, [*argv, "--mcp-config", json.dumps(servers)])


def test_codex(tmp_path: Path) -> None:
    codex = program("LOOPGUARD_E2E_CODEX", "codex")
    bench = Bench(tmp_path)
    home = bench.home / ".codex"
    home.mkdir()
    command, args = proxied(bench)
    with OpenAIServer(asks) as model:
        bench.more = {"CODEX_HOME": str(home), "SCRIPTED_KEY": "scripted"}
        variables = ", ".join(f"{k} = {json.dumps(v)}" for k, v in env(bench).items())
        (home / "config.toml").write_text(
            'model = "gpt-5.1-codex"\nmodel_provider = "scripted"\napproval_policy = "never"\n'
            'sandbox_mode = "danger-full-access"\n[model_providers.scripted]\nname = "scripted"\n'
            f'base_url = "{model.url}/v1"\nwire_api = "responses"\nenv_key = "SCRIPTED_KEY"\n'
            "request_max_retries = 0\nstream_max_retries = 0\n[analytics]\nenabled = false\n"
            f"[mcp_servers.shelf]\ncommand = {json.dumps(command)}\nargs = {json.dumps(args)}\n"
            f"env = {{ {variables} }}\n"
        )
        guarded(bench, model, [codex, "exec", "--skip-git-repo-check", "please fail"])


def test_gemini(tmp_path: Path) -> None:
    gemini = program("LOOPGUARD_E2E_GEMINI", "gemini")
    bench = Bench(tmp_path)
    command, args = proxied(bench)
    settings = bench.home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    shelf = {"command": command, "args": args, "env": env(bench), "trust": True}
    about = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "model": {"disableLoopDetection": True},
        "mcpServers": {"shelf": shelf},
    }
    settings.write_text(json.dumps(about), encoding="utf-8")
    with GeminiServer(asks) as model:
        bench.more = {
            "GEMINI_API_KEY": "scripted",
            "GOOGLE_GEMINI_BASE_URL": model.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }
        argv = [gemini, "-p", "please fail", "-m", "gemini-2.5-flash", "--approval-mode", "yolo"]
        guarded(bench, model, argv)
