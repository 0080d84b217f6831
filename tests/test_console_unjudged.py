"""Calls that no guard has judged yet have no tier: a transcript that was imported, until somebody opens it."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

import postgres
from commands import command
from console_scene import empty_desk
from loopguard_core.events import Event
from loopguard_core.shim import LoopGuard
from loopguard_core.store.contract import Session
from loopguard_core.store.door import open_store

CALL: dict[str, object] = {"type": "call", "tool": "ls", "args": {}, "result": "", "ok": True}
WARNED = {**CALL, "verdict": {"tier": "warn", "policy": "theirs", "source": "theirs"}}


def recording(folder: Path, name: str, *calls: dict[str, object]) -> Path:
    file = folder / f"{name}.jsonl"
    start: dict[str, object] = {"type": "session_start", "agent": "theirs"}
    lines = [json.dumps({"session": name, **line}) for line in (start, *calls)]
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def filled(place: str, folder: Path) -> None:
    """A store with an imported session, one that another guard warned, and one of ours that is calm."""
    for name, line in (("bare", CALL), ("theirs", WARNED)):
        assert command(None, "--store", place, "import", recording(folder, name, line)).code == 0
    with LoopGuard(session="ours", store=place) as guard:
        guard.before_call("ls", {})


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=postgres.needs)])
def test_the_list_says_what_it_knows(tmp_path: Path, engine: str) -> None:
    place = postgres.emptied() if engine == "postgres" else str(tmp_path / "e.db")
    filled(place, tmp_path)
    told = command(None, "--store", place, "sessions", "--json").objects
    worst = {s["session"]: s["worst"] for s in told}
    assert worst == {"bare": None, "theirs": "warn", "ours": "allow"}
    lines = command(None, "--store", place, "sessions", "--all").out.splitlines()
    shown = {line.split()[0]: line for line in lines[1:]}
    assert [shown[name].split()[4] for name in worst] == [w or "-" for w in worst.values()]
    with closing(open_store(place)) as store:
        known = {s.session: s.judged for s in store.sessions()}
    assert known == {"bare": False, "theirs": True, "ours": True}


def test_the_console_shows_a_stroke_until_the_session_is_opened() -> None:
    desk = empty_desk()
    bare, calm = Session("bare"), Session("calm")
    calm.judged = True
    desk.sessions = [bare, calm]
    assert [desk.letter_of(s) for s in desk.sessions] == ["-", "·"]
    desk.append("bare", [Event("session_start", "bare", seq=1)])
    assert [desk.letter_of(s) for s in desk.sessions] == ["·", "·"]


def test_what_stands_below_a_session_counts_for_it() -> None:
    desk = empty_desk()
    top, below = Session("top"), Session("below")
    below.parent, below.worst, below.judged = "top", 2, True
    desk.sessions = [top, below]
    assert [desk.letter_of(s) for s in desk.sessions] == ["B", "B"]
