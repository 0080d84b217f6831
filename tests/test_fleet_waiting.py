"""Hard stops while the server is away: refused at once, run, or waited on, as configured, and said why."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commands import until
from loopguard_core import escape
from loopguard_core.decision import Decision
from loopguard_core.guard import Guard
from loopguard_core.session import waiting
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import Store, Taken
from loopguard_core.store.door import open_store
from outage import Line, agent, server
from sessions import call, loop, meanwhile, pending


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Line:
    return server(tmp_path, monkeypatch)


def at_server(line: Line) -> Store:
    return open_store(str(line.place))


def resolutions(store: Store) -> list[str]:
    return [e.text("resolution") for e in store.read("s") if e.type == "request_resolved"]


@pytest.mark.parametrize(("unanswered", "runs"), [("refuse", False), ("run", True)])
def test_a_stop_in_an_outage_follows_what_is_configured_at_once(
    line: Line, unanswered: str, runs: bool
) -> None:
    live = agent(line, unanswered={"block": unanswered})
    loop(live, 2)
    line.mode = "away"
    decision = call(live)
    assert decision.run is runs
    if not runs:
        assert f"the event store {line.name} is away" in decision.message
        assert "Nobody can be asked" in decision.message
    line.mode = "up"
    until(lambda: not live.away, "the server")
    assert resolutions(at_server(line)) == ["expired"]


@pytest.mark.parametrize(
    "settings",
    [{"unanswered": {"block": "wait"}}, {"unattended_wait_seconds": 60}],
    ids=["wait", "seconds"],
)
def test_a_stop_in_an_outage_can_wait_for_the_server_and_a_human(
    line: Line, settings: dict[str, Any]
) -> None:
    live, there = agent(line, **settings), at_server(line)
    loop(live, 2)
    line.mode = "away"

    def approve() -> None:
        until(lambda: live.away and "waits for you" in live.said[-1], "the stop")
        line.mode = "up"
        escape.approve(there, pending(there).request, by="you@desk")

    with meanwhile(approve):
        assert call(live).run
    assert resolutions(there) == ["approved"]
    assert [r.delivered for r in there.requests()] == [True]


def waits(line: Line, live: LiveSession, done: list[Decision]) -> None:
    loop(live, 2)
    done.append(call(live))


def test_an_answer_that_was_given_meanwhile_arrives_with_the_server(line: Line) -> None:
    live, there = agent(line, unattended_wait_seconds=60), at_server(line)
    done: list[Decision] = []
    with meanwhile(lambda: waits(line, live, done)):
        asked = pending(there)
        line.mode = "away"
        until(lambda: live.away, "the outage to be noticed")
        escape.approve(there, asked.request, by="you@desk")
        line.mode = "up"
    assert done[0].run
    assert resolutions(there) == ["approved"]


def test_a_request_is_answered_once_where_agent_and_human_part_ways(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent waits no longer, the human approves meanwhile: one answer stands, and it is the human's."""
    monkeypatch.setattr(waiting, "_BLIND", 0.05)
    live, there = agent(line, wait_seconds=60, unattended_wait_seconds=0), at_server(line)
    there.beat(time.time())
    done: list[Decision] = []
    with meanwhile(lambda: waits(line, live, done)):
        asked = pending(there)
        line.mode = "away"
        until(lambda: done, "the agent to give up")
        escape.approve(there, asked.request, by="you@desk")
        line.mode = "up"
    assert not done[0].run
    until(lambda: not live.away, "the server")
    assert resolutions(there) == ["approved"]
    with pytest.raises(escape.AlreadyDecided):
        escape.deny(there, asked.request)


def test_an_answer_lost_on_the_way_leaves_one_request_under_one_name(line: Line) -> None:
    live, there = agent(line, unattended_wait_seconds=60), at_server(line)
    loop(live, 2)

    def approve() -> None:
        until(lambda: live.away and "waits for you" in live.said[-1], "the stop")
        line.mode = "up"
        until(lambda: not live.away, "the server")
        escape.approve(there, pending(there).request, by="you@desk")

    def goes_deaf(name: str) -> bool:
        if name == "append" and there.last("s") == 6:  # the call that is stopped has been written
            line.mode = "deaf"
        return False

    line.before = goes_deaf
    with meanwhile(approve):
        assert call(live).run
    assert [r.request for r in there.requests()] == ["R1"]
    assert resolutions(there) == ["approved"]


STEPS = st.lists(
    st.sampled_from(
        ["call", "call", "call", "same", "turn", "away", "deaf", "up", "human", "back"]
    ),
    max_size=40,
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=STEPS, seed=st.integers(0, 99))
def test_whatever_happens_each_event_is_there_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    steps: list[str],
    seed: int,
) -> None:
    line = server(tmp_path_factory.mktemp("outage"), monkeypatch)
    rng = random.Random(seed)
    live, there = agent(line, mode="enforce"), at_server(line)
    made: list[str] = []
    turns = 0
    for at, step in enumerate(steps):
        if step in ("call", "same"):
            decision = live.before("t", {"q": 0 if step == "same" else at}, call=f"c{at}")
            made.append(decision.call)
            live.after(decision, rng.random())
        elif step == "turn":
            live.turn(str(turns))
            turns += 1
        elif step == "human":
            try:
                escape.override(there, session="s", scope="session", calls=2, by="you@desk")
            except (Taken, escape.DecisionError):
                pass  # the server has nothing of the session yet
        elif step == "back":
            line.mode = "up"
            until(lambda: not live.away, "the server")
        else:
            line.mode = step
    line.mode = "up"
    until(lambda: not live.away, "the server")
    log = there.read("s")
    assert [e.seq for e in log] == [*range(1, len(log) + 1)]
    assert [e.text("call") for e in log if e.type == "call_start"] == made
    assert [e.text("call") for e in log if e.type == "call_end"] == made
    assert [e.text("text") for e in log if e.type == "user_message"] == [*map(str, range(turns))]
    # one truth: the guard that goes on is the fold over the log
    fold = Guard(live.config.make_policy(), mode="enforce", digester=live.guard.digester)
    for event in log:
        fold.apply(event)
    if steps and steps[-1] in ("away", "deaf", "up", "back"):
        assert [*map(repr, fold.counts())] == [*map(repr, live.guard.counts())]
    live.end()
