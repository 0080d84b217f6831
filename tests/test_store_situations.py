"""Situations from public bug reports about agents' logs, and what is right in them."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from commands import command
from loopguard_console.liveness import liveness
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.processes import started
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import Session
from loopguard_core.store.door import open_store
from processes import environment


def session(place: Path, name: str = "s") -> LiveSession:
    config = Config({"store": str(place), "policy": "graded"})
    return LiveSession(config, name, agent="a", say=lambda line: None)


def test_a_snapshot_that_somebody_holds_lets_the_log_grow_only_while_it_is_held(
    tmp_path: Path,
) -> None:
    place = tmp_path / "events.db"
    agent, console = open_store(str(place)), open_store(str(place))
    agent.append(Event("note", "s"))
    stranger = sqlite3.connect(place, isolation_level=None)
    stranger.execute("BEGIN")
    stranger.execute("SELECT count(*) FROM event").fetchall()
    for n in range(600):
        agent.append(Event("note", "s", data={"text": f"{n} " + "x" * 9_000}))
    console.beat(1.0)
    log = place.with_name("events.db-wal")
    assert log.stat().st_size > 5_000_000  # nothing else can be done, and no agent waited for it
    stranger.execute("COMMIT")
    console.beat(2.0)
    assert log.stat().st_size == 0
    stranger.close()


def test_a_result_that_comes_twice_counts_once_and_one_that_never_comes_is_shown_so(
    tmp_path: Path,
) -> None:
    place = tmp_path / "events.db"
    with session(place) as live:
        first = live.before("q", {}, call="c1")
        live.after(first, "r")
        live.after(first, "r")
        live.before("q", {}, call="c2")
        live.before("q", {}, call="c2")
        counts = [count.count for count in live.guard.counts()]
    with sqlite3.connect(place) as db:
        calls = db.execute("SELECT call, outcome FROM calls ORDER BY number").fetchall()
    assert calls[0] == ("c1", "ok")
    assert calls[1][0] == "c2" and len(calls) == 2
    assert counts in ([1], [2])


def test_a_session_that_is_resumed_goes_on_where_it_was(tmp_path: Path) -> None:
    place = tmp_path / "events.db"
    with session(place) as live:
        live.turn("go")
        live.after(live.before("x", {}, call="c1"), "1")
        before = [count.count for count in live.guard.counts()]
    with session(place) as again:
        assert [count.count for count in again.guard.counts()] == before
        again.after(again.before("x", {}, call="c1"), "1")  # history that the host replays
        assert [count.count for count in again.guard.counts()] == before
        again.after(again.before("x", {}, call="c2"), "1")
        assert [count.count for count in again.guard.counts()] == [n + 1 for n in before]
    store = open_store(str(place))
    assert [e.seq for e in store.read("s")] == list(range(1, store.last("s") + 1))
    known = store.session("s")
    assert known is not None and known.calls == 2


def test_a_killed_process_is_lost_and_a_long_call_of_a_living_one_is_not(tmp_path: Path) -> None:
    place = tmp_path / "events.db"
    program = f"""
import time
from loopguard_core.config import Config
from loopguard_core.session.live import LiveSession
live = LiveSession(Config({{"store": {str(place)!r}}}), "s", say=lambda line: None)
live.before("sleep", {{}})
print("ready", flush=True)
time.sleep(60)
"""
    host = os.uname().nodename
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        agent.stdout.readline()
        store = open_store(str(place))
        known = store.session("s")
        assert known is not None
        assert liveness(known, time.time(), host) == "live"
        assert liveness(known, time.time() + 600, host) == "quiet"
        agent.send_signal(signal.SIGKILL)
    assert liveness(known, time.time(), host) == "lost"
    assert known.calls == 1


def test_a_session_of_no_known_process_is_over_after_an_hour_of_silence() -> None:
    known = Session("transcript")
    assert liveness(known, 1e9, "here") == "ended", "a format without times tells nothing of now"
    known.last_ts = 1e9
    assert liveness(known, 1e9 + 30, "here") == "live", "a transcript that is watched grows"
    assert liveness(known, 1e9 + 3000, "here") == "quiet"
    assert liveness(known, 1e9 + 4000, "here") == "ended"
    known.waiting = 1
    assert liveness(known, 1e9 + 4000, "here") == "quiet", "an agent waits in it"
    known.waiting, known.pid, known.host = 0, 7, "elsewhere"
    assert liveness(known, 1e9 + 4000, "here") == "quiet", "a long call of a process over there"


def test_a_session_of_another_host_is_lost_after_a_day_of_silence() -> None:
    known = Session("s")
    known.pid, known.host, known.last_ts = 7, "elsewhere", 1e9
    day = 86_400
    assert [liveness(known, 1e9 + s, "here") for s in (day - 9, day + 9)] == ["quiet", "lost"]
    known.waiting = 1
    assert liveness(known, 1e9 + 9 * day, "here") == "quiet", "somebody may wait over there"
    known.waiting, known.last_ts = 0, 1e9 + 2 * day
    assert liveness(known, 1e9 + 2 * day + 9, "here") == "live", "it was only cut off"
    known.pid, known.pid_started, known.host = os.getpid(), started(os.getpid()), "here"
    assert liveness(known, 1e9 + 9 * day, "here") == "quiet", "a long call, as can be seen here"


def test_what_is_lost_elsewhere_counts_no_more_and_nobody_ends_it(tmp_path: Path) -> None:
    place, now = tmp_path / "events.db", time.time()
    store = open_store(str(place))
    for name, age in (("lost", 90_000), ("silent", 80_000)):
        start = {"pid": 7, "host": "elsewhere"}
        store.append(Event("session_start", name, ts=now - age, data=start))
    status = command(place, "status", "--json").objects[0]
    assert (status["running"], status["live"]) == (1, 0)
    states = {s["session"]: s["state"] for s in command(place, "sessions", "--json").objects}
    assert states == {"lost": "lost", "silent": "quiet"}
    assert "lost" not in command(place, "sessions").out.splitlines()[1]
    assert "without an end" not in command(place, "doctor").out
    command(place, "doctor", "--mend")
    assert store.last("lost") == 1, "from here nobody knows that it is over"
