"""An agent whose hooks are held on to while they run."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from hooks import LAUNCHER, Host
from loopguard_core.events import Event
from loopguard_core.store.door import open_store
from processes import environment

ARGV = [sys.executable, "-I", "-S", str(LAUNCHER), "--agent", "claude-code"]
DENY = 'on_store_failure = "deny"\n'
GRADED = 'policy = "graded"\n'


class Agent(Host):
    """An agent whose hooks are held on to while they run."""

    @property
    def options(self) -> list[str]:
        return ["--agent", "claude-code", "--store", str(self.store), "--limit", "60"]

    def start(self, **environ: str) -> subprocess.Popen[bytes]:
        """A hook that has not heard anything yet."""
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(LAUNCHER), *self.options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=environment(**{"HOME": str(self.folder), **environ}),
        )

    def said(self, call: str = "c1", command: str = "cat nope", **fields: Any) -> bytes:
        """What the agent says of a call that is about to run."""
        tool = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": call}
        data = {"session_id": "s1", "cwd": str(self.folder), "hook_event_name": "PreToolUse"}
        return json.dumps({**data, **tool, **fields}).encode()

    def events(self) -> list[Event]:
        store = open_store(str(self.store))
        try:
            return store.read("s1")
        finally:
            store.close()

    def kinds(self) -> list[str]:
        return [event.type for event in self.events()]

    def loop(self) -> None:
        """So often that the next one is blocked."""
        for _ in range(2):
            self.before()
            self.after()


def heard_whole(hook: subprocess.Popen[bytes], data: bytes) -> None:
    assert hook.stdin is not None
    hook.stdin.write(data)
    hook.stdin.close()


def ended(hook: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """How it ended, what it answered and what it said to the person."""
    assert hook.stdout and hook.stderr
    with hook.stdout as out, hook.stderr as err:
        said = out.read().decode() if not out.closed else "", err.read().decode()
    assert "Traceback" not in said[1], said[1]
    return hook.wait(timeout=60), *said


def until(condition: Callable[[], bool]) -> None:
    for _ in range(1500):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it never came")
