"""A request, without an agent that waits for its answer."""

from __future__ import annotations

import os
import time

from loopguard_core.events import Event
from loopguard_core.store.contract import Store


def ask(
    store: Store,
    name: str = "s",
    tool: str = "search",
    key: str = "k",
    cause: str = "verdict",
    args: object = None,
) -> str:
    """A request of a session whose agent is this process, without an agent that waits."""
    if store.session(name) is None:
        store.append(Event("session_start", name, ts=1.0, data={"pid": os.getpid()}))
    call_id = f"c{store.last(name)}"
    start = {"call": call_id, "tool": tool, "args": {"key": key} if args is None else args}
    store.append(Event("call_start", name, ts=2.0, data=start))
    data = {
        "call": call_id,
        "tool": tool,
        "signature": f"{tool}:{key}",
        "tier": "block",
        "cause": cause,
        "seen": "digest",
        "pid": os.getpid(),
        "deadline": time.time() + 60,
        "late_until": time.time() + 120,
    }
    opened = Event("request_opened", name, ts=3.0, data=data)
    store.append(opened)
    return opened.text("request")


def resolution(store: Store, request: str) -> str:
    found = store.request(request)
    assert found is not None
    return found.resolution
