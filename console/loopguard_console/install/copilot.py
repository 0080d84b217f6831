"""GitHub Copilot CLI: a hook file of our own in ``~/.copilot/hooks`` or ``.github/hooks``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loopguard_console.install.base import Place, hook_command
from loopguard_console.install.hooks_json import HooksJson
from loopguard_core.agents.copilot import EVENTS

#: Seconds.
WAITING, RECORDING = 600, 60


class CopilotInstaller(HooksJson):
    agent = "copilot"
    events = EVENTS
    hints = (
        "Copilot reads the hooks of a folder only where you trust it (copilot asks, or --trust-folder).",
        "Copilot cannot stop a turn: a halt denies each call until you let go.",
        "Copilot lets a call run when its hook fails.",
    )

    def path(self, place: Place) -> Path:
        if place.scope == "user":
            return place.below_home("COPILOT_HOME", ".copilot") / "hooks" / "loopguard.json"
        return place.folder / ".github" / "hooks" / "loopguard.json"

    def group(self, event: str, place: Place) -> dict[str, Any]:
        limit = WAITING if event == "preToolUse" else RECORDING
        command = hook_command(self.agent, limit=limit, store=place.store, event=event)
        return {"type": "command", "bash": command, "timeoutSec": limit}

    def amend(self, settings: dict[str, Any]) -> None:
        settings.setdefault("version", 1)

    def restore(self, settings: dict[str, Any], before: dict[str, Any]) -> None:
        if "version" not in before and not settings.get("hooks"):
            settings.pop("version", None)


INSTALLER = CopilotInstaller()
