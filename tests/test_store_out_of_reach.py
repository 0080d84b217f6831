"""A store that this user cannot get at: it is said for what it is, and nothing is left behind by who tried."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from loopguard_console.doctor.finding import WRONG
from loopguard_console.doctor.store import examine
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.session.live import LiveSession
from loopguard_core.store import paths
from loopguard_core.store.contract import StoreError
from loopguard_core.store.door import open_store
from processes import environment
from sessions import loop

SHUT_OUT = """
import os, sys
from loopguard_console.doctor import disk, store
from loopguard_console.doctor.mend import mend
from loopguard_core.store.contract import StoreError
from loopguard_core.store.door import open_store
place, folder = sys.argv[1:]
def look():
    for read_only in (True, False):
        try:
            open_store(place, create=False, read_only=read_only).close()
        except StoreError as error:
            print(type(error).__name__, error)
    print(*list(mend(place)), *(f"{f.what}; {f.mend}" for f in store.examine(place)), *disk.examine(place))
open_store(place).close()
look()  # what is imported, once it is needed
print("shut out")
if os.geteuid() == 0:
    for owned in (os.path.dirname(folder), folder):
        os.chown(owned, 65534, 65534)
    os.setuid(65534)
os.chmod(folder, 0)
look()
os.chmod(folder, 0o700)
"""


@pytest.mark.parametrize("below", ["events.db", "deeper/events.db"])
def test_a_folder_that_may_not_be_entered_is_not_taken_for_one_without_a_store(below: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "in"
        done = subprocess.run(
            [sys.executable, "-c", SHUT_OUT, str(folder / below), str(folder)],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.stderr == ""
    first, second, doctor = done.stdout.partition("shut out\n")[2].splitlines()
    for said in (first, second, f"StoreError {doctor}"):
        assert said.startswith("StoreError cannot look for the event store"), said
        assert "let this user enter its folder" in said
    assert "SQLite" in doctor, "the rest is looked at as well"


FOR_A_WHILE = """
import os, sys, time
from loopguard_core.session import journal
from loopguard_core.shim import LoopGuard
place, folder = sys.argv[1:]
if os.geteuid() == 0:
    os.chown(folder, 65534, 65534)
journal._FIRST_PAUSE = 0.0
with LoopGuard("a", session="warm", store=place + "-other", say=str) as guard:  # what is imported, once it is needed
    guard.tool(lambda q: q)(1)
if os.geteuid() == 0:
    for name in os.listdir(folder):
        os.chown(os.path.join(folder, name), 65534, 65534)
    os.setuid(65534)
with LoopGuard("a", session="s", store=place, say=print) as guard:
    call = guard.tool(lambda q: q, name="t")
    call(1)
    os.chmod(folder, 0)
    time.sleep(0.06)
    call(2)
    os.chmod(folder, 0o700)
    time.sleep(0.06)
    call(3)
"""


def test_a_store_out_of_reach_for_a_while_is_the_same_one_when_it_is_back() -> None:
    with tempfile.TemporaryDirectory() as name:
        place = f"{name}/events.db"
        done = subprocess.run(
            [sys.executable, "-c", FOR_A_WHILE, place, name],
            env=environment(XDG_STATE_HOME=name),
            capture_output=True,
            text=True,
            timeout=60,
        )
        log = open_store(place).read("s")
    assert done.stderr == ""
    failed, back = done.stdout.splitlines()
    assert "cannot look for the event store" in failed and "goes on in memory" in failed
    assert back == "the event store is back; 2 events are missing from it"
    kinds = ["session_start", "call_start", "call_end", "gap", "call_start", "call_end"]
    assert [e.type for e in log] == [*kinds, "session_end"]
    assert log[3].data["count"] == 2 and "cannot look" in log[3].text("reason")


def test_a_key_for_which_there_is_no_room_leaves_nothing_behind(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    place = str(tmp_path / "events.db")
    for _ in range(3):
        resource.setrlimit(resource.RLIMIT_FSIZE, (8, hard))
        try:
            with pytest.raises(StoreError, match=r"key file .*; make room"):
                open_store(place)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []
    assert open_store(place).append(Event("note", "s")) == 1
    assert len(paths.machine_key(place)) == paths.KEY_BYTES


def test_a_link_that_leads_nowhere_yet_is_no_fault_and_one_that_leads_to_itself_is(
    tmp_path: Path,
) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "events.db"
    link.symlink_to("real/events.db")
    assert not [f for f in examine(str(link)) if f.state == WRONG]
    open_store(str(link)).close()
    assert (tmp_path / "real" / "events.db").is_file()
    loop = tmp_path / "loop.db"
    loop.symlink_to("loop.db")
    (wrong,) = [f for f in examine(str(loop)) if f.state == WRONG]
    assert "is a link, not a file" in wrong.what and "remove it" in wrong.mend


@pytest.mark.parametrize(
    "name", ["a b", "it's", "new\nline'\\", "\x1b[31mred", "\udcff1", "\u202ertl", "\x85a", "日本"]
)
def test_the_command_that_lets_a_call_go_on_reaches_the_store_whatever_it_is_called(
    tmp_path: Path, name: str
) -> None:
    said: list[str] = []
    config = Config({"policy": "graded", "mode": "enforce", "store": str(tmp_path / name)})
    with LiveSession(config, "s", say=said.append) as live:
        loop(live, 3)
    refused = next(line for line in said if "call refused" in line)
    assert refused.isprintable()
    named = refused.partition("loopguard-console --store ")[2].rpartition(" approve ")[0]
    shell = ["bash", "-c", f"printf %s {named}"]
    read = subprocess.run(shell, capture_output=True, env={"LC_ALL": "C.UTF-8"}, check=True)
    assert os.fsdecode(read.stdout) == str(tmp_path / name)
