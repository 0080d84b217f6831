"""What the tests of frameworks share: the guard in this process, the human in another one."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from loopguard_core.config import Config
from loopguard_core.store.contract import Session, Store
from loopguard_core.store.door import open_store
from processes import environment
from sessions import pending

_DECIDE = """
import json, sys
from loopguard_core import escape
from loopguard_core.store.door import open_store
place, word, args, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
getattr(escape, word)(open_store(place), *args, **options)
"""


class Hanging:
    """A tool that does not come back by itself."""

    def __init__(self) -> None:
        self._begun = asyncio.Event()

    async def read_file(self, path: str) -> str:
        """Read a file."""
        self._begun.set()
        await asyncio.Event().wait()
        raise AssertionError(path)

    def cancelled(self, work: Awaitable[object]) -> None:
        """Run *work*, and cancel it while the tool runs."""

        async def run() -> None:
            task = asyncio.ensure_future(work)
            await self._begun.wait()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            assert task.cancelled()

        asyncio.run(run())


class Desk:
    """A store in a folder, and decisions made by other processes."""

    def __init__(self, folder: Path) -> None:
        self.place = str(folder / "events.db")
        self.store: Store = open_store(self.place)

    def config(self, **settings: Any) -> Config:
        """``graded``: the 2nd identical call is warned about, the 3rd blocked, the 4th halts the turn."""
        return Config({"policy": "graded", **settings})

    def decide(self, word: str, *args: Any, **options: Any) -> None:
        """A human's word, from a process of its own: a function of ``escape``."""
        argv = [sys.executable, "-c", _DECIDE, self.place, word]
        argv += [json.dumps(args), json.dumps(options)]
        done = subprocess.run(argv, env=environment(), capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr

    @contextmanager
    def human(self, word: str, *args: Any, **options: Any) -> Iterator[None]:
        """A human who gives *word* to the first request that appears."""
        failed: list[BaseException] = []

        def answer() -> None:
            store = open_store(self.place)
            try:
                self.decide(word, pending(store, 40).request, *args, **options)
            except BaseException as error:  # noqa: BLE001 - shown below
                failed.append(error)
            finally:
                store.close()

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield
        thread.join(50)
        assert not failed, failed

    def sessions(self) -> list[Session]:
        return self.store.sessions()

    def used(self) -> list[dict[str, Any]]:
        """What the answers of the only session used up, without the answers' ids."""
        (session,) = self.sessions()
        told = [e.data for e in self.store.read(session.session) if e.type == "usage"]
        return [{k: v for k, v in said.items() if k != "message"} for said in told]

    def outcomes(self, session: str = "") -> list[str]:
        """How the calls of *session* ended, or of the only one."""
        names = [session] if session else [s.session for s in self.sessions()]
        assert len(names) == 1, names
        events = self.store.read(names[0])
        return [str(e.data["outcome"]) for e in events if e.type == "call_end"]
