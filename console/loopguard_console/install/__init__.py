"""Connecting command-line agents: one file an agent, each planning changes that ``files`` carries out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopguard_console.install.base import Installer

#: agent -> module in this package that has ``INSTALLER``
INSTALLERS = {
    "claude-code": "claude_code",
    "codex": "codex",
    "gemini": "gemini",
    "copilot": "copilot",
    "opencode": "opencode",
    "hermes": "hermes",
}


def installer(agent: str) -> Installer:
    """The installer of *agent*. Raises ``KeyError`` for one that has none."""
    module = importlib.import_module(f"loopguard_console.install.{INSTALLERS[agent]}")
    found: Installer = module.INSTALLER
    return found
