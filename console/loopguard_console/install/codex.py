"""Codex: ``hooks.json`` in ``$CODEX_HOME`` (``~/.codex``) or ``.codex``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loopguard_console.install.base import Place, hook_command
from loopguard_console.install.hooks_json import HooksJson
from loopguard_core.agents.codex import EVENTS

#: Seconds. Codex cuts the last hook of a session to three by itself.
WAITING, RECORDING, LEAVING = 600, 60, 3


class CodexInstaller(HooksJson):
    agent = "codex"
    events = EVENTS
    hints = (
        "Codex runs a new hook only after you trusted it: start codex and answer, or see /hooks.",
        "Codex cannot stop a turn: a halt denies each call until you let go.",
        "Codex lets a call run when its hook fails.",
    )

    def path(self, place: Place) -> Path:
        if place.scope == "user":
            return place.below_home("CODEX_HOME", ".codex") / "hooks.json"
        return place.folder / ".codex" / "hooks.json"

    def group(self, event: str, place: Place) -> dict[str, Any]:
        limit = {"PreToolUse": WAITING, "SessionEnd": LEAVING}.get(event, RECORDING)
        command = hook_command(self.agent, limit=limit, store=place.store)
        return {"hooks": [{"type": "command", "command": command, "timeout": limit}]}


INSTALLER = CodexInstaller()
