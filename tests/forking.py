"""A process that forks while its threads open and close stores; each child must get on with its own.

Run by test_store_processes: ``forking.py FOLDER TIMES``. Says how many children ended by themselves.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from loopguard_core.events import Event
from loopguard_core.store.door import open_store


def write(folder: str, name: str) -> None:
    store = open_store(f"{folder}/{name}.db")
    store.append(Event("note", name))
    store.close()


def ends(child: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def main() -> None:
    folder, times = sys.argv[1], int(sys.argv[2])
    over = threading.Event()

    def busy(name: str) -> None:
        while not over.is_set():
            write(folder, name)

    write(folder, "child")  # what a thread is just importing, no child can import
    for name in ("a", "b"):
        threading.Thread(target=busy, args=(name,), daemon=True).start()
    ended = 0
    for _ in range(times):
        child = os.fork()
        if not child:
            write(folder, "child")
            os._exit(0)
        if not ends(child, 20):
            break
        ended += 1
    over.set()
    print(ended)


if __name__ == "__main__":
    main()
