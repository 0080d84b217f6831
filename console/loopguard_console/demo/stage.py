"""A demo's own place: a temporary store, its settings, and the agent that runs beside the console."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from loopguard_console.children import environment, module_command
from loopguard_console.demo.stories import Story

_LEAVE_SECONDS = 5.0


class Stage:
    """Where a demo plays. A context manager: on leaving, the agent ends and a temporary store goes.

    *store* keeps the events in that file instead. *settings* are further keys of ``loopguard.toml``.
    """

    def __init__(
        self, story: Story, *, store: str = "", settings: Mapping[str, float] | None = None
    ) -> None:
        self.story = story
        self.folder = Path(tempfile.mkdtemp(prefix="loopguard-demo-"))
        self.store = store or str(self.folder / "events.db")
        self.config = self.folder / "loopguard.toml"
        self.session = f"{story.agent}-demo"
        self.agent: subprocess.Popen[bytes] | None = None
        self.config.write_text(_toml(story, settings or {}), encoding="utf-8")

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            self.end_agent()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def start_agent(self, *, pace: float, quiet: bool) -> subprocess.Popen[bytes]:
        """Start the scripted agent; *quiet* keeps what it prints out of this terminal."""
        args = [self.story.name, "--session", self.session, "--pace", str(pace), "--leash"]
        out = subprocess.DEVNULL if quiet else None
        self.agent = subprocess.Popen(
            module_command("loopguard_console.demo.agent", *args),
            env=environment(LOOPGUARD_STORE=self.store, LOOPGUARD_CONFIG=str(self.config)),
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=out,
        )
        return self.agent

    def end_agent(self) -> None:
        """End the agent: asked first, then made to."""
        agent = self.agent
        if agent is None:
            return
        if agent.stdin is not None:
            with contextlib.suppress(OSError):
                agent.stdin.close()
        agent.terminate()
        try:
            agent.wait(_LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            agent.kill()
            agent.wait()


def _toml(story: Story, settings: Mapping[str, float]) -> str:
    lines = [f"{key} = {value}" for key, value in {"wait_seconds": 900.0, **settings}.items()]
    if story.policy:
        lines.append(f"policy = {json.dumps(story.policy)}")
    if story.options:
        lines.append(f"[policies.{json.dumps(story.policy)}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in story.options.items()]
    return "\n".join(lines) + "\n"
