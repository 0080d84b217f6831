"""opencode: a plugin file of our own in ``~/.config/opencode/plugin`` or ``.opencode/plugin``."""

from __future__ import annotations

import json
from pathlib import Path

from loopguard_console.install.base import Finding, Installer, Place, hook_argv, missing_program
from loopguard_console.install.files import Change, read

#: Seconds. opencode waits for a plugin as long as it takes.
WAITING = 600

_SOURCE = Path(__file__).with_name("opencode_plugin.js")
_HOLE = "/*HOOK*/ []"


class OpenCodeInstaller(Installer):
    agent = "opencode"
    hints = (
        "opencode loads its plugins at the start: start it again.",
        "If the hook cannot be started, its calls are refused.",
    )

    def install(self, place: Place) -> list[Change]:
        self.require(place)
        path = self.path(place)
        change = Change(path, read(path), self._plugin(place))
        return [change] if change.needed else []

    def uninstall(self, place: Place) -> list[Change]:
        self.require(place)
        path = self.path(place)
        change = Change(path, read(path), None)
        return [change] if change.needed else []

    def check(self, place: Place) -> list[Finding]:
        if place.scope not in self.scopes:
            return []
        path = self.path(place)
        found = read(path)
        if found is None:
            return []
        again = f"loopguard-console install opencode --{place.scope}"
        if found != self._plugin(place):
            return [
                Finding(False, f"{path} was written by another version or for another place", again)
            ]
        gone = missing_program(" ".join(hook_argv(self.agent, limit=WAITING)))
        if gone:
            return [Finding(False, f"{path} starts {gone}, which is not there", again)]
        return [Finding(True, f"opencode is connected in {path}")]

    def path(self, place: Place) -> Path:
        """The plugin's file for *place*."""
        if place.scope == "user":
            home = place.below_home("XDG_CONFIG_HOME", ".config")
            return home / "opencode" / "plugin" / "loopguard.js"
        return place.folder / ".opencode" / "plugin" / "loopguard.js"

    def _plugin(self, place: Place) -> bytes:
        argv = hook_argv(self.agent, limit=WAITING, store=place.store)
        return _SOURCE.read_text(encoding="utf-8").replace(_HOLE, json.dumps(argv)).encode()


INSTALLER = OpenCodeInstaller()
