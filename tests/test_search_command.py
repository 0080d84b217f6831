"""``search`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopguard_core.events import Event
from loopguard_core.store.door import open_store
from processes import console


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "events.db"
    store = open_store(str(place))
    for n, session in enumerate(("one", "two", "two")):
        data = {"call": f"c{n}", "tool": "bash", "args": {"cmd": "echo [bold]\x1b[2J needle"}}
        store.append(Event("call_start", session, data=data))
    store.close()
    return place


def test_words_are_found_in_all_sessions(place: Path) -> None:
    done = console("--store", place, "search", "NEEDLE", "echo")
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0 and len(lines) == 2
    assert {line.split(":")[0] for line in lines} == {"one call 1", "two call 1"}
    assert all("[bold]" in line and "\x1b" not in line for line in lines)
    assert sum("and once more" in line for line in lines) == 1


def test_a_program_gets_one_object_a_hit(place: Path) -> None:
    done = console("--store", place, "search", "needle", "--session", "two", "--json")
    (hit,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (hit["session"], hit["seq"], hit["again"]) == ("two", 1, 1)
    assert hit["call"] == 1


def test_a_hit_is_told_by_the_number_that_show_gives_the_call(tmp_path: Path) -> None:
    place = tmp_path / "events.db"
    store = open_store(str(place))
    store.append(Event("user_message", "s", data={"text": "find the alpha"}))
    for call in ("c1", "c2", "c3"):  # side by side
        store.append(Event("call_start", "s", data={"call": call, "tool": "fetch", "args": {}}))
    for call, result in (("c3", "gamma"), ("c1", "beta"), ("c2", "delta")):
        data = {"call": call, "outcome": "ok", "result": result}
        store.append(Event("call_end", "s", data=data))
    store.append(Event("user_message", "s", data={"text": "now epsilon"}))
    store.close()
    words = {"alpha": "before call 1", "gamma": "call 3", "beta": "call 1", "delta": "call 2"}
    for word, where in {**words, "epsilon": "before call 4"}.items():
        said = console("--store", place, "search", word).stdout.decode()
        assert said.startswith(f"s {where}: "), said


def test_that_there_may_be_more_is_said(place: Path) -> None:
    for limit, more in (("1", True), ("3", False)):
        done = console("--store", place, "search", "needle", "--limit", limit)
        assert (b"only the best 1" in done.stderr) is more


def test_what_cannot_be_searched_is_said(place: Path, tmp_path: Path) -> None:
    for store, args, code in (
        (place, ["nothing_of_that"], 0),
        (place, ["!?"], 2),
        (place, ["needle", "--session", "three"], 2),
        (tmp_path / "missing.db", ["needle"], 2),
        (tmp_path, ["needle"], 1),
    ):
        done = console("--store", store, "search", *args)
        assert done.returncode == code
        assert done.stdout == b"" and len(done.stderr.splitlines()) == 1
