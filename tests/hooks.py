"""Starting the hook as an agent does: the packaged launcher, one process an event."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import loopguard_core
from processes import environment

LAUNCHER = Path(loopguard_core.__file__).parent / "hook_launcher.py"


class Said:
    """What one hook process printed. ``answer`` is None where it said nothing."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.code = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()
        self.answer: Any = json.loads(self.out) if self.out.strip() else None

    @property
    def denied(self) -> str:
        """The reason of Claude Code's denial, empty where it was none."""
        specific = (self.answer or {}).get("hookSpecificOutput", {})
        return str(specific.get("permissionDecisionReason", ""))

    @property
    def advice(self) -> str:
        return str((self.answer or {}).get("hookSpecificOutput", {}).get("additionalContext", ""))


class Host:
    """An agent that starts hooks, in a folder with its own configuration and store, or with the one at the URL ``server``."""

    def __init__(self, folder: Path, agent: str = "claude-code", config: str = "") -> None:
        self.folder = folder
        self.agent = agent
        self.store = folder / "store.db"
        self.server = ""
        self.calls = 0
        if config:
            (folder / "loopguard.toml").write_text(config, encoding="utf-8")

    def raw(self, data: bytes | str, *options: str, limit: float = 60) -> Said:
        """Start the hook with *data* on its standard input."""
        argv = [sys.executable, "-I", "-S", str(LAUNCHER), "--agent", self.agent]
        argv += ["--store", self.server or str(self.store), "--limit", f"{limit:g}", *options]
        done = subprocess.run(
            argv,
            input=data.encode() if isinstance(data, str) else data,
            capture_output=True,
            env=environment(HOME=str(self.folder)),
            timeout=60,
            check=False,
        )
        return Said(done)

    def send(self, event: str, *, limit: float = 60, **fields: Any) -> Said:
        """One of Claude Code's events."""
        data = {"session_id": "s1", "cwd": str(self.folder), "hook_event_name": event, **fields}
        return self.raw(json.dumps(data), limit=limit)

    def before(self, command: str = "cat nope", **fields: Any) -> Said:
        """A Bash call is about to run."""
        self.calls += 1
        return self.send("PreToolUse", **{**self._tool(command), **fields})

    def after(self, command: str = "cat nope", **fields: Any) -> Said:
        """The last call failed."""
        failed = {"error": "Exit code 1\nno such file"}
        return self.send("PostToolUseFailure", **{**self._tool(command), **failed, **fields})

    def _tool(self, command: str) -> dict[str, Any]:
        args = {"command": command}
        return {"tool_name": "Bash", "tool_input": args, "tool_use_id": f"toolu_{self.calls}"}
