"""Agents that keep their hooks as ``{"hooks": {EVENT: [{"matcher", "hooks": [{"type", "command"}]}]}}``.

Our groups are recognised by their command, so that installing again replaces them and everything else
stays. A backup of the file as it was lies beside it; uninstalling gives it back byte for byte where
nothing else changed, else takes out our groups alone.
"""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

from loopguard_console.errors import Refused
from loopguard_console.install.base import Finding, Installer, Place, missing_program, ours
from loopguard_console.install.files import Change, backup_of, read


class HooksJson(Installer):
    """An installer for one such file. Subclasses say where it is and which groups are ours."""

    #: what our hook listens to
    events: tuple[str, ...] = ()

    def path(self, place: Place) -> Path:
        """The agent's settings file for *place*."""
        raise NotImplementedError

    def group(self, event: str, place: Place) -> dict[str, Any]:
        """Our group for *event*."""
        raise NotImplementedError

    def groups(self, place: Place) -> dict[str, dict[str, Any]]:
        """Event -> our group for it."""
        return {event: self.group(event, place) for event in self.events}

    def amend(self, settings: dict[str, Any]) -> None:
        """Set what else the agent needs. Called on the settings after our groups were added."""

    def restore(self, settings: dict[str, Any], before: dict[str, Any]) -> None:
        """Undo ``amend``, where *before* is what the settings were without us."""

    def install(self, place: Place) -> list[Change]:
        self.require(place)
        path = self.path(place)
        data = read(path)
        settings = parse(path, data)
        bare = without_ours(settings)
        changes = []
        if not has_ours(settings):
            changes.append(Change(backup_of(path), read(backup_of(path)), data))
        wanted = copy.deepcopy(bare)
        hooks = wanted.setdefault("hooks", {})
        for event, group in self.groups(place).items():
            hooks.setdefault(event, []).append(group)
        self.amend(wanted)
        changes.append(Change(path, data, data if wanted == settings else dump(wanted, data)))
        return [change for change in changes if change.needed]

    def uninstall(self, place: Place) -> list[Change]:
        self.require(place)
        path = self.path(place)
        data = read(path)
        settings = parse(path, data)
        if not has_ours(settings):
            return []
        saved = read(backup_of(path))
        before = parse(backup_of(path), saved)
        bare = without_ours(settings)
        self.restore(bare, before)
        if bare == without_ours(before):
            after = saved
        else:
            after = dump(bare, data)
        changes = [Change(path, data, after), Change(backup_of(path), saved, None)]
        return [change for change in changes if change.needed]

    def check(self, place: Place) -> list[Finding]:
        if place.scope not in self.scopes:
            return []
        path = self.path(place)
        settings = parse(path, read(path))
        if not has_ours(settings):
            return []
        again = f"loopguard-console install {self.agent} --{place.scope}"
        found = {event: commands(groups) for event, groups in settings["hooks"].items()}
        gone = {missing_program(c) for each in found.values() for c in each} - {""}
        if gone:
            return [Finding(False, f"{path} starts {min(gone)}, which is not there", again)]
        lacking = [event for event in self.groups(place) if not found.get(event)]
        if lacking:
            return [Finding(False, f"{path} has no hook for {', '.join(lacking)}", again)]
        return [Finding(True, f"{self.agent} is connected in {path}")]


def parse(path: Path, data: bytes | None) -> dict[str, Any]:
    """The settings in *data*. Raises ``Refused`` where they are not an object with usable hooks."""
    if data is None or not data.strip():
        return {}
    try:
        settings = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path} is not JSON ({error}): mend it first") from None
    if not isinstance(settings, dict):
        raise Refused(f"{path} is not a JSON object: mend it first")
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(g, list) for g in hooks.values()):
        raise Refused(f'{path}: "hooks" is not an object of lists: mend it first')
    return settings


def dump(settings: dict[str, Any], like: bytes | None) -> bytes | None:
    """*settings* as JSON in the manner of *like*; None where nothing is left and nothing was there."""
    if not settings and like is None:
        return None
    style = (like or b"").decode("utf-8", "replace")
    indent = re.search(r"^([ \t]+)\S", style, re.MULTILINE)
    text = json.dumps(settings, indent=indent.group(1) if indent else 2, ensure_ascii=False)
    return (text + ("\n" if style.endswith("\n") or not style else "")).encode(
        "utf-8", "surrogatepass"
    )


def commands(groups: list[Any]) -> list[str]:
    """Our command lines among *groups*."""
    return [
        command
        for group in groups
        for hook in _hooks(group)
        for command in [_command(hook)]
        if ours(command)
    ]


def has_ours(settings: dict[str, Any]) -> bool:
    """True where any hook starts ours."""
    return any(commands(groups) for groups in settings.get("hooks", {}).values())


def without_ours(settings: dict[str, Any]) -> dict[str, Any]:
    """A copy of *settings* without our hooks, and without what is empty once they are gone."""
    bare = copy.deepcopy(settings)
    hooks = bare.get("hooks", {})
    for event, groups in list(hooks.items()):
        kept = []
        for group in groups:
            if isinstance(group, dict) and isinstance(group.get("hooks"), list):
                group["hooks"] = [h for h in group["hooks"] if not ours(_command(h))]
                if group["hooks"]:
                    kept.append(group)
            elif not ours(_command(group)):
                kept.append(group)
        if kept:
            hooks[event] = kept
        else:
            del hooks[event]
    if not hooks:
        bare.pop("hooks", None)
    return bare


def _hooks(group: object) -> list[Any]:
    if isinstance(group, dict) and isinstance(group.get("hooks"), list):
        return list(group["hooks"])
    return [group]


def _command(hook: object) -> str:
    if not isinstance(hook, dict):
        return ""
    for name in ("command", "bash"):
        if isinstance(hook.get(name), str):
            return str(hook[name])
    return ""
