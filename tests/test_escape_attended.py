"""Whether a console is attached while an agent waits: a moment without it is no farewell.

As after a laptop's sleep, when the agent looks before the console's next beat.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from loopguard_core import escape
from loopguard_core.session import waiting
from loopguard_core.store.contract import Store, StoreError
from sessions import call, loop, session, store_in


def looks(store: Store, monkeypatch: pytest.MonkeyPatch, answers: Iterator[bool | None]) -> None:
    """*store* tells at each look whether a console is attached; None where it cannot be read."""

    def attached(now: float) -> list[int]:
        said = next(answers)
        if said is None:
            raise StoreError("the store is locked")
        return [1] if said else []

    monkeypatch.setattr(store, "attached", attached)


@pytest.mark.parametrize("moment", [[False], [None], [None, None, None, None]])
def test_a_moment_without_a_console_ends_no_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: list[bool | None]
) -> None:
    monkeypatch.setattr(waiting, "_LOOK", 0.02)
    store, desk = store_in(tmp_path), store_in(tmp_path)

    def answers() -> Iterator[bool | None]:
        yield True  # when it is asked about
        yield from moment
        yield from [True] * 3
        (asked,) = desk.requests(pending=True)
        escape.approve(desk, asked.request)
        while True:
            yield True

    with session(store, wait_seconds=60) as live:
        loop(live, 2)
        looks(store, monkeypatch, answers())
        assert call(live).run


def test_a_console_that_stays_away_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_LOOK", 0.02)
    store = store_in(tmp_path)

    def answers() -> Iterator[bool | None]:
        yield True
        while True:
            yield False

    with session(store, wait_seconds=600) as live:
        loop(live, 2)
        looks(store, monkeypatch, answers())
        assert not call(live).run
    assert [r.resolution for r in store.requests()] == ["expired"]
