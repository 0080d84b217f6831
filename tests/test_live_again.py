"""An agent dies in the middle of a call and goes on: the call that comes again under its id is the same call."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopguard_core.config import Config
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import StoreError
from loopguard_core.verdict import Tier
from sessions import GRADED, approve_pending, call, loop, meanwhile, session, store_in


@pytest.mark.parametrize("policy", ["graded", "hermes", "progress", "dsh"])
@pytest.mark.parametrize("how", ["killed", "ended"])
def test_a_call_in_which_the_agent_died_comes_again_as_the_same_call(
    tmp_path: Path, policy: str, how: str
) -> None:
    def begin(resumed: bool, name: str = "s") -> LiveSession:
        return LiveSession(
            Config({"policy": policy}), name, store=store_in(tmp_path), resumed=resumed
        )

    first = begin(False)
    call(first)
    stopped = first.before("search", {"q": 1}, call="c2")
    if how == "ended":
        first.end()
    for _ in range(3):  # it dies there every time
        again = begin(True).before("search", {"q": 1}, call="c2")
        assert again.run and again.ruling.verdict.to_json() == stopped.ruling.verdict.to_json()
    live = begin(True)
    live.after(live.before("search", {"q": 1}, call="c2"), "r")
    log = store_in(tmp_path).read("s")
    assert [e.type for e in log].count("call_start") == 2
    if policy == "graded":  # it counts what is requested, not how it ended
        assert call(live).tier is Tier.BLOCK


def test_a_call_that_a_human_let_run_before_the_agent_died_is_asked_about_again(
    tmp_path: Path,
) -> None:
    store = store_in(tmp_path)
    live = session(store, unattended_wait_seconds=60)
    loop(live, 2)
    with meanwhile(lambda: approve_pending(store_in(tmp_path))):
        assert live.before("search", {"q": 1}, call="c3").run
    again = LiveSession(Config(GRADED), "s", store=store_in(tmp_path), resumed=True)
    assert not again.before("search", {"q": 1}, call="c3").run


def test_a_call_under_a_used_id_is_judged_and_counted_where_the_store_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, said = store_in(tmp_path), list[str]()
    live = session(store, said=said)
    live.after(live.before("read", {"n": 1}, call="c1"), "text")
    tried = []
    for _ in range(3):
        with monkeypatch.context() as failing:

            def locked(*_: object, **__: object) -> None:
                raise StoreError("the event store is locked")

            failing.setattr(store, "read", locked)
            tried.append(live.before("search", {"q": 1}, call="c1"))
        live.after(tried[-1], "r")
    assert [decision.run for decision in tried] == [True, True, False]
    assert not [line for line in said if "internal" in line]
