"""Real agents as clients of an MCP server behind our proxy: the model reads what the guard says."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from command_line import ClaudeCode, Codex, CommandLine, Gemini, Server, each
from servers.loopback import Received, Text, ToolUse

from commands import until
from processes import CONSOLE, environment

SERVER = Path(__file__).parents[1] / "mcp_server.py"


def proxied(folder: Path) -> Server:
    """The server with the proxy in front, as a client starts it."""
    program = folder / "loopguard-console"
    path = environment()["PYTHONPATH"]
    line = f"PYTHONPATH={shlex.quote(path)} exec {shlex.join(CONSOLE)}"
    program.write_text(f'#!/bin/sh\n{line} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    guard = ["--store", str(folder / "events.db"), "mcp-proxy", "--name", "shelf", "--"]
    return {
        "command": str(program),
        "args": [*guard, sys.executable, str(SERVER), str(folder / "server.log")],
        "env": {"LOOPGUARD_CONFIG": str(folder / "project" / "loopguard.toml")},
    }


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


@each(ClaudeCode, Codex, Gemini)
def test_its_calls_are_warned_blocked_halted_and_recorded(
    kind: type[CommandLine], tmp_path: Path
) -> None:
    servers = {"shelf": proxied(tmp_path)}
    with kind(tmp_path, asks, connected=False, own_guard="off", servers=servers) as agent:
        got = [r.latest for r in agent.say("please fail") if named(r)]
    assert "no such file" in got[1] and "[loopguard]" not in got[1]
    assert "no such file" in got[2] and "[loopguard]" in got[2]
    assert "not run" in got[3] and "no such file" not in got[3]
    assert "the turn ends here" in got[4]
    assert agent.bench.outcomes() == ["error", "error", "blocked", "blocked"]
    assert agent.bench.events()[0].data["agent"] == "mcp:shelf"
    until(lambda: agent.bench.events()[-1].type == "session_end", "its end, after the agent's")
