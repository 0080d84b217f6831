"""Who only reads a store leaves nothing beside it, and takes nothing away from who writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import command
from loopguard_core.events import Event
from loopguard_core.importers import open_stream
from loopguard_core.importers.report import Unreadable
from loopguard_core.store.door import open_store


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "store" / "e.db"
    store = open_store(str(place))
    store.append(Event("session_start", "s", ts=1.0, data={"agent": "a"}))
    store.close()
    return place


def logs(place: Path) -> list[Path]:
    return [file for file in place.parent.iterdir() if file.name.endswith(("-wal", "-shm"))]


READING = ("sessions --all", "status", "show s", "query sessions", "export s", "open s --json")


@pytest.mark.parametrize("line", READING)
def test_a_command_that_reads_leaves_no_log(place: Path, line: str) -> None:
    command(place, *line.split())
    assert not logs(place)


def test_a_store_that_is_named_as_a_transcript_is_left_as_it_is(place: Path) -> None:
    with pytest.raises(Unreadable, match="an event store; give it with --store"):
        open_stream(place)
    assert not logs(place)


def test_the_log_of_who_writes_stays(place: Path) -> None:
    writer = open_store(str(place))
    writer.append(Event("note", "s", ts=2.0))
    for written in (3, 4):
        reader = open_store(str(place), read_only=True)
        assert reader.last("s") == written - 1
        reader.close()
        reader.close()
        assert writer.append(Event("note", "s", ts=3.0)) == written
        writer.tidy()  # now its log is empty
    writer.close()
    assert not logs(place)


def test_two_readers_and_one_of_them_leaves(place: Path) -> None:
    one, other = (open_store(str(place), read_only=True) for _ in range(2))
    assert one.last("s") == other.last("s") == 1
    one.close()
    assert other.last("s") == 1
    other.close()
    assert not logs(place)
