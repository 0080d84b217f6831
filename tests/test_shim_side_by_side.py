"""Guards side by side in one process, as in a server with one for each user: none is another's child by default."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from loopguard_core import escape
from loopguard_core.shim import LoopGuard
from loopguard_core.store.door import open_store
from processes import environment


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("LOOPGUARD_SESSION", raising=False)
    monkeypatch.setenv("LOOPGUARD_STORE", str(tmp_path / "events.db"))
    return tmp_path / "events.db"


def guarding(session: str) -> LoopGuard:
    return LoopGuard("server", session=session, policy="graded", say=lambda _: None)


def parents(place: Path) -> dict[str, str]:
    return {known.session: known.parent for known in open_store(str(place)).sessions()}


def test_halting_one_users_session_leaves_the_others_alone(place: Path) -> None:
    one, other = guarding("user-a"), guarding("user-b")
    escape.halt(open_store(str(place)), session="user-a", children=True, scope="session", by="you")
    assert not one.before_call("read", {}).run
    assert other.before_call("read", {}).run
    with guarding("user-c") as nested:
        assert nested.before_call("read", {}).run
    one.close()
    other.close()
    assert parents(place) == {"user-a": "", "user-b": "", "user-c": ""}
    assert "LOOPGUARD_SESSION" not in os.environ


def test_they_are_children_of_the_session_whose_process_started_theirs(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPGUARD_SESSION", "outer")
    with guarding("one"), guarding("two"), LoopGuard("scout", session="three", parent="two"):
        pass
    assert os.environ["LOOPGUARD_SESSION"] == "outer"
    monkeypatch.setenv("LOOPGUARD_SESSION", "another")
    with guarding("four"):
        pass
    assert parents(place) == {"one": "outer", "two": "outer", "three": "two", "four": "another"}


def test_threads_that_open_and_close_guards_take_none_for_their_parent(place: Path) -> None:
    def work(user: int) -> None:
        for n in range(4):
            with guarding(f"u{user}-{n}"):
                pass

    threads = [threading.Thread(target=work, args=(user,)) for user in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(parents(place).values()) == {""} and len(parents(place)) == 16
    assert "LOOPGUARD_SESSION" not in os.environ


FORKS = """
import os
from loopguard_core.shim import LoopGuard
guard = LoopGuard("server", session="above")
if os.fork() == 0:
    LoopGuard("worker", session="forked").close()
    os._exit(0)
os.wait()
"""


def test_a_forked_process_is_started_by_the_one_that_it_was_forked_from(place: Path) -> None:
    env = environment(LOOPGUARD_STORE=str(place), XDG_STATE_HOME=str(place.parent))
    subprocess.run([sys.executable, "-c", FORKS], env=env, check=True, timeout=60)
    assert parents(place) == {"above": "", "forked": "above"}
