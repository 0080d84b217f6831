"""Sessions in a store of their own, for tests of what runs in the agent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loopguard_core import escape
from loopguard_core.config import Config
from loopguard_core.decision import Decision
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import Request, Store
from loopguard_core.store.door import open_store

#: warn on the 2nd, block on the 3rd, halt on the 4th identical call in a row
GRADED = {"policy": "graded"}


def store_in(folder: Path) -> Store:
    """A store in *folder*."""
    return open_store(str(folder / "events.db"))


def session(
    store: Store, name: str = "s", *, said: list[str] | None = None, **settings: Any
) -> LiveSession:
    """A session that judges by ``graded`` unless *settings* say otherwise; *said* takes its lines."""
    config = Config({**GRADED, **settings})
    lines: list[str] = [] if said is None else said
    return LiveSession(config, name, agent="tester", store=store, say=lines.append)


def call(
    live: LiveSession, tool: str = "search", args: object = None, result: object = "r"
) -> Decision:
    """One call from its start to its end."""
    decision = live.before(tool, {"q": 1} if args is None else args)
    live.after(decision, result)
    return decision


def loop(live: LiveSession, times: int) -> list[Decision]:
    """The same call *times* times."""
    return [call(live) for _ in range(times)]


def pending(store: Store, patience: float = 20.0) -> Request:
    """The request that waits; waits for it to appear."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        found = store.requests(pending=True)
        if found:
            return found[-1]
        time.sleep(0.005)
    raise AssertionError("no request appeared")


@contextmanager
def meanwhile(act: Callable[[], object]) -> Iterator[None]:
    """Do *act* in another thread; what it raises is raised here in the end."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - raised again in the test's own thread
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join(30)
        assert not thread.is_alive()
    if failed:
        raise failed[0]


def approve_pending(store: Store) -> escape.Decided:
    """Approve the request that waits, once there is one."""
    return escape.approve(store, pending(store).request, by="you")
