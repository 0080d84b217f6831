"""The agents of the command line as the tests drive them: how each is set up, and what each can do.

One class an agent, one table of them: ``AGENTS``. What they promise is written once, in the tests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent import GRADED, Bench, program
from servers.anthropic import AnthropicServer
from servers.gemini import GeminiServer
from servers.loopback import ModelServer, Received, Script, Text, ToolUse
from servers.openai import OpenAIServer

#: a command that fails each time in the same way
LOOK = "cat nope.txt"
#: how an MCP server is started: a program, its arguments and its environment
Server = Mapping[str, Any]


class CommandLine:
    """One agent without a terminal, in a home of its own, with a model that follows *script*.

    Use as a context manager. Skips the test where the agent is not installed. *connected*: our hook or
    plugin is installed. *own_guard*: the agent's own loop guard is as it ships (""), "off" or "strict".
    *servers*: MCP servers by name.
    """

    #: the word for it in our commands
    name = ""
    #: its program, or the environment variable that names one elsewhere
    program = ""
    variable = ""
    server: type[ModelServer] = OpenAIServer
    #: its tool for commands, and the arguments of a call of it beside ``command``
    tool = "bash"
    beside: Mapping[str, str] = {"description": "read the file"}
    #: whether a halt ends the turn; where not, each later call is denied until a human resumes
    halts = False
    #: whether it ends only after its subagents have
    waits = True
    #: whether the model reads later why a halt ended its turn
    told_of_halt = True
    #: the status it ends with where it ended well, and where a halt ended its turn
    statuses: Sequence[int] = (0,)
    #: what the model reads of a call whose arguments a human changed
    said_changed = "human changed"
    #: what the log says of a command that failed: Codex does not tell its hooks
    failed = "error"
    #: where our ``install`` writes
    where = "--user"
    #: what lets our hook run that nobody looked at
    trust: Sequence[str] = ()

    @classmethod
    def shell(cls, command: str) -> ToolUse:
        """What the model asks for to run *command*."""
        return ToolUse(cls.tool, {"command": command, **cls.beside})

    def __init__(
        self,
        folder: Path,
        script: Script,
        config: str = GRADED,
        *,
        connected: bool = True,
        own_guard: str = "",
        servers: Mapping[str, Server] | None = None,
    ) -> None:
        self.path = program(self.variable, self.program)
        self.bench = Bench(folder, config)
        self.model = self.server(script)
        self.connected = connected
        self.own_guard = own_guard
        self.servers = servers or {}

    def __enter__(self) -> CommandLine:
        self.model.__enter__()
        self.prepare()
        if self.connected:
            self.bench.console("install", self.name, self.where)
        return self

    def __exit__(self, *exc: object) -> None:
        self.model.__exit__(*exc)

    def prepare(self) -> None:
        """Write its configuration, and say in ``bench.more`` what its environment needs."""
        raise NotImplementedError

    def argv(self, prompt: str, *more: str) -> list[str]:
        """What starts it with *prompt*; *more* are arguments of its own."""
        raise NotImplementedError

    def further(self, session: str) -> tuple[str, ...]:
        """The arguments that go on with *session*, the last one."""
        return ("--continue",)

    def delegates(self, received: Received) -> list[Text | ToolUse]:
        """What a model answers that gives ``SUBTASK`` to a subagent and waits for it."""
        raise NotImplementedError

    def break_hook(self) -> None:
        """Make our hook one that cannot be started."""
        raise NotImplementedError

    def say(self, prompt: str, *more: str) -> list[Received]:
        """Give it a prompt; what the model received until the turn ended."""
        before = len(self.model.received)
        trust = self.trust if self.connected else ()
        done = self.bench.run(self.argv(prompt, *trust, *more), timeout=180)
        assert not self.model.errors, self.model.errors
        assert done.returncode in self.statuses, done.stdout + done.stderr
        return [r for r in self.model.received[before:] if self.offers(r)]

    def offers(self, received: Received) -> bool:
        """Whether the model was asked for the agent's work, not for a title or a summary."""
        return self.tool in received.tools


class ClaudeCode(CommandLine):
    name = "claude-code"
    program = "claude"
    variable = "LOOPGUARD_E2E_CLAUDE"
    server = AnthropicServer
    tool = "Bash"
    halts = True
    where = "--project"

    def prepare(self) -> None:
        self.bench.more = {
            "CLAUDE_CONFIG_DIR": str(self.bench.home / ".claude"),
            "ANTHROPIC_API_KEY": "scripted",
            "ANTHROPIC_BASE_URL": self.model.url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
            "ENABLE_TOOL_SEARCH": "false",
        }

    def argv(self, prompt: str, *more: str) -> list[str]:
        # settings of the person's own, which ours must not replace
        own = json.dumps({"permissions": {"defaultMode": "bypassPermissions"}})
        argv = [self.path, "-p", prompt, "--settings", own]
        if self.servers:
            argv += ["--mcp-config", json.dumps({"mcpServers": self.servers})]
        return [*argv, *more]

    def delegates(self, received: Received) -> list[Text | ToolUse]:
        if received.results:
            return [Text("done")]
        tool = "Agent" if "Agent" in received.tools else "Task"
        task = {"description": "look", "prompt": "SUBTASK", "subagent_type": "general-purpose"}
        return [ToolUse(tool, {**task, "run_in_background": False})]

    def break_hook(self) -> None:
        path = self.bench.project / ".claude" / "settings.json"
        settings = json.loads(path.read_text(encoding="utf-8"))
        settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"] = "/bin/false"
        path.write_text(json.dumps(settings), encoding="utf-8")


class Codex(CommandLine):
    name = "codex"
    program = "codex"
    variable = "LOOPGUARD_E2E_CODEX"
    tool = "exec_command"
    beside: Mapping[str, str] = {}
    failed = "ok"
    trust = ("--dangerously-bypass-hook-trust",)

    @classmethod
    def shell(cls, command: str) -> ToolUse:
        return ToolUse(cls.tool, {"cmd": command})

    def prepare(self) -> None:
        home = self.bench.home / ".codex"
        home.mkdir()
        self.bench.more = {"CODEX_HOME": str(home), "SCRIPTED_KEY": "scripted"}
        lines = [
            'model = "gpt-5.1-codex"',
            'model_provider = "scripted"',
            'approval_policy = "never"',
            'sandbox_mode = "danger-full-access"',
            "[model_providers.scripted]",
            'name = "scripted"',
            f'base_url = "{self.model.url}/v1"',
            'wire_api = "responses"',
            'env_key = "SCRIPTED_KEY"',
            "request_max_retries = 0",
            "stream_max_retries = 0",
            "[analytics]",
            "enabled = false",
            "[features]",
            "multi_agent = true",
        ]
        for name, server in self.servers.items():
            variables = ", ".join(f"{k} = {json.dumps(v)}" for k, v in server["env"].items())
            lines += [f"[mcp_servers.{name}]", f"env = {{ {variables} }}"]
            lines += [f"{key} = {json.dumps(server[key])}" for key in ("command", "args")]
        (home / "config.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def argv(self, prompt: str, *more: str) -> list[str]:
        return [self.path, "exec", "--json", "--skip-git-repo-check", *more, prompt]

    def further(self, session: str) -> tuple[str, ...]:
        return ("resume", "--last")

    def delegates(self, received: Received) -> list[Text | ToolUse]:
        if not received.results:
            task = {"message": "SUBTASK", "agent_type": "explorer"}
            return [ToolUse("multi_agent_v1.spawn_agent", task)]
        if len(received.results) > 1:
            return [Text("done")]
        child = json.loads(received.results[0].text)["agent_id"]
        return [ToolUse("multi_agent_v1.wait_agent", {"targets": [child], "timeout_ms": 30_000})]


class Copilot(CommandLine):
    name = "copilot"
    program = "copilot"
    variable = "LOOPGUARD_E2E_COPILOT"

    def prepare(self) -> None:
        self.bench.more = {
            "COPILOT_OFFLINE": "true",
            "COPILOT_MODEL": "scripted",
            "COPILOT_PROVIDER_API_KEY": "scripted",
            "COPILOT_PROVIDER_BASE_URL": f"{self.model.url}/v1",
            "COPILOT_AUTO_UPDATE": "false",
        }
        (self.bench.project / ".git").mkdir()

    def argv(self, prompt: str, *more: str) -> list[str]:
        return [self.path, "-p", prompt, "--allow-all", *more]

    def delegates(self, received: Received) -> list[Text | ToolUse]:
        if received.results:
            return [Text("done")]
        task = {"description": "look", "prompt": "SUBTASK", "agent_type": "explore", "name": "look"}
        return [ToolUse("task", {**task, "mode": "sync"})]


class Gemini(CommandLine):
    name = "gemini"
    program = "gemini"
    variable = "LOOPGUARD_E2E_GEMINI"
    server = GeminiServer
    tool = "run_shell_command"
    halts = True
    said_changed = "modified by a hook"  # the agent says it itself

    def prepare(self) -> None:
        servers = {name: {**server, "trust": True} for name, server in self.servers.items()}
        settings = {
            "security": {
                "auth": {"selectedType": "gemini-api-key"},
                "folderTrust": {"enabled": False},
            },
            "telemetry": {"enabled": False},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"disableAutoUpdate": True},
            "model": {"disableLoopDetection": self.own_guard == "off"},
            "mcpServers": servers,
        }
        path = self.bench.home / ".gemini" / "settings.json"
        path.parent.mkdir()
        path.write_text(json.dumps(settings), encoding="utf-8")
        self.bench.more = {
            "GEMINI_API_KEY": "scripted",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GOOGLE_GEMINI_BASE_URL": self.model.url,
        }

    def argv(self, prompt: str, *more: str) -> list[str]:
        argv = [self.path, "-p", prompt, "-m", "gemini-2.5-flash", "--approval-mode", "yolo"]
        return [*argv, *more]

    def further(self, session: str) -> tuple[str, ...]:
        return ("--resume", "latest")


class OpenCode(CommandLine):
    name = "opencode"
    program = "opencode"
    variable = "LOOPGUARD_E2E_OPENCODE"
    halts = True
    told_of_halt = False  # it keeps only that the call was aborted
    statuses = (0, 1)
    where = "--project"

    def prepare(self) -> None:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Scripted",
            "options": {"baseURL": f"{self.model.url}/v1", "apiKey": "scripted"},
            "models": {"scripted": {"name": "scripted", "tool_call": True}},
        }
        settings = {
            "$schema": "https://opencode.ai/config.json",  # else opencode adds it
            "provider": {"scripted": provider},
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "autoupdate": False,
            "share": "disabled",
            "permission": {"bash": "allow", "edit": "allow"},
        }
        path = self.bench.project / "opencode.json"
        path.write_text(json.dumps(settings), encoding="utf-8")

    def argv(self, prompt: str, *more: str) -> list[str]:
        return [self.path, "run", *more, prompt]

    def delegates(self, received: Received) -> list[Text | ToolUse]:
        if received.results:
            return [Text("done")]
        task = {"description": "look", "prompt": "SUBTASK", "subagent_type": "general"}
        return [ToolUse("task", task)]

    def break_hook(self) -> None:
        plugin = self.bench.project / ".opencode" / "plugin" / "loopguard.js"
        broken = plugin.read_text(encoding="utf-8").replace("hook_launcher.py", "gone.py")
        plugin.write_text(broken, encoding="utf-8")


class Hermes(CommandLine):
    name = "hermes"
    waits = False
    program = "hermes"
    variable = "LOOPGUARD_E2E_HERMES"
    tool = "terminal"
    beside: Mapping[str, str] = {}

    def prepare(self) -> None:
        home = self.bench.home / ".hermes"
        home.mkdir()
        self.bench.more = {"HERMES_HOME": str(home), "OPENAI_API_KEY": "scripted"}
        text = (
            "# a comment of the user's\n"
            "model:\n  default: scripted\n  provider: custom\n  api_key: scripted\n"
            f'  base_url: {self.model.url}/v1\napprovals:\n  mode: "off"\n'
        )
        on = {"off": "false", "strict": "true"}.get(self.own_guard)
        if on:
            text += (
                f"tool_loop_guardrails:\n  warnings_enabled: {on}\n  hard_stop_enabled: {on}\n"
                "  hard_stop_after:\n    exact_failure: 2\n"
            )
        (home / "config.yaml").write_text(text, encoding="utf-8")

    def argv(self, prompt: str, *more: str) -> list[str]:
        return [self.path, "chat", "-q", prompt, "--yolo", *more]

    def further(self, session: str) -> tuple[str, ...]:
        return ("--resume", session)

    def delegates(self, received: Received) -> list[Text | ToolUse]:
        if received.results:
            return [Text("done")]
        return [ToolUse("delegate_task", {"goal": "SUBTASK", "context": "none"})]


AGENTS: list[type[CommandLine]] = [ClaudeCode, Codex, Copilot, Gemini, OpenCode, Hermes]


def each(*kinds: type[CommandLine]) -> pytest.MarkDecorator:
    """A test of each of *kinds*, or of each agent there is; its argument is ``kind``."""
    return pytest.mark.parametrize("kind", kinds or AGENTS, ids=lambda kind: kind.name)
