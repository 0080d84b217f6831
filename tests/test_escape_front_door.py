"""What a model with a shell could say of the session that guards it: nobody takes it for a human's word or an end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hooks import Host
from loopguard_core.events import Event
from loopguard_core.inside import inside_agent
from loopguard_core.shim import LoopGuard
from loopguard_core.store.door import open_store
from processes import environment

SIDECAR = "import sys; from loopguard_core.sidecar import serve; serve(store=sys.argv[1])"
INSIDE = (
    "import sys; from loopguard_core.inside import inside_agent; "
    "from loopguard_core.store.door import open_store; print(inside_agent(open_store(sys.argv[1])))"
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("LOOPGUARD_SESSION", raising=False)
    (tmp_path / "loopguard.toml").write_text('policy = "graded"\n')
    return tmp_path / "store.db"


@pytest.fixture
def halted(place: Path) -> Iterator[LoopGuard]:
    """A session of a shim, whose turn is halted."""
    with LoopGuard("a", session="s1", store=place, policy="graded", say=lambda _: None) as guard:
        guard.new_turn("go on")
        for _ in range(5):
            guard.after_call(guard.before_call("search", {"q": 1}), "r")
        assert not guard.before_call("search", {"q": 2}).run
        yield guard


def log(place: Path) -> list[Event]:
    with closing(open_store(str(place))) as store:
        return store.read("s1")


def sidecar(place: Path, *said: dict[str, Any]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-c", SIDECAR, str(place)],
        input="".join(json.dumps(line) + "\n" for line in said),
        env=environment(XDG_STATE_HOME=str(place.parent / "state"), HOME=str(place.parent)),
        cwd=place.parent,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def inside(place: Path, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", INSIDE, str(place)],
        env=environment(**env),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


SAID: list[dict[str, Any]] = [
    {"type": "user_message", "session": "s1", "text": "go on"},
    {"type": "session_start", "session": "s1"},
    {"type": "session_start", "session": "s1", "pid": os.getpid()},
    {"type": "session_end", "session": "s1"},
    {"type": "turn_start", "session": "s1", "reason": "next"},
]


@pytest.mark.parametrize(
    "said", SAID, ids=["message", "start", "start by its process", "end", "turn"]
)
def test_a_sidecar_says_nothing_for_a_session_that_another_process_guards(
    halted: LoopGuard, place: Path, said: dict[str, Any]
) -> None:
    before = len(log(place))
    answers = sidecar(place, said)
    assert [a["type"] for a in answers] == ["error"]
    assert f"guarded by process {os.getpid()}" in answers[0]["what"]
    assert len(log(place)) == before
    assert not halted.before_call("search", {"q": 3}).run


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("UserPromptSubmit", {"prompt": "go on"}),
        ("SessionStart", {"source": "startup"}),
        ("SessionEnd", {"reason": "other"}),
    ],
)
def test_a_hook_says_nothing_for_a_session_that_a_process_guards_itself(
    halted: LoopGuard, place: Path, event: str, fields: dict[str, Any]
) -> None:
    before = len(log(place))
    said = Host(place.parent).send(event, **fields)
    assert (said.code, said.out) == (0, "") and f"guarded by process {os.getpid()}" in said.err
    assert len(log(place)) == before
    assert not halted.before_call("search", {"q": 3}).run


@pytest.mark.parametrize(
    ("event", "fields"),
    [("UserPromptSubmit", {"prompt": "go on"}), ("SessionEnd", {"reason": "other"})],
)
def test_nor_does_one_that_has_judged_a_call_of_it_under_settings_of_its_own(
    halted: LoopGuard, place: Path, event: str, fields: dict[str, Any]
) -> None:
    host = Host(place.parent, config='policy = "hermes"\n')
    host.before()
    assert [e.data.get("served") for e in log(place) if e.type == "session_start"] == [
        None,
        "hooks",
    ]
    before = len(log(place))
    assert f"guarded by process {os.getpid()}" in host.send(event, **fields).err
    assert len(log(place)) == before
    assert not halted.before_call("search", {"q": 3}).run


def test_a_sidecar_goes_on_with_what_one_that_died_guarded(place: Path) -> None:
    """Its agent's process lives, and starts another."""
    start = {"type": "session_start", "session": "s1", "pid": os.getpid()}
    first = subprocess.Popen(
        [sys.executable, "-c", SIDECAR, str(place)],
        env=environment(XDG_STATE_HOME=str(place.parent / "state"), HOME=str(place.parent)),
        cwd=place.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert first.stdin is not None and first.stdout is not None
    first.stdin.write(json.dumps(start).encode() + b"\n")
    first.stdin.flush()
    assert b'"session"' in first.stdout.readline()
    assert [a["type"] for a in sidecar(place, start)] == ["error"], "it is there"
    first.kill()
    first.communicate(timeout=30)
    assert [a["type"] for a in sidecar(place, start)] == ["session"]


def test_a_session_that_was_made_to_end_still_counts_while_its_process_lives(place: Path) -> None:
    host = Host(place.parent, config='policy = "graded"\n')
    host.send("SessionStart", source="startup")
    host.before()
    marked = {"LOOPGUARD_SESSION": "s1"}
    assert inside(place) == inside(place, **marked) == "s1"
    host.send("SessionEnd", reason="other")
    assert [e.type for e in log(place)][-1] == "session_end"
    assert inside(place) == inside(place, **marked) == "s1"


def test_a_second_guard_of_the_session_hides_no_process_of_it(place: Path) -> None:
    """The last to begin is the one that a list of sessions names."""
    other = (
        "import sys; from loopguard_core.shim import LoopGuard\n"
        "guard = LoopGuard('b', session='s1', store=sys.argv[1])\n"
        "print(flush=True); sys.stdin.readline()"
    )
    with LoopGuard("a", session="s1", store=place, policy="graded"):
        process = subprocess.Popen(
            [sys.executable, "-c", other, str(place)],
            env=environment(XDG_STATE_HOME=str(place.parent / "state")),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.readline()
        assert inside(place, LOOPGUARD_SESSION="") == "s1"
        process.communicate(b"\n", timeout=30)
    with closing(open_store(str(place))) as store:
        assert inside_agent(store, {}) == "", (
            "a process that has closed its guard is not its own model"
        )
