"""The escape between two processes: an agent with the shim, and a person who decides elsewhere."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from agent_process import Agent
from loopguard_core import escape
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store
from sessions import pending


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "events.db"


def asks(agent: Agent, store: Store) -> str:
    """Let the agent search once more, against the guard; the request that it waits on."""
    agent.send(do="search", query="q")
    return pending(store).request


def test_approve_deny_override_reset_halt_and_resume(place: Path) -> None:
    store = open_store(str(place))
    with Agent(place) as agent:
        assert [a["ran"] for a in agent.search(2)] == [["q"], ["q"]]

        escape.approve(store, asks(agent, store))
        assert agent.answer()["ran"] == ["q"]

        request = asks(agent, store)
        asked = store.request(request)
        assert asked is not None
        assert asked.verdict["count"] == 3, "asked about again at the same count"
        done = escape.override(store, request=request, calls=3, by="you")
        assert done.covered == [request]
        assert [agent.answer()["ran"], *(a["ran"] for a in agent.search(2))] == [["q"]] * 3

        escape.reset(store, request=asks(agent, store))
        assert agent.answer()["ran"] == ["q"]
        assert [a["ran"] for a in agent.search(2)] == [["q"], ["q"]], "counted anew"

        escape.deny(store, asks(agent, store), note="list the folder first")
        denied = agent.answer()
        assert denied["ran"] == []
        assert "list the folder first" in denied["result"]

        escape.halt(store, session="agent", by="you", note="enough")
        assert "enough" in agent.do(do="search", query="other")["halted"]["message"]
        escape.resume(store, "agent")
        assert agent.do(do="search", query="other")["ran"] == ["other"]


def test_a_halt_answers_an_agent_that_waits(place: Path) -> None:
    store = open_store(str(place))
    with Agent(place) as agent:
        agent.search(2)
        asks(agent, store)
        escape.halt(store, session="agent")
        assert "human halted" in agent.answer()["halted"]["message"]
        assert store.requests(pending=True) == []


def test_a_modified_call_runs_with_the_humans_arguments_and_the_model_is_told(place: Path) -> None:
    store = open_store(str(place))
    with Agent(place) as agent:
        agent.search(2)
        escape.modify(store, asks(agent, store), {"query": "better"})
        answer = agent.answer()
        assert answer["ran"] == ["better"]
        assert "A human changed the arguments" in answer["result"]


def test_nobody_answers_and_an_approval_that_comes_late_lets_the_retry_run(place: Path) -> None:
    store = open_store(str(place))
    with Agent(place, unattended_wait_seconds=0) as agent:
        refused = agent.search(3)[2]
        assert refused["ran"] == []
        (asked,) = escape.waiting(store)
        assert asked.resolution == "expired"
        assert asked.by == "", "an expiry is nobody's no"
        assert asked.request in refused["result"]
        assert escape.approve(store, asked.request).late
        assert escape.waiting(store) == [], "what was approved late waits for nobody"
        assert agent.search(1)[0]["ran"] == ["q"]
        with pytest.raises(escape.DecisionError, match="already approved"):
            escape.approve(store, asked.request)


def test_a_killed_agent_leaves_no_request_in_the_inbox(place: Path) -> None:
    store = open_store(str(place))
    with Agent(place) as agent:
        agent.search(2)
        request = asks(agent, store)
        os.kill(agent.process.pid, signal.SIGKILL)
        agent.process.wait()
        assert escape.sweep(store) == [(request, "orphaned")]
        assert escape.waiting(store) == []
        assert store.requests(pending=True) == []
        late = escape.approve(store, request)
        assert late.late, "recorded without an error"
    with Agent(place) as again:
        assert again.search(1)[0]["ran"] == ["q"], "counts were kept, and so was the approval"
        request = asks(again, store)
        escape.deny(store, request)
        again.answer()


def test_an_agent_that_goes_on_with_its_session_goes_on_with_its_counts(place: Path) -> None:
    with Agent(place, unattended_wait_seconds=0) as agent:
        agent.search(2)
        agent.end()
    with Agent(place, unattended_wait_seconds=0) as again:
        assert again.search(1)[0]["ran"] == []
        again.do(do="turn", text="once more")
        assert again.search(1)[0]["ran"] == ["q"]
    starts = [e for e in open_store(str(place)).read("agent") if e.type == "session_start"]
    assert [e.data["resumed"] for e in starts] == [True, True]


def test_what_runs_inside_the_agent_is_known_as_such(place: Path) -> None:
    code = (
        "import sys\n"
        "from loopguard_core.inside import inside_agent\n"
        "from loopguard_core.store.door import open_store\n"
        "print(inside_agent(open_store(sys.argv[1]), {}))\n"
    )
    child = [sys.executable, "-c", code, str(place)]
    grandchild = ["env", "-u", "LOOPGUARD_SESSION", *child]
    with Agent(place) as agent:
        agent.search(1)
        for argv in (child, grandchild):
            assert agent.do(do="run", argv=argv)["out"].strip() == "agent"


def test_an_environment_that_an_ended_session_left_behind_keeps_nobody_from_deciding(
    place: Path,
) -> None:
    from loopguard_core.inside import inside_agent

    left = {"LOOPGUARD_SESSION": "agent"}
    with Agent(place) as agent:
        agent.search(1)
        assert inside_agent(open_store(str(place)), left) == "agent"
        agent.end()
    assert inside_agent(open_store(str(place)), left) == ""
    assert inside_agent(open_store(str(place)), {"LOOPGUARD_SESSION": "unknown"}) == "unknown"
    assert inside_agent(None, left) == "agent"


def test_the_reason_stands_on_stderr_for_programs_and_people(place: Path) -> None:
    with Agent(place, unattended_wait_seconds=0) as agent:
        agent.search(4)
        said = agent.end().splitlines()
    assert "tier=block" in said[0] and "count=3" in said[0] and "request=R1" in said[0]
    assert said[0].endswith(" approve R1)")
    assert "tier=halt" in said[1]


RACE = """
import json, sys
from loopguard_core import escape
from loopguard_core.store.door import open_store
store, won = open_store(sys.argv[1]), []
print("ready", flush=True)
sys.stdin.readline()
for n in range(int(sys.argv[2])):
    try:
        escape.approve(store, f"R{n + 1}", by=sys.argv[3])
        won.append(n)
    except escape.AlreadyDecided as error:
        assert error.by, error
print(json.dumps(won))
"""


def test_two_who_decide_have_one_winner_each_time(place: Path) -> None:
    import subprocess

    from loopguard_core.events import Event
    from processes import environment

    store, races = open_store(str(place)), 500
    pid = os.getpid()
    store.append(Event("session_start", "s", ts=1.0, data={"pid": pid}))
    for n in range(races):
        data = {"call": f"c{n}", "tier": "block", "pid": pid}
        store.append(Event("request_opened", "s", ts=1.0, data=data))
    argv = [sys.executable, "-c", RACE, str(place), str(races)]
    pipe = subprocess.PIPE
    racers = [
        subprocess.Popen([*argv, name], stdin=pipe, stdout=pipe, text=True, env=environment())
        for name in ("you", "usr")
    ]
    for racer in racers:
        assert racer.stdout is not None
        racer.stdout.readline()
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    won = [json.loads(racer.communicate(timeout=60)[0]) for racer in racers]
    assert sorted(won[0] + won[1]) == list(range(races))
    by = [r.by for r in store.requests()]
    assert (by.count("you"), by.count("usr")) == (len(won[0]), len(won[1]))
