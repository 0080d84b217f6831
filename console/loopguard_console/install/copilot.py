"""GitHub Copilot CLI: a hook file of our own in ``~/.copilot/hooks`` or ``.github/hooks``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from loopguard_console.install.base import Place, hook_command
from loopguard_console.install.hooks_json import HooksJson
from loopguard_core.agents.copilot import EVENTS

#: Seconds.
WAITING, RECORDING = 600, 60


class CopilotInstaller(HooksJson):
    agent = "copilot"
    hints = (
        "Copilot reads the hooks of a folder only where you trust it (copilot asks, or --trust-folder).",
        "Copilot cannot stop a turn: a halt denies each call until you let go.",
        "Copilot lets a call run when its hook fails.",
    )

    def path(self, place: Place) -> Path:
        if place.scope == "user":
            configured = os.environ.get("COPILOT_HOME")
            home = Path(configured) if configured else place.home / ".copilot"
            return home / "hooks" / "loopguard.json"
        return place.folder / ".github" / "hooks" / "loopguard.json"

    def groups(self, place: Place) -> dict[str, dict[str, Any]]:
        return {event: self._group(event, place) for event in EVENTS}

    def _group(self, event: str, place: Place) -> dict[str, Any]:
        limit = WAITING if event == "preToolUse" else RECORDING
        command = hook_command(self.agent, limit=limit, store=place.store, event=event)
        return {"type": "command", "bash": command, "timeoutSec": limit}

    def amend(self, settings: dict[str, Any]) -> None:
        settings.setdefault("version", 1)

    def restore(self, settings: dict[str, Any], before: dict[str, Any]) -> None:
        if "version" not in before and not settings.get("hooks"):
            settings.pop("version", None)


INSTALLER = CopilotInstaller()
