"""A host that tells the end of a call twice: it counts once, costs little, and leaves the guard where the log is."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopguard_core.config import Config
from loopguard_core.guard import Guard
from loopguard_core.session.live import LiveSession
from loopguard_core.session.rebuilding import rebuild
from loopguard_core.store.contract import Store
from loopguard_core.store.sqlite import SqliteStore
from play_scripts import state
from sessions import GRADED, call, session, store_in


class Counted(SqliteStore):
    """Counts the events that are read of it."""

    events = 0

    def read(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        found = super().read(*args, **kwargs)
        self.events += len(found)
        return found


def stands(guard: Guard) -> tuple[object, ...]:
    """What decides about the next calls, and the time of the latest event."""
    return guard.dump()["_last_ts"], guard.open_calls(), *state(guard)


def rebuilt(live: LiveSession, store: Store, **settings: object) -> tuple[object, ...]:
    """How a guard stands that is made of the log alone."""
    config = Config({**GRADED, **settings})
    guard = Guard(
        config.make_policy(),
        mode=config.mode,
        traits=config.trait_table(),
        digester=live.guard.digester,
        unique=True,
        ours=True,
    )
    rebuild(guard, store, live.session)
    return stands(guard)


@pytest.mark.parametrize("policy", ["graded", "progress"])
def test_a_second_end_is_known_without_folding_the_turn_again(tmp_path: Path, policy: str) -> None:
    store = Counted(str(tmp_path / "events.db"))
    live = session(store, policy=policy)
    live.turn("go")
    decisions = [live.before("read", {"n": n}) for n in range(40)]
    for decision in decisions:
        live.after(decision, "text")
    store.events = 0
    for decision in decisions[:20]:
        assert live.after(decision, "other text", outcome="error") == ""
    assert store.events == 20, "one event each"
    assert stands(live.guard) == rebuilt(live, store, policy=policy)


def test_a_second_end_after_what_others_wrote_leaves_the_guard_where_the_log_is(
    tmp_path: Path,
) -> None:
    store = store_in(tmp_path)
    live = session(store)
    other = LiveSession(Config(GRADED), "s", store=store_in(tmp_path), attach=True, say=print)
    mine, theirs = live.before("read", {"n": 1}), other.before("read", {"n": 2})
    live.after(mine, "text")
    other.after(theirs, "text")
    call(other)
    live.after(mine, "again")  # theirs is news to it
    assert stands(live.guard) == rebuilt(live, store)
    left = live.before("read", {"n": 3}, call="left")
    other.after(other.recall("left", "read", {"n": 3}), "they were quicker")
    live.after(left, "text")
    assert stands(live.guard) == rebuilt(live, store)


def test_a_second_end_after_what_an_answer_used_up_moves_no_clock(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    live = session(store)
    decision = live.before("read", {"n": 1})
    live.after(decision, "text")
    live.note("usage", {"input": 7})
    live.after(decision, "text")
    assert stands(live.guard) == rebuilt(live, store)
