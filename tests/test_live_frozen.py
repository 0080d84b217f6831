"""An agent whose tests stop the time: what waits goes on by a clock of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from processes import environment

#: The time as freezegun stops it: every function of ``time`` that tells it, before ours is loaded and after.
FROZEN = """
import sys, time
for name in ("time", "monotonic", "perf_counter"):
    for suffix, type in (("", float), ("_ns", int)):
        setattr(time, name + suffix, lambda type=type: type(1_600_000_000))
from loopguard_core.shim import LoopGuard
import sqlite3
place = sys.argv[1]
with LoopGuard("s", store=place, policy="graded", unattended_wait_seconds=0.2, say=lambda line: None) as guard:
    ran = [guard.before_call("search", {"q": 1}).run for _ in range(3)]
    other = sqlite3.connect(place, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # a store that somebody else keeps for himself
    ran.append(guard.before_call("read", {}).run)
    other.execute("ROLLBACK")
print(ran)
"""


def test_neither_a_human_nor_a_store_is_waited_for_without_end(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FROZEN, str(tmp_path / "events.db")],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.stdout.split("\n")[0] == "[True, True, False, True]", done.stderr
