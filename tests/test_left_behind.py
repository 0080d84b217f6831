"""What a process could not record by its end is told then, and the log says it once the session goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from faulty import Faulty
from loopguard_console.doctor.finding import NOTE
from loopguard_console.doctor.sessions import dead_weight, left_behind
from loopguard_core.config import Config
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import Store
from sessions import call, session, store_in


def gone_on_with(store: Store) -> LiveSession:
    return LiveSession(Config({"policy": "graded"}), "s", resumed=True, store=store)


@pytest.mark.parametrize("ends", [1, 2])
def test_what_is_missing_at_the_end_is_said_and_counted_for_who_goes_on(
    tmp_path: Path, ends: int
) -> None:
    real = store_in(tmp_path)
    store = Faulty(real)
    for _ in range(ends):
        store.broken = False
        said: list[str] = []
        live = session(store, said=said)
        call(live, args="a")
        store.broken = True
        call(live, args="b")
        live.end()
        live.end()
        assert [line for line in said if "before it ended" in line] == [
            "3 events of s could not be recorded before it ended here"
        ]
    gone_on_with(real).end()
    gone_on_with(real).end()
    gaps = [e for e in real.read("s") if e.type == "gap"]
    assert [gap.data["count"] for gap in gaps] == [3] * ends, "the end of the session, too"
    assert all("locked" in gap.data["reason"] for gap in gaps)


def test_what_cannot_be_said_in_the_log_yet_stays_counted(tmp_path: Path) -> None:
    real = store_in(tmp_path)
    store = Faulty(real)
    live = session(store)
    store.broken = True
    call(live)
    live.end()
    (told,) = left_behind()
    assert "3 events of 1 session could not be recorded: the event store" in told.what
    gone_on_with(store).end()
    gone_on_with(real).end()
    (gap,) = [e for e in real.read("s") if e.type == "gap"]
    assert gap.data["count"] == 3 + 2, "and the start and the end of who could write nothing"
    assert left_behind() == []


def test_doctor_tells_of_a_session_that_runs_and_misses_events(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with session(store) as live:
        call(live)
        assert not [f for f in dead_weight(store) if "missing" in f.what]
        live.missed("it could not be told")
        (told,) = [f for f in dead_weight(store) if "missing" in f.what]
        assert told.state == NOTE and "1 event is missing from the log of 1 session" in told.what


def test_a_session_that_ends_well_leaves_nothing_behind(tmp_path: Path) -> None:
    real = store_in(tmp_path)
    said: list[str] = []
    with session(real, said=said) as live:
        call(live)
    gone_on_with(real).end()
    assert not [e for e in real.read("s") if e.type == "gap"]
    assert not [line for line in said if "could not be recorded" in line]
