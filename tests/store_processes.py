"""Processes that write one store at the same time, and die in the middle. Run by test_store_processes."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable

from loopguard_core.events import Event
from loopguard_core.store.door import open_store


def kill_in_bursts(place: str, kills: int) -> None:
    """Kill a writer *kills* times in the middle of a burst; print every acknowledged event."""
    rng = random.Random(7)
    for n in range(kills):
        acknowledged, say = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(acknowledged)
            _burst(place, n, say)
        os.close(say)
        # The kill comes somewhere in the burst: after some acknowledgements, and some moments.
        got = b""
        enough = rng.randrange(1, 60) * 8
        while len(got) < enough:
            got += os.read(acknowledged, 65_536)
        time.sleep(rng.random() * 0.002)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while more := os.read(acknowledged, 65_536):
            got += more
        os.close(acknowledged)
        whole = len(got) // 8 * 8
        for at in range(0, whole, 8):
            print(n, int(got[at : at + 8]))


def _burst(place: str, n: int, say: int) -> None:
    store = open_store(place)
    i = 0
    while True:
        i += 1
        data = {"writer": n, "i": i, "text": "x" * (50_000 if i % 7 == 0 else 500)}
        event = Event("call_start", "s", data={"call": f"{n}-{i}", "tool": "t", "args": data})
        seq = store.append(event)
        os.write(say, b"%8d" % seq)


def write_together(place: str, writers: int, each: int) -> None:
    """*writers* processes append *each* events to four sessions; print what failed and the longest wait."""
    children = []
    for n in range(writers):
        child = os.fork()
        if child == 0:
            os._exit(_writer(place, n, each))
        children.append(child)
    failed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    print(failed)


def _writer(place: str, n: int, each: int) -> int:
    store = open_store(place)
    session = f"s{n % 4}"
    for i in range(each):
        data = {"call": f"{n}-{i}", "tool": "t", "args": "x" * 800}
        store.append(Event("call_start", session, data=data))
    return 0


if __name__ == "__main__":
    work, place, *numbers = sys.argv[1:]
    doing: dict[str, Callable[..., None]] = {"kill": kill_in_bursts, "together": write_together}
    doing[work](place, *map(int, numbers))
