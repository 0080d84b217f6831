"""What the tests of command-line agents share: a home of its own, a project, the store and a human."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from loopguard_core.events import Event
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store
from processes import CONSOLE, environment
from sessions import pending

#: policy ``graded``: the 2nd identical call is warned about, the 3rd blocked, the 4th halts the turn
GRADED = 'policy = "graded"\n'


def program(variable: str, *names: str) -> str:
    """The agent's program: named by *variable*, or one of *names* on the path. Skips without it."""
    named = os.environ.get(variable, "")
    if named:
        return named
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    pytest.skip(f"{' or '.join(names) or 'the agent'} is not installed; {variable} names it")


class Bench:
    """One agent's folder: ``home``, ``project`` and an event store, with nothing of this machine's user."""

    def __init__(self, folder: Path, config: str = GRADED) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.home.mkdir()
        self.project.mkdir()
        self.store_path = folder / "events.db"
        (self.project / "loopguard.toml").write_text(config, encoding="utf-8")
        self.more: dict[str, str] = {}

    @property
    def env(self) -> dict[str, str]:
        """The environment for the agent and for our commands."""
        kept = ("PATH", "LANG", "TMPDIR", "SSL_CERT_FILE")
        own = {name: os.environ[name] for name in kept if name in os.environ}
        return {
            **own,
            "HOME": str(self.home),
            "TERM": "dumb",
            "NO_COLOR": "1",
            "LOOPGUARD_STORE": str(self.store_path),
            **self.more,
        }

    def console(self, *args: str) -> str:
        """One of our commands, as a human gives it in another terminal. Its output."""
        done = subprocess.run(
            [*CONSOLE, *args],
            cwd=self.project,
            env={**self.env, "PYTHONPATH": environment()["PYTHONPATH"]},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(
        self, argv: list[str], env: Mapping[str, str] | None = None, *, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run the agent to its end."""
        return subprocess.run(
            argv,
            cwd=self.project,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def store(self) -> Store:
        return open_store(str(self.store_path))

    def events(self, session: str = "") -> list[Event]:
        """The events of *session*, or of the only top-level one; none while there is no session."""
        store = self.store()
        try:
            tops = [s.session for s in store.sessions() if not s.parent]
            assert session or len(tops) <= 1, tops
            return store.read(session or tops[0]) if session or tops else []
        finally:
            store.close()

    def outcomes(self) -> list[str]:
        return [str(e.data["outcome"]) for e in self.events() if e.type == "call_end"]


class Human(threading.Thread):
    """Answers the requests that appear, one word each, by our commands in a process of their own."""

    def __init__(self, bench: Bench, words: list[tuple[str, ...]]) -> None:
        super().__init__(daemon=True)
        self.bench = bench
        self.words = words
        self.answered: list[str] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            for word, *rest in self.words:
                store = self.bench.store()
                try:
                    request = pending(store, patience=150).request
                finally:
                    store.close()
                self.bench.console(word, request, *rest)
                self.answered.append(request)
        except BaseException as error:  # noqa: BLE001 - shown by the test that waits for it
            self.failure = error

    def __enter__(self) -> Human:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.join(timeout=30)
        assert self.failure is None, self.failure
