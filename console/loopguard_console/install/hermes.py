"""Hermes Agent: a plugin folder in ``$HERMES_HOME`` (``~/.hermes``) and its name in ``plugins.enabled``."""

from __future__ import annotations

import re
from pathlib import Path

import loopguard_core
from loopguard_console.errors import Refused
from loopguard_console.install.base import Finding, Installer, Place
from loopguard_console.install.files import Change, backup_of, read
from loopguard_core import __version__

_NAME = "loopguard"

_MANIFEST = """\
name: loopguard
version: {version}
description: Stops loops of tool calls and lets a human decide (loopguard-console).
"""

# The package is loaded from where it is installed, without a change to hermes' own import path.
_PLUGIN = '''\
"""Written by `loopguard-console install hermes`; `loopguard-console uninstall hermes` removes it."""

import importlib.util
import os
import sys

HOME = {home!r}
{store}
if "loopguard_core" not in sys.modules:
    spec = importlib.util.spec_from_file_location(
        "loopguard_core", HOME + "/__init__.py", submodule_search_locations=[HOME]
    )
    sys.modules["loopguard_core"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

from loopguard_core.agents.hermes import register  # noqa: E402, F401
'''

_TOP = re.compile(r"^plugins:[ \t]*(#.*)?$", re.MULTILINE)
_BLOCK = re.compile(
    r"^(?P<indent>[ ]+)enabled:[ \t]*(#.*)?\n(?P<items>(?:(?P=indent)[ ]*-[^\n]*\n?)*)",
    re.MULTILINE,
)
_FLOW = re.compile(r"^(?P<indent>[ ]+)enabled:[ \t]*\[(?P<items>[^\]\n]*)\]", re.MULTILINE)
_OURS = re.compile(r"^[ ]*-[ ]*[\"']?loopguard[\"']?[ ]*\n", re.MULTILINE)


class HermesInstaller(Installer):
    agent = "hermes"
    scopes = ("user",)
    hints = (
        "hermes loads its plugins at the start: start it again.",
        "A plugin cannot stop hermes' turn: a halt denies each call until you let go.",
    )

    def install(self, place: Place) -> list[Change]:
        self.require(place)
        folder = _folder(place)
        config = _home(place) / "config.yaml"
        data = read(config)
        text = (data or b"").decode("utf-8")
        store = f'os.environ.setdefault("LOOPGUARD_STORE", {place.store!r})' if place.store else ""
        home = str(Path(loopguard_core.__file__).parent)
        wanted = {
            folder / "plugin.yaml": _MANIFEST.format(version=__version__),
            folder / "__init__.py": _PLUGIN.format(home=home, store=store),
        }
        changes = [Change(path, read(path), new.encode()) for path, new in wanted.items()]
        if not _enabled(text):
            changes.append(Change(backup_of(config), read(backup_of(config)), data))
            changes.append(Change(config, data, enable(text, config).encode()))
        return [change for change in changes if change.needed]

    def uninstall(self, place: Place) -> list[Change]:
        self.require(place)
        folder = _folder(place)
        config = _home(place) / "config.yaml"
        changes = [
            Change(p, read(p), None) for p in (folder / "__init__.py", folder / "plugin.yaml")
        ]
        data, saved = read(config), read(backup_of(config))
        text = (data or b"").decode("utf-8")
        if _enabled(text):
            was = (saved or b"").decode("utf-8")
            same = text == enable(was, config)
            after = saved if same else disable(text).encode()
            changes.append(Change(config, data, after))
        changes.append(Change(backup_of(config), saved, None))
        return [change for change in changes if change.needed]

    def check(self, place: Place) -> list[Finding]:
        if place.scope not in self.scopes:
            return []
        plugin = read(_folder(place) / "__init__.py")
        if plugin is None:
            return []
        again = "loopguard-console install hermes"
        home = str(Path(loopguard_core.__file__).parent)
        if repr(home).encode() not in plugin:
            return [
                Finding(False, "hermes' plugin loads another installation of this package", again)
            ]
        if not _enabled((read(_home(place) / "config.yaml") or b"").decode("utf-8")):
            return [Finding(False, "hermes' plugin is there but not enabled", again)]
        return [Finding(True, f"hermes is connected in {_folder(place)}")]


def _home(place: Place) -> Path:
    return place.below_home("HERMES_HOME", ".hermes")


def _folder(place: Place) -> Path:
    return _home(place) / "plugins" / _NAME


def _section(text: str) -> tuple[int, int] | None:
    """Where the lines below the top-level ``plugins:`` begin and end."""
    found = _TOP.search(text)
    if found is None:
        return None
    start = min(found.end() + 1, len(text))
    after = re.search(r"^[^\s#]", text[start:], re.MULTILINE)
    return start, start + after.start() if after else len(text)


def _enabled(text: str) -> bool:
    """True where ``plugins.enabled`` names our plugin."""
    span = _section(text)
    if span is None:
        return False
    section = text[slice(*span)]
    block, flow = _BLOCK.search(section), _FLOW.search(section)
    if flow:
        return _NAME in [item.strip().strip("\"'") for item in flow["items"].split(",")]
    return bool(block and _OURS.search(block["items"] + "\n"))


def enable(text: str, path: Path) -> str:
    """*text* with our plugin in ``plugins.enabled``, every other byte as it was.

    Raises ``Refused`` where the file is written in a way that is not known here.
    """
    if text and not text.endswith("\n"):
        text += "\n"
    if re.search(r"^plugins:[ \t]*[^#\s]", text, re.MULTILINE):
        raise Refused(
            f'{path}: "plugins:" is written on one line; add {_NAME} to its "enabled" list'
        )
    span = _section(text)
    if span is None:
        return f"{text}plugins:\n  enabled:\n    - {_NAME}\n"
    start, end = span
    section = text[start:end]
    flow = _FLOW.search(section)
    if flow:
        items = f"{flow['items'].rstrip()}, {_NAME}" if flow["items"].strip() else _NAME
        at = start + flow.start("items")
        return text[:at] + items + text[start + flow.end("items") :]
    block = _BLOCK.search(section)
    if block:
        item = re.match(r"[ ]*", block["items"])
        indent = item[0] if item and block["items"] else block["indent"] + "  "
        at = start + block.end("items")
        gap = "" if text[:at].endswith("\n") else "\n"
        return f"{text[:at]}{gap}{indent}- {_NAME}\n{text[at:]}"
    return f"{text[:start]}  enabled:\n    - {_NAME}\n{text[start:]}"


def disable(text: str) -> str:
    """*text* without our plugin in ``plugins.enabled``."""
    span = _section(text)
    if span is None:
        return text
    start, end = span
    section = text[start:end]
    flow = _FLOW.search(section)
    if flow:
        kept = [i for i in flow["items"].split(",") if i.strip().strip("\"'") != _NAME]
        section = section[: flow.start("items")] + ",".join(kept) + section[flow.end("items") :]
    else:
        section = _OURS.sub("", section)
    return text[:start] + section + text[end:]


INSTALLER = HermesInstaller()
