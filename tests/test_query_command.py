"""``query`` on the command line: reading only, and harmless on the screen."""

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
    for n in range(3):
        data = {"call": f"c{n}", "tool": "bash", "args": {"cmd": "[bold]\x1b[2J"}}
        store.append(Event("call_start", "s", data=data))
    store.close()
    return place


def test_rows_are_shown_to_people_and_programs(place: Path) -> None:
    sql = "select tool, args, count(*) as n from calls group by tool"
    done = console("--store", place, "query", sql)
    head, row = done.stdout.decode().splitlines()
    assert head.split() == ["tool", "args", "n"]
    assert "[bold]" in row and "\x1b" not in row and row.endswith("3")
    done = console("--store", place, "query", sql, "--json")
    assert json.loads(done.stdout)["n"] == 3


def test_without_a_query_it_says_what_can_be_asked(place: Path) -> None:
    lines = console("--store", place, "query").stdout.decode().splitlines()
    views = ["calls", "payloads", "events", "sessions", "requests"]
    assert [line.split(":")[0] for line in lines] == views
    assert "outcome" in lines[0]


def test_more_rows_than_the_limit_are_said(place: Path) -> None:
    done = console("--store", place, "query", "select number from calls", "--limit", "2")
    assert len(done.stdout.splitlines()) == 3
    assert b"there are more rows" in done.stderr


@pytest.mark.parametrize(
    "sql", ["nonsense", "select * from nothing", "select 1; select 2", "", "select '"]
)
def test_what_cannot_be_asked_is_one_line(place: Path, sql: str) -> None:
    done = console("--store", place, "query", sql)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and done.stdout == b""


@pytest.mark.parametrize("sql", ["delete from event", "drop table event", "attach 'x.db' as x"])
def test_nothing_can_be_written(place: Path, tmp_path: Path, sql: str) -> None:
    console("--store", place, "query", sql)
    assert open_store(str(place)).last("s") == 3
    assert not (tmp_path / "x.db").exists()


def test_a_text_with_half_a_character_is_shown_too(tmp_path: Path) -> None:
    place = tmp_path / "events.db"
    store = open_store(str(place))
    data = {"call": "c", "tool": "bash", "args": "\ud800 and \udfff"}
    store.append(Event("call_start", "s", data=data))
    store.close()
    done = console("--store", place, "query", "select args from calls", "--json")
    assert json.loads(done.stdout) == {"args": "\ud800 and \udfff"}
    done = console(
        "--store", place, "query", "select args, cast(x'61ff' as text) as half from calls"
    )
    assert done.returncode == 0 and b"\\ud800 and" in done.stdout
