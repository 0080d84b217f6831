"""A process is known by its id and the time it started."""

from __future__ import annotations

import os
import subprocess
import sys

from loopguard_core.processes import alive, ancestors, started


def test_a_running_process_is_alive_and_a_finished_one_is_not() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    since = started(child.pid)
    assert since
    assert alive(child.pid) and alive(child.pid, since)
    assert not alive(child.pid, since + "0"), "the same id at another time is another process"
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not alive(child.pid, since), "a zombie is dead"
    child.wait()
    assert not alive(child.pid, since)
    assert not alive(0)


def test_ancestors_run_from_this_process_upwards() -> None:
    code = "import sys; from loopguard_core.processes import ancestors; print(*ancestors())"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True
    )
    line = [int(pid) for pid in found.stdout.split()]
    assert line.index(os.getpid()) == 1
    assert line[1:] == list(ancestors())
