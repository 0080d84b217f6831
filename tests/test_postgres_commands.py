"""The commands, the hook and the console's helpers on a store that is a URL."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import loopguard_core
import postgres
from agent_process import Agent
from commands import Done, command, until
from loopguard_console.retention import Retention
from loopguard_core.config import Config, ConfigError, load_config
from loopguard_core.events import Event
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import key_file
from processes import environment

pytestmark = postgres.needs
LAUNCHER = Path(loopguard_core.__file__).with_name("hook_launcher.py")


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield postgres.emptied()


@pytest.fixture
def filled(url: str) -> str:
    store = open_store(url)
    store.append(Event("session_start", "s", ts=time.time(), data={"agent": "coder", "cwd": "/w"}))
    for n in range(3):
        data = {"call": f"c{n}", "tool": "bash", "args": {"cmd": "[bold]\x1b[2J needle"}}
        store.append(Event("call_start", "s", ts=time.time(), data=data))
        end = {"call": f"c{n}", "outcome": "ok", "result": "found it"}
        store.append(Event("call_end", "s", ts=time.time(), data=end))
    store.append(Event("session_end", "s", ts=time.time()))
    store.close()
    return url


def on(url: str, *args: str | Path) -> Done:
    return command(None, "--store", url, *args)


def test_where_nothing_was_recorded_each_command_says_so_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    url = postgres.server().database()
    for line in (
        ["sessions"],
        ["pending"],
        ["show", "s"],
        ["approve", "R1"],
        ["query"],
        ["export"],
    ):
        done = on(url, *line)
        assert (done.code, done.out) == (2, "")
        assert done.err == (
            f"loopguard-console: {url}: no such event store; nothing was recorded there yet\n"
        )
    assert "the first agent or console makes it" in on(url, "doctor").out


def test_a_server_that_is_away_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("LOOPGUARD_STORE", "postgresql://own:hunter2@127.0.0.1:1/events")
    for line in (
        ["sessions"],
        ["pending"],
        ["approve", "R1"],
        ["query", "select 1"],
        ["prune", "--days", "1"],
    ):
        done = command(None, *line)
        assert (done.code, done.out) == (1, "")
        assert len(done.err.splitlines()) == 1
        assert "cannot be reached" in done.err
        assert "hunter2" not in done.err


@pytest.mark.parametrize(
    "told",
    [
        "own:hunter2@db/events",
        "own@db/events?password=hunter2",
        "own@db/events?pass%77ord=hunter2",
        "own@db/events?oauth_client_secret=hunter2",
        "own:half/hunter2@db/events",
        "own:half?hunter2@db/events",
    ],
)
def test_a_password_is_refused_where_others_read_it(
    told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"postgresql://{told}"
    (tmp_path / "loopguard.toml").write_text(f'store = "{url}"\n')
    for done in (
        on(url, "sessions"),
        command(None, "forward", url, tmp_path / "events.db"),
        command(None, "forward", tmp_path / "events.db", url),
    ):
        assert (done.code, done.out) == (2, "")
        assert "leave the password out of the URL" in done.err
        assert len(done.err.splitlines()) == 1
        assert "hunter2" not in done.err
    with pytest.raises(ConfigError, match="leave the password out of the URL") as refused:
        load_config(str(tmp_path))
    assert "hunter2" not in str(refused.value)


def test_what_was_recorded_is_listed_shown_searched_and_asked(filled: str) -> None:
    assert on(filled, "sessions", "--all", "--json").objects[0]["session"] == "s"
    assert "bash" in on(filled, "show", "s").out
    (hit,) = on(filled, "search", "needle", "--json").objects
    assert (hit["session"], hit["again"]) == ("s", 2)
    lines = on(filled, "query").out.splitlines()
    views = ["calls", "payloads", "events", "sessions", "requests"]
    assert [line.split(":")[0] for line in lines] == views
    sql = "select tool, args, count(*) as n from calls group by tool, args"
    (row,) = on(filled, "query", sql, "--json").objects
    assert (row["tool"], row["n"]) == ("bash", 3)
    shown = on(filled, "query", sql).out
    assert "[bold]" in shown and "\x1b" not in shown
    some = on(filled, "query", "select number from calls", "--limit", "2")
    assert len(some.out.splitlines()) == 3
    assert "there are more rows" in some.err


BAD = ["nonsense", "select * from nothing", "select 1; select 2", "", "select '", "select 1/0"]
WRITING = ["delete from event", "drop table event", "select 1; commit; drop table event"]


@pytest.mark.parametrize("sql", [*BAD, *WRITING])
def test_what_cannot_be_asked_is_one_line_and_changes_nothing(filled: str, sql: str) -> None:
    done = on(filled, "query", sql)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert open_store(filled).last("s") == 8


def test_times_are_those_of_this_machine(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = {}
    for zone in ("UTC", "Asia/Tokyo", "nonsense; drop"):
        monkeypatch.setenv("TZ", zone)
        (row,) = on(filled, "query", "select started from sessions", "--json").objects
        shown[zone] = row["started"][11:13]
    assert (int(shown["Asia/Tokyo"]) - int(shown["UTC"])) % 24 == 9


def test_what_is_exported_comes_back_whole(filled: str, tmp_path: Path) -> None:
    out = tmp_path / "all.jsonl"
    assert on(filled, "export", "--out", out).code == 0
    again = postgres.server().database()
    assert "8 events added" in on(again, "import", out).out
    assert "0 events added" in on(again, "import", out).out
    came, was = open_store(again).read("s"), open_store(filled).read("s")
    for event in came:
        event.data.pop("ids", None)  # made by the import where there are none
    assert came == was


def test_prune_says_what_goes_and_lets_it_go(filled: str) -> None:
    store = open_store(filled)
    store.append(Event("session_start", "old", ts=time.time() - 90 * 86_400))
    store.append(Event("session_end", "old", ts=time.time() - 90 * 86_400))
    assert "1 session would go" in on(filled, "prune", "--days", "30", "--dry-run").out
    assert on(filled, "prune", "--days", "30", "--yes").out.startswith(
        "1 session forgotten: 2 events"
    )
    assert [s.session for s in store.sessions()] == ["s"]
    assert "Nothing has to go" in on(filled, "prune", "--megabytes", "1", "--yes").out
    store.close()


def test_the_configured_retention_is_carried_out(filled: str) -> None:
    with contextlib.closing(open_store(filled)) as store:
        store.append(Event("session_start", "old", ts=time.time() - 2 * 86_400))
        store.append(Event("session_end", "old", ts=time.time() - 2 * 86_400))
        retention = Retention(filled, Config({"retention": {"megabytes": 0}}))
        retention.start()
        retention.join()
        assert retention.leave().startswith("retention: 1 session forgotten, 2 events")
        assert [s.session for s in store.sessions()] == ["s"], "it was active just now"


def test_doctor_looks_at_the_server(filled: str) -> None:
    said = on(filled, "doctor").out
    for what in (
        "answers",
        "may write events",
        "the way there is private",
        "machine's key is there",
    ):
        assert what in said
    assert Path(key_file(filled)).stat().st_mode & 0o077 == 0


def test_doctor_mends_what_a_dead_process_left(url: str) -> None:
    store = open_store(url)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    data = {"agent": "a", "pid": gone.pid, "host": os.uname().nodename}
    store.append(Event("session_start", "s", ts=time.time(), data=data))
    opened = {**data, "call": "c", "tier": "halt"}
    store.append(Event("request_opened", "s", ts=time.time(), data=opened))
    done = on(url, "doctor", "--mend")
    assert "R1 is orphaned" in done.out
    assert "s has ended" in done.out
    assert store.requests(pending=True) == []
    store.close()


def test_a_stopped_agent_is_let_go_from_another_process(url: str, tmp_path: Path) -> None:
    with Agent(url, folder=tmp_path) as agent:
        agent.do(do="turn", text="find out")
        assert [a["ran"] for a in agent.search(2)] == [["q"], ["q"]]
        agent.send(do="search", query="q")
        until(lambda: on(url, "pending", "--json").objects, "the request")
        approved = on(url, "approve", "R1")
        assert (approved.out, approved.err) == ("R1: approved\n", "")
        assert agent.answer()["ran"] == ["q"]
        inside = agent.do(
            do="run", argv=[sys.executable, "-m", "loopguard_console", "approve", "R1"]
        )
        assert inside["code"] == 1
        assert "does not run inside the guarded agent" in inside["err"]


def hook(url: str, event: str, call: str, **more: object) -> dict[str, object]:
    told: dict[str, object] = {
        "session_id": "cc",
        "hook_event_name": event,
        "tool_name": "Bash",
        "tool_use_id": call,
    }
    told |= {"tool_input": {"command": "ls"}, "cwd": "/", **more}
    done = subprocess.run(
        [sys.executable, "-I", "-S", LAUNCHER, "--agent", "claude-code", "--limit", "20"],
        input=json.dumps(told),
        env=environment(LOOPGUARD_STORE=url, XDG_STATE_HOME=os.environ["XDG_STATE_HOME"]),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    said: dict[str, object] = json.loads(done.stdout) if done.stdout.strip() else {}
    return said


def test_a_hook_process_judges_and_records(url: str) -> None:
    """It starts without site-packages, and finds the driver all the same."""
    said = []
    for n in range(3):
        assert hook(url, "PreToolUse", f"t{n}") == {}
        said.append(hook(url, "PostToolUse", f"t{n}", tool_response={"stdout": "a"}))
    assert said[:2] == [{}, {}]
    assert "3 times" in json.dumps(said[2])
    session = open_store(url).session("cc")
    assert session is not None
    assert (session.calls, session.worst) == (3, 1)
