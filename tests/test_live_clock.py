"""A clock that is set back or forward while an agent runs: counts, waits and numbers do not hang on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from loopguard_core import escape
from loopguard_core.config import Config
from loopguard_core.guard import Guard
from loopguard_core.policies.registry import names
from loopguard_core.recording.replay import Recording
from sessions import call, loop, meanwhile, pending, session, store_in


@pytest.fixture
def shift(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Set the clock of this process by so many seconds."""
    real, by = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() + by[0])

    def set_by(seconds: float) -> None:
        by[0] += seconds

    return set_by


@pytest.mark.parametrize("policy", names())
def test_a_clock_that_goes_backwards_changes_no_count_and_no_number(
    tmp_path: Path, shift: Callable[[float], None], policy: str
) -> None:
    def told(step: float) -> list[tuple[str, bool]]:
        folder = tmp_path / str(step)
        folder.mkdir()
        store = store_in(folder)
        decided = []
        with session(store, policy=policy, mode="enforce") as live:
            for _ in range(6):
                shift(-step)
                decision = call(live)
                decided.append((decision.tier.word, decision.run))
        events = store.read("s")
        assert [e.seq for e in events] == list(range(1, len(events) + 1))
        spans = [e.data["duration"] for e in events if "duration" in e.data]
        assert all(0 <= span < 60 for span in spans)
        found = store.session("s")
        assert found is not None
        assert (found.calls, found.ended) == (6, True)
        guard = Guard(Config({"policy": policy}).make_policy(), mode="enforce", unique=True)
        replayed = Recording.of(events, guard)
        assert [replayed.row(n).before.word for n in range(6)] == [word for word, _ in decided]
        store.close()
        return decided

    assert told(3_600.0) == told(0.0)


def test_a_wait_ends_though_the_clock_is_set_back(
    tmp_path: Path, shift: Callable[[float], None]
) -> None:
    store = store_in(tmp_path)

    def set_back() -> None:
        pending(store)
        shift(-86_400.0)

    with session(store_in(tmp_path), unattended_wait_seconds=1.0) as live:
        loop(live, 2)
        began = time.monotonic()
        with meanwhile(set_back):
            refused = call(live)
        assert not refused.run
        assert 0.9 < time.monotonic() - began < 30
        assert escape.approve(store, refused.request, by="you").late
        assert call(live).run
    store.close()


def test_a_grant_for_calls_is_spent_by_calls_whatever_the_clock_says(
    tmp_path: Path, shift: Callable[[float], None]
) -> None:
    store = store_in(tmp_path)
    with session(store) as live:
        loop(live, 3)
        escape.override(store, session="s", scope="session", calls=2, by="you")
        shift(-86_400.0)
        assert [call(live).run for _ in range(3)] == [True, True, False]
    store.close()
