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
    assert {line.split(":")[0] for line in lines} == {"one 1", "two 1"}
    assert all("[bold]" in line and "\x1b" not in line for line in lines)
    assert sum("and once more" in line for line in lines) == 1


def test_a_program_gets_one_object_a_hit(place: Path) -> None:
    done = console("--store", place, "search", "needle", "--session", "two", "--json")
    (hit,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (hit["session"], hit["seq"], hit["again"]) == ("two", 1, 1)


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
