"""The demo: a newcomer sees an agent stopped, presses one key, and sees it go on."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from commands import command, until
from loopguard_console.demo.stage import Stage
from loopguard_console.demo.stories import SEARCHES, STORIES
from loopguard_core.processes import alive
from processes import CONSOLE, console, environment
from terminal import Terminal


def test_one_key_lets_the_agent_go_on_and_leaving_ends_it(tmp_path: Path) -> None:
    store = tmp_path / "kept.db"
    argv = [*CONSOLE, "--store", str(store), "demo", "--pace", "0.3"]
    with Terminal(argv, environment(HOME=str(tmp_path))) as screen:
        screen.see("LIVE", "researcher", "search")
        screen.see("waits R1", "WHAT YOU CAN DO  R1")
        stopped = len(command(store, "show", "researcher-demo", "--json").objects)
        screen.press("a")
        screen.see("waits R2")
        assert len(command(store, "show", "researcher-demo", "--json").objects) == stopped + 1
        (session,) = command(store, "sessions", "--json").objects
        screen.until(lambda text: "WHAT YOU CAN DO  R2" in text, "see R2 ready")
        screen.press("q")
        assert screen.wait() == 0
    assert not alive(session["pid"])
    (session,) = command(store, "sessions", "--json").objects
    assert session["state"] == "ended"


def test_unless_it_is_stopped_the_agent_searches_34_times() -> None:
    calls = [
        step for step in STORIES["research"].steps if step.args == {"query": "quantum computing"}
    ]
    assert len(calls) == SEARCHES == 34


def test_failing_is_halted_by_the_tool_s_failures() -> None:
    done = console("demo", "failing", "--headless", "--pace", "0", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["worst"], told["ended"]) == ("halt", True)


def test_headless_prints_what_happens() -> None:
    done = console("demo", "--headless", "--pace", "0")
    said = done.stdout.decode()
    assert "warned   search('quantum computing')" in said
    assert "refused  search('quantum computing')" in said
    assert b"Traceback" not in done.stderr
    assert b"Fatal" not in done.stderr


def test_headless_goes_on_where_the_encoding_knows_no_ellipsis() -> None:
    done = console("demo", "--headless", "--pace", "0", env=environment(PYTHONIOENCODING="ascii"))
    assert "refused  search('quantum computing')  search was called" in done.stdout.decode()
    assert "I go on with what I have." in done.stdout.decode()
    assert b"Error" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda n: n.name)
def test_headless_that_is_ended_leaves_nothing_behind(
    tmp_path: Path, number: signal.Signals
) -> None:
    env = environment(TMPDIR=str(tmp_path))
    argv = [*CONSOLE, "demo", "--headless", "--wait", "60", "--pace", "0"]
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE) as demo:
        assert demo.stdout is not None
        assert b"researcher" in demo.stdout.readline()
        demo.send_signal(number)
        demo.stdout.read()  # to the end of the agent, too
        assert demo.wait(30) == 128 + number
    assert list(tmp_path.iterdir()) == []


def test_the_agent_does_not_outlive_a_demo_that_was_killed(tmp_path: Path) -> None:
    stage = Stage(STORIES["research"])
    agent = stage.start_agent(pace=1.0, quiet=True)
    until(lambda: command(Path(stage.store), "sessions", "--json").out, "the agent")
    assert agent.stdin is not None
    agent.stdin.close()  # what the system does when the demo dies
    assert agent.wait(20) == 0
    with stage:
        pass
    assert not stage.folder.exists()


def test_an_agent_asked_to_leave_again_and_again_still_ends_its_session(tmp_path: Path) -> None:
    for pause in (0.0, 0.0005, 0.002):
        store = tmp_path / f"{pause}.db"
        with Stage(STORIES["research"], store=str(store)) as stage:
            agent = stage.start_agent(pace=0.3, quiet=True)
            until(partial(_sessions, store), "the agent")
            while agent.poll() is None:
                agent.terminate()
                time.sleep(pause)
        assert agent.returncode == 0
        (session,) = _sessions(store)
        assert session["state"] == "ended"


def _sessions(store: Path) -> list[dict[str, Any]]:
    return command(store, "sessions", "--json").objects
