"""Twenty agents and a server that is killed, restarted, cut off and falls silent in the middle of it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import postgres
from commands import command, until
from loopguard_core import escape
from loopguard_core.config import Config
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import Store, StoreError
from loopguard_core.store.door import open_store
from processes import environment
from sessions import call
from wire import Wire

pytestmark = postgres.needs
AGENT = str(Path(__file__).with_name("fleet_agent.py"))


@pytest.fixture
def wire() -> Iterator[Wire]:
    with Wire(int(postgres.server().port)) as made:
        yield made


@pytest.fixture
def database() -> str:
    """The URL of a store that keeps what it acknowledged, whatever becomes of the server's processes."""
    url = postgres.server().database()
    name = url.rpartition("/")[2]
    postgres.server().run(f'ALTER DATABASE "{name}" SET synchronous_commit = on')
    open_store(url).close()
    return url


def through(wire: Wire, url: str) -> str:
    return url.replace(f":{postgres.server().port}/", f":{wire.port}/")


class Fleet:
    """Agents on machines of their own, four or so on each."""

    def __init__(self, url: str, folder: Path, agents: int, calls: int, pause: float) -> None:
        self.url = url
        self.names = [f"agent-{n}" for n in range(agents)]
        self.machines = [folder / f"machine-{n}" for n in range(max(1, agents // 4))]
        self.running = [
            subprocess.Popen(
                [sys.executable, AGENT, name, str(calls), str(pause)],
                env=self.environment(n),
                stdout=subprocess.PIPE,
                stderr=(folder / f"{name}.err").open("w"),
                text=True,
            )
            for n, name in enumerate(self.names)
        ]

    def environment(self, n: int) -> dict[str, str]:
        state = self.machines[n % len(self.machines)]
        return environment(LOOPGUARD_STORE=self.url, XDG_STATE_HOME=str(state))

    def finish(self) -> dict[str, list[tuple[str, float, str]]]:
        """What each agent acknowledged: ``(call, seconds, run or stopped)``."""
        said = {}
        for name, process in zip(self.names, self.running, strict=True):
            out, _ = process.communicate(timeout=100)
            assert process.returncode == 0
            lines = [line.split() for line in out.splitlines()]
            said[name] = [(call, float(took), how) for call, took, how in lines]
        return said

    def send_what_waits(self) -> None:
        """As a person or the next agent does on each machine, once the server is back.

        Again where what was cut off in a transaction still holds a lock there, for some seconds.
        """
        argv = [sys.executable, "-m", "loopguard_console", "forward"]
        for n in range(len(self.machines)):
            run = partial(subprocess.run, argv, env=self.environment(n), check=True)
            until(partial(succeeds, run), "it")


def succeeds(run: Callable[[], object]) -> bool:
    """Whether the process of *run* ends well."""
    try:
        run()
    except subprocess.CalledProcessError:
        return False
    return True


def human(url: str, there: threading.Event, over: threading.Event, decided: list[str]) -> None:
    """Approves whatever is open to an approval, late as well, until it is over."""
    while not over.is_set():
        with contextlib.suppress(StoreError):
            store = open_store(url)
            try:
                store.beat(time.time())
                there.set()
                for asked in escape.waiting(store):
                    with contextlib.suppress(escape.DecisionError):
                        escape.approve(store, asked.request, by="you@desk")
                        decided.append(asked.request)
            finally:
                store.close()
        time.sleep(0.05)


def check(store: Store, said: dict[str, list[tuple[str, float, str]]]) -> None:
    """Nothing acknowledged is missing, nothing is there twice, requests are answered exactly once."""
    for name, calls in said.items():
        log = store.read(name)
        assert [e.seq for e in log] == [*range(1, len(log) + 1)], name
        for kind in ("call_start", "call_end"):
            assert [e.text("call") for e in log if e.type == kind] == [c for c, _, _ in calls]
        assert not [e for e in log if e.type == "gap" and e.data["count"]], name
        count = Counter(e.type for e in log)
        assert (count["session_start"], count["session_end"]) == (1, 1), (name, count)
        opened = Counter(e.text("request") for e in log if e.type == "request_opened")
        resolved = Counter(e.text("request") for e in log if e.type == "request_resolved")
        assert opened == resolved, name
        assert set(opened.values()) <= {1}


def storm(
    url: str,
    wire: Wire,
    folder: Path,
    trouble: list[str],
    *,
    agents: int,
    calls: int,
    pause: float,
) -> None:
    there, over, decided = threading.Event(), threading.Event(), list[str]()
    person = threading.Thread(target=human, args=(url, there, over, decided))
    person.start()
    assert there.wait(30)  # an agent waits only for somebody who is there
    fleet = Fleet(through(wire, url), folder, agents, calls, pause)
    try:
        store = open_store(url)
        until(lambda: len(store.sessions()) == agents, "the agents")
        store.close()
        until(lambda: decided, "a decision")
        for what in trouble:
            time.sleep(0.3)
            if what == "kill":
                postgres.server().restart(signal.SIGKILL, 0.5)
            elif what == "stop":
                postgres.server().restart(signal.SIGINT, 0.5)
            else:
                getattr(wire, what)()
                time.sleep(0.8)
                wire.mend()
        said = fleet.finish()
        fleet.send_what_waits()
    finally:
        over.set()
        person.join(30)
        for process in fleet.running:
            process.kill()
    store = open_store(url)
    check(store, said)
    slow = sorted(took for calls_ in said.values() for _, took, _ in calls_)
    print(f"{len(slow)} calls, slowest {slow[-1]:.2f} s, {len(decided)} decisions")
    store.close()


def test_nothing_acknowledged_is_lost_and_nothing_is_there_twice(
    database: str, wire: Wire, tmp_path: Path
) -> None:
    trouble = ["refuse", "freeze", "kill"]
    storm(database, wire, tmp_path, trouble, agents=6, calls=150, pause=0.02)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_twenty_agents_in_a_long_storm(database: str, wire: Wire, tmp_path: Path) -> None:
    trouble = ["cut", "kill", "freeze", "stop", "refuse", "freeze", "kill"]
    storm(database, wire, tmp_path, trouble, agents=20, calls=400, pause=0.06)


@pytest.fixture
def live(
    database: str, wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LiveSession]:
    """A session in this process, on a machine of its own, whose server a test can cut off."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    config = Config({"policy": "graded", "store": through(wire, database)})
    live = LiveSession(config, "s", agent="a", say=lambda line: None)
    yield live
    live.end()


@pytest.mark.parametrize("how", ["refuse", "freeze"])
def test_an_agent_goes_on_while_the_server_is_away_and_returns(
    database: str, wire: Wire, live: LiveSession, how: str
) -> None:
    for n in range(3):
        call(live, args={"q": n})
    getattr(wire, how)()
    waited = []
    for n in range(3, 20):
        began = time.monotonic()
        assert call(live, args={"q": n}).run
        waited.append(time.monotonic() - began)
    assert sorted(waited)[-2] < 0.2  # one call found out, and no other paid for it
    assert live.away
    wire.mend()
    until(lambda: not live.away, "the server")
    call(live, args={"q": 20})
    store = open_store(database)
    log = store.read("s")
    assert [e.data["args"]["q"] for e in log if e.type == "call_start"] == [*range(21)]
    assert [e.seq for e in log] == [*range(1, len(log) + 1)]


def test_what_waits_can_be_sent_by_hand(
    database: str, wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    url = through(wire, database)
    monkeypatch.setenv("LOOPGUARD_STORE", url)
    assert command(None, "forward").out == f"nothing waits on this machine for {url}\n"
    config = Config({"policy": "graded", "store": url})
    live = LiveSession(config, "s", agent="a", attach=True, say=lambda line: None)
    wire.refuse()
    for n in range(3):
        call(live, args={"q": n})
    failed = command(None, "forward")
    assert (failed.code, failed.err.count("\n")) == (1, 1)
    wire.mend()
    done = command(None, "forward")
    assert (done.code, done.out) == (0, f"1 session, 7 events sent to {url}\n")
    assert command(None, "forward", "--json").objects == [{"to": url, "sessions": 0, "events": 0}]
    assert open_store(database).last("s") == 8
    assert os.environ["LOOPGUARD_STORE"] == url
