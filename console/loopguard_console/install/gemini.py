"""Gemini CLI: ``settings.json`` in ``~/.gemini`` or ``.gemini``. Its times are milliseconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loopguard_console.install.base import Finding, Place, hook_command
from loopguard_console.install.files import read
from loopguard_console.install.hooks_json import HooksJson, parse
from loopguard_core.agents.gemini import EVENTS

#: Seconds.
WAITING, RECORDING = 600, 60


class GeminiInstaller(HooksJson):
    agent = "gemini"
    events = EVENTS
    hints = (
        "Gemini CLI stops a run by itself at the fifth identical call (model.disableLoopDetection).",
        "Gemini CLI lets a call run when its hook fails.",
    )

    def path(self, place: Place) -> Path:
        folder = place.home if place.scope == "user" else place.folder
        return folder / ".gemini" / "settings.json"

    def group(self, event: str, place: Place) -> dict[str, Any]:
        limit = WAITING if event == "BeforeTool" else RECORDING
        hook = {
            "type": "command",
            "name": "loopguard",
            "command": hook_command(self.agent, limit=limit, store=place.store),
            "timeout": limit * 1000,
        }
        matcher = {"matcher": "*"} if event.endswith("Tool") else {}
        return {**matcher, "hooks": [hook]}

    def check(self, place: Place) -> list[Finding]:
        findings = super().check(place)
        path = self.path(place)
        if findings and place.scope in self.scopes:
            switch = parse(path, read(path)).get("hooksConfig", {})
            if isinstance(switch, dict) and switch.get("enabled") is False:
                mend = f"set hooksConfig.enabled to true in {path}"
                return [Finding(False, f"{path} switches all hooks off", mend)]
        return findings


INSTALLER = GeminiInstaller()
