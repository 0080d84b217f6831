"""Console and agent as two processes: what a person presses reaches the agent that waits."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import pytest

import postgres
from agent_process import Agent
from processes import CONSOLE, environment
from terminal import Terminal

READY = "WHAT YOU CAN DO"


def console(store: Path | str, folder: Path | None = None) -> Terminal:
    state = folder or Path(store).parent
    env = environment(LOOPGUARD_STORE=str(store), XDG_STATE_HOME=str(state))
    return Terminal(CONSOLE, env)


def asked(screen: Terminal, agent: Agent, request: str) -> None:
    """The agent asks once more, and the request stands on the screen, ready to be decided."""
    agent.send(do="search", query="q")
    screen.see(f"waits {request}", f"{READY}  {request}")


@pytest.mark.parametrize(
    "engine",
    ["sqlite", pytest.param("postgres", marks=[postgres.needs, pytest.mark.slow])],
)
def test_approve_deny_override_reset_halt_and_resume(tmp_path: Path, engine: str) -> None:
    store = tmp_path / "events.db" if engine == "sqlite" else postgres.emptied()
    with console(store, tmp_path) as screen, Agent(store, folder=tmp_path) as agent:
        screen.see("LIVE")
        agent.do(do="turn", text="find out")
        assert [a["ran"] for a in agent.search(2)] == [["q"], ["q"]]
        screen.see("search", "following")

        asked(screen, agent, "R1")  # graded blocks the third
        count = re.search(r"BLOCK (\d+ of \d+)", screen.text())
        screen.press("a")
        assert agent.answer()["ran"] == ["q"]

        asked(screen, agent, "R2")  # and asks again at the same count
        again = re.search(r"BLOCK (\d+ of \d+)", screen.text())
        assert count and again and count.group() == again.group()
        screen.press("d")
        screen.see("Deny")
        screen.press("use what you have\r")
        refused = agent.answer()
        assert refused["ran"] == [] and "use what you have" in refused["result"]

        agent.do(do="turn", text="go on")
        assert [a["ran"] for a in agent.search(2)] == [["q"], ["q"]]
        asked(screen, agent, "R3")
        screen.press("o")
        screen.see("Override", "these arguments")
        screen.press("\r")  # the next three
        assert agent.answer()["ran"] == ["q"]
        assert [a["ran"] for a in agent.search(2)] == [["q"], ["q"]]

        asked(screen, agent, "R4")
        screen.press("r")
        assert agent.answer()["ran"] == ["q"]
        assert [a["ran"] for a in agent.search(2)] == [["q"], ["q"]]

        asked(screen, agent, "R5")
        screen.press("x")
        screen.see("Halt", "whole session")
        screen.press("\r")
        assert agent.answer()["ran"] == []
        assert agent.do(do="search", query="another")["ran"] == []

        screen.see("u resume  i inbox")  # the dialog says "you resume" itself
        screen.press("u")
        screen.see("resumed")
        assert agent.do(do="search", query="another")["ran"] == ["another"]
        screen.press("q")
        assert screen.wait() == 0


def test_who_leaves_while_an_agent_waits_is_told(tmp_path: Path) -> None:
    store = tmp_path / "events.db"
    agents = Agent(store, unattended_wait_seconds=0.2, wait_seconds=30)
    with console(store) as screen, agents as agent:
        agent.do(do="turn", text="find out")
        agent.search(2)
        screen.see("×2")  # it has looked at the store, so it counts as attached
        asked(screen, agent, "R1")
        screen.press("q")
        screen.see("R1 still waits for you", "loopguard-console pending")
        assert screen.wait() == 0
        assert agent.answer()["ran"] == []


def test_a_killed_agent_is_lost_and_its_request_goes(tmp_path: Path) -> None:
    store = tmp_path / "events.db"
    with console(store) as screen, Agent(store) as agent:
        agent.do(do="turn", text="find out")
        agent.search(2)
        asked(screen, agent, "R1")
        os.kill(agent.process.pid, signal.SIGKILL)
        agent.process.wait()
        screen.see("lost")
        screen.lose(f"{READY}  R1", "waits R1")
        assert screen.text().count("search") >= 3


def test_a_killed_console_leaves_the_wait_and_a_new_one_shows_everything(tmp_path: Path) -> None:
    store = tmp_path / "events.db"
    with Agent(store, unattended_wait_seconds=0.2, wait_seconds=4) as agent:
        with console(store) as first:
            agent.do(do="turn", text="find out")
            agent.search(2)
            first.see("×2")  # it has looked at the store, so it counts as attached
            asked(first, agent, "R1")
            first.kill()
        assert agent.answer()["ran"] == []  # nobody answered, as configured
        with console(store) as second:
            second.see("find out", "search", "late")
            second.press("w")
            second.see(f"{READY}  R1")
            second.press("a")  # late: the agent's next try runs
            second.see("approved late")
            assert agent.search()[0]["ran"] == ["q"]


def test_keys_pressed_while_a_request_appears_decide_nothing(tmp_path: Path) -> None:
    store = tmp_path / "events.db"
    with console(store) as screen, Agent(store) as agent:
        agent.do(do="turn", text="find out")
        agent.search(2)
        screen.see("×2")
        agent.send(do="search", query="q")

        def typing(seen: str) -> bool:  # somebody types on, as if into another window
            screen.press("a")
            return "R1 had only just appeared" in seen

        screen.until(typing, "be told why")
        screen.see(f"{READY}  R1")
        screen.press("a")
        assert agent.answer()["ran"] == ["q"]


_BROKEN = """
from loopguard_console.app import ConsoleApp
def broken(self, event): raise ZeroDivisionError("a secret of a tool's")
ConsoleApp.on_key = broken
from loopguard_console.cli import main
main()
"""


def test_a_fault_of_ours_is_one_line_and_its_details_are_in_a_file(tmp_path: Path) -> None:
    store = tmp_path / "events.db"
    env = environment(LOOPGUARD_STORE=str(store), XDG_STATE_HOME=str(tmp_path))
    with Agent(store) as agent, Terminal([sys.executable, "-c", _BROKEN], env) as screen:
        agent.search(1)
        screen.see("LIVE")
        screen.press("j")
        said = screen.see("the console broke (ZeroDivisionError)", "agents are not affected")
        assert screen.wait() == 1
    assert "Traceback" not in said and "a secret" not in said
    (details,) = tmp_path.rglob("console-error.log")
    assert "a secret of a tool's" in details.read_text("utf-8")
    assert details.stat().st_mode & 0o777 == 0o600
