"""An interrupt in one thread leaves nothing half done by which the next one would be judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interrupting import Interrupt
from loopguard_core.guard import Guard
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import Store
from sessions import loop, session, store_in

POLICIES = ("graded", "progress", "hermes", "tool-loop-guard")


class Turns:
    """A session's lock. ``wrong``: what its guard counted beside the log when an interrupt let go of it."""

    def __init__(self, live: LiveSession, store: Store) -> None:
        self._lock = live._lock
        self._live = live
        self._store = store
        self._depth = 0
        self.wrong: list[str] = []

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._depth -= 1
        if kind is KeyboardInterrupt and not self._depth:
            now, told = self._live.guard, self._folded()
            if (now.seq, counts(now)) != (told.seq, counts(told)):
                self.wrong.append(f"{now.seq} {counts(now)}, not {told.seq} {counts(told)}")
        self._lock.release()

    def _folded(self) -> Guard:
        config = self._live.config
        guard = Guard(config.make_policy(), mode=config.mode)
        for event in self._store.read(self._live.session, payloads=False):
            guard.apply(event)
        return guard


def counts(guard: Guard) -> list[str]:
    return sorted([*map(repr, guard.counts()), *guard.open_calls()])


def step(live: LiveSession) -> None:
    """A call from its start to its end, and what is said then."""
    decision = live.before("search", {"q": 1})
    live.after(decision, "r")
    live.note("assistant_text", {"text": "so"})
    live.turn("go on")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("before", [0, 3])
def test_who_comes_next_is_judged_by_what_the_log_says(
    policy: str, before: int, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"policy": policy, "mode": "enforce"}
    store, nth = store_in(tmp_path), 0
    while True:
        nth += 3
        live = session(store, f"s{nth}", **settings)
        loop(live, before)
        turns = Turns(live, store)
        live._lock = turns  # type: ignore[assignment]
        try:
            with Interrupt(nth) as interrupt:
                step(live)
        except KeyboardInterrupt:
            pass
        assert not turns.wrong
        if interrupt.left > 0:
            break
    assert nth > 20
    store.close()
