"""A console server as a process, for the tests of ``serve``."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
from pathlib import Path
from typing import Any

import aiohttp

from commands import command
from processes import CONSOLE, environment


class Served:
    """A server on a store of its own."""

    def __init__(self, store: Path, *options: str) -> None:
        self.store = store
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        argv = [*CONSOLE, "--store", str(store), "serve", "--port", str(self.port), "--json"]
        env = environment(HOME=str(store.parent), XDG_STATE_HOME=str(store.parent))
        self.process = subprocess.Popen([*argv, *options], env=env, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.told: dict[str, Any] = json.loads(self.process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}"

    def end(self) -> None:
        self.process.terminate()
        assert self.process.wait(20) in (0, -15)
        if self.process.stdout:
            self.process.stdout.close()


async def up(client: Any, served: Served) -> None:
    """Wait until the server answers."""
    for _ in range(200):
        try:
            async with client.get(f"{served.url}/static/css/xterm.css"):
                return
        except aiohttp.ClientConnectionError:
            await asyncio.sleep(0.05)
    raise AssertionError("the server does not answer")


def pending(served: Served) -> list[str]:
    found = command(served.store, "pending", "--json").objects
    return [r["request"] for r in found if r["state"] == "waiting"]
