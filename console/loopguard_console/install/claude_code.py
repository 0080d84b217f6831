"""Claude Code: ``settings.json`` in ``~/.claude`` or ``.claude``, ``settings.local.json`` for ``--local``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loopguard_console.install.base import Place, hook_command
from loopguard_console.install.hooks_json import HooksJson
from loopguard_core.agents.claude_code import EVENTS

#: Seconds. The hook that may wait for a human has long; the others only write a line.
WAITING, RECORDING = 600, 60


class ClaudeCodeInstaller(HooksJson):
    agent = "claude-code"
    events = EVENTS
    scopes = ("user", "project", "local")
    hints = (
        "Sessions that are running read their hooks at the start: start them again.",
        "If the hook cannot be started, Claude Code (2.1.295 and newer) blocks its tool calls.",
    )

    def path(self, place: Place) -> Path:
        if place.scope == "user":
            return place.below_home("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
        name = "settings.local.json" if place.scope == "local" else "settings.json"
        return place.folder / ".claude" / name

    def group(self, event: str, place: Place) -> dict[str, Any]:
        limit = WAITING if event == "PreToolUse" else RECORDING
        hook: dict[str, Any] = {
            "type": "command",
            "command": hook_command(self.agent, limit=limit, store=place.store),
            "timeout": limit,
        }
        if event == "PreToolUse":
            hook["onFailure"] = "block"
        return {"hooks": [hook]}


INSTALLER = ClaudeCodeInstaller()
