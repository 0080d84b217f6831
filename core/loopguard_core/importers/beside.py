"""Files that are read together with another one: above all those of Claude Code's subagents.

Since 2.1 those lie in ``<session>/subagents``; before that in the parent's own folder, where only the
session id in their records says whose they are.
"""

from __future__ import annotations

import re
from pathlib import Path

from loopguard_core import files

_SESSION = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')
_OPENING = 65_536


def session_in(path: Path) -> str:
    """The session id that a transcript's first records name; empty where none does."""
    try:
        found = _SESSION.search(files.read(str(path), _OPENING, follow=True))
    except OSError:
        return ""
    return found[1].decode("utf-8", "replace") if found else ""


def subagent_files(path: Path | None, session: str) -> list[Path]:
    """The transcripts of the subagents of *session*, whose own is *path*."""
    if path is None or path.name.startswith("agent-"):
        return []
    below = sorted((path.with_suffix("") / "subagents").rglob("agent-*.jsonl"))
    same = (p for p in sorted(path.parent.glob("agent-*.jsonl")) if session_in(p) == session)
    return [p for p in (*below, *same) if p.is_file()]


class Families:
    """Which files of a folder are read together with another one. Looks into each at most once."""

    def __init__(self) -> None:
        self._parents: dict[Path, set[str]] = {}

    def is_child(self, path: Path) -> bool:
        """True where *path* belongs to a transcript that lies beside it."""
        if path.suffix == ".json" and path.name.startswith(("msg_", "prt_")):
            return not {"message", "part"}.isdisjoint(path.parts)  # of an opencode session
        if not path.name.startswith("agent-"):
            return False
        if path.name.endswith(".meta.json"):
            return True
        folder = path.parent
        above = (
            p for p in path.parents if p.name == "subagents"
        )  # a workflow's lie a folder deeper
        if any(p.parent.with_suffix(".jsonl").is_file() for p in above):
            return True
        return path.suffix == ".jsonl" and session_in(path) in self._sessions(folder)

    def _sessions(self, folder: Path) -> set[str]:
        """The sessions of the transcripts in *folder* that are no subagents'."""
        known = self._parents.get(folder)
        if known is None:
            own = (p for p in folder.glob("*.jsonl") if not p.name.startswith("agent-"))
            known = self._parents[folder] = {session_in(p) for p in own} - {""}
        return known
