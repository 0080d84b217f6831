"""What looks back at a stored session never holds all of it, whatever form it gives it."""

from __future__ import annotations

import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest

from commands import command
from loopguard_core.events import Event
from loopguard_core.store.door import open_store

CALLS, LARGE = 2_000, 6_000


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of 12 MB, with a grant early on."""
    place = tmp_path_factory.mktemp("long") / "e.db"
    with closing(open_store(str(place))) as made:
        made.append(Event("session_start", "long", ts=1.0, data={"agent": "a", "policy": "graded"}))
        made.append(Event("grant", "long", ts=1.0, data={"grant": "G1", "scope": "session"}))
        events = []
        for n in range(CALLS):
            data = {"call": f"c{n}", "tool": "read", "args": {"page": n}}
            ids = {"exact": {"a": f"{n:024x}"}}
            events.append(Event("call_start", "long", ts=2.0 + n, data={**data, "ids": ids}))
            text = f"{n} " + chr(97 + n % 26) * LARGE
            end = {"call": f"c{n}", "outcome": "ok", "result": text}
            events.append(Event("call_end", "long", ts=2.5 + n, data=end))
        made.extend(events)
    return place


@pytest.mark.parametrize(
    "line",
    [
        ["export", "long", "--out", "FOLDER/long.jsonl"],
        ["export", "long", "--as", "test", "--out", "FOLDER"],
        ["export", "long", "--as", "html", "--out", "FOLDER"],
        ["show", "long", "--last", "2"],
        ["grants", "long"],
    ],
    ids=lambda line: " ".join(line[:4]),
)
def test_a_long_session_is_never_held_whole(store: Path, line: list[str], tmp_path: Path) -> None:
    args = [word.replace("FOLDER", str(tmp_path)) for word in line]
    command(store, *args[:1], "--help")  # what is imported for it does not count
    tracemalloc.start()
    try:
        done = command(store, *args)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert done.code == 0
    assert peak < CALLS * LARGE, f"{peak / 1e6:.1f} MB"


def test_a_stored_session_is_printed_alike_by_open_and_show(store: Path) -> None:
    shown = command(store, "show", "long", "--json").objects
    opened = command(store, "open", "long", "--json").objects
    assert opened == [{"session": "long", **call} for call in shown] and len(shown) == CALLS


def test_grants_of_a_session_that_has_none_are_asked_of_an_index_alone(store: Path) -> None:
    assert "G1" in command(store, "grants", "long").out
    with closing(open_store(str(store))) as made:
        made.append(Event("session_start", "calm", data={"agent": "a", "policy": "graded"}))
        made.append(Event("halt", "calm"))
    assert command(store, "grants", "calm", "--json").objects == []
