"""A client of the MCP proxy that writes and reads bytes, so that a test sees what passes through."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from loopguard_core.events import Event
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store
from processes import CONSOLE, environment

SERVER = Path(__file__).with_name("mcp_server.py")


class Client:
    """The proxy in front of the scripted server, in *folder*."""

    def __init__(self, folder: Path, *options: str, config: str = "", server: str = "") -> None:
        self.log = folder / "server.log"
        self.log.touch()
        self.place = folder / "events.db"
        (folder / "loopguard.toml").write_text(f'policy = "graded"\n{config}', encoding="utf-8")
        command = [server] if server else [sys.executable, str(SERVER), str(self.log)]
        self.process = subprocess.Popen(
            [*CONSOLE, "--store", str(self.place), "mcp-proxy", *options, "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(XDG_STATE_HOME=str(folder), HOME=str(folder)),
            cwd=folder,
        )
        self.ids = 0

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def line(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def message(self) -> Any:
        line = self.line()
        assert line, self.process.stderr.read() if self.process.stderr else b""
        return json.loads(line)

    def request(self, method: str, id: Any = None, **params: Any) -> Any:
        """Send a request; its id."""
        if id is None:
            self.ids += 1
            id = self.ids
        told = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        self.send(json.dumps(told).encode() + b"\n")
        return id

    def notify(self, method: str, **params: Any) -> None:
        told = {"jsonrpc": "2.0", "method": method, "params": params}
        self.send(json.dumps(told).encode() + b"\n")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and take the next message, which must be its response."""
        id = self.request(method, **params)
        message = self.message()
        assert message["id"] == id, message
        return dict(message)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of one call."""
        return dict(self.ask("tools/call", name=tool, arguments=arguments)["result"])

    def received(self) -> list[Any]:
        """What the server got, as JSON."""
        lines = self.log.read_bytes().splitlines()
        return [json.loads(line) for line in lines if line.startswith((b"{", b"["))]

    def store(self) -> Store:
        return open_store(str(self.place))

    def events(self, type: str = "") -> list[Event]:
        store = self.store()
        try:
            sessions = store.sessions()
            events = store.read(sessions[0].session) if sessions else []
        finally:
            store.close()
        return [e for e in events if not type or e.type == type]

    def human(self, *words: str) -> None:
        """A person's command in another process."""
        done = subprocess.run(
            [*CONSOLE, "--store", str(self.place), *words],
            env=environment(),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def end(self) -> tuple[int, str]:
        """Close the connection: the exit code and what was said on stderr."""
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said.decode()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
