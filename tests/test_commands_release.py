"""An agent in one process, a person's commands in another: stopped, released, halted, resumed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import Done, command, until
from processes import environment

AGENT = Path(__file__).with_name("looping_agent.py")


class Looper:
    """The looping agent and what a person does about it."""

    def __init__(self, folder: Path, settings: str, *args: str) -> None:
        self.store = folder / "events.db"
        config = folder / "loopguard.toml"
        config.write_text(f'policy = "graded"\n{settings}\n')
        env = environment(LOOPGUARD_STORE=str(self.store), LOOPGUARD_CONFIG=str(config))
        self.errors = (folder / "stderr").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, str(AGENT), "s1", *args],
            env=env,
            stdout=subprocess.PIPE,
            stderr=self.errors,
        )

    def do(self, *args: str) -> Done:
        done = command(self.store, *args)
        assert done.code == 0, done.err
        return done

    def try_to(self, *args: str) -> Done:
        return command(self.store, *args)

    def calls(self) -> list[dict[str, Any]]:
        return self.do("show", "s1", "--json").objects if self.store.exists() else []

    def waiting(self, after: str = "") -> dict[str, Any]:
        """The request that waits now, once it is another than *after*."""

        def look() -> dict[str, Any] | None:
            if not self.store.exists():
                return None
            found = [r for r in self.do("pending", "--json").objects if r["state"] == "waiting"]
            return found[0] if found and found[0]["request"] != after else None

        return until(look, f"a request after {after or 'the start'}")

    def next_line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        said: dict[str, Any] = json.loads(self.process.stdout.readline())
        return said

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.errors.close()


@pytest.fixture
def looper(tmp_path: Path) -> Iterator[Looper]:
    agent = Looper(tmp_path, "unattended_wait_seconds = 60")
    yield agent
    agent.end()


def counts(requests: list[dict[str, Any]]) -> set[int]:
    return {request["verdict"]["count"] for request in requests}


def test_an_approved_call_runs_and_the_next_is_asked_about_at_the_same_count(
    looper: Looper,
) -> None:
    first = looper.waiting()
    ran = len(looper.calls()) - 1
    assert looper.do("approve", first["request"]).out == f"{first['request']}: approved\n"
    second = looper.waiting(first["request"])
    calls = looper.calls()
    assert [c["outcome"] for c in calls[: ran + 1]] == ["ok"] * (ran + 1)
    assert calls[ran]["result"] == "the same page"
    assert counts([first, second]) == {first["verdict"]["count"]}
    again = looper.try_to("approve", first["request"])
    assert (again.code, again.out) == (1, "")
    assert "already approved" in again.err


def test_a_denied_call_gets_the_note_and_the_same_call_is_not_asked_about_again(
    looper: Looper,
) -> None:
    first = looper.waiting()
    looper.do("deny", first["request"], "--note", "the page will not change")
    lines = [looper.next_line() for _ in range(4)]
    assert [line["run"] for line in lines] == [True, True, False, False]
    assert all("the page will not change" in line["message"] for line in lines[2:])
    assert looper.do("pending").out == "Nothing waits for you.\n"


def test_an_override_lets_three_calls_run_and_a_revoked_one_none(looper: Looper) -> None:
    first = looper.waiting()
    before = sum(c["outcome"] == "ok" for c in looper.calls())
    (done,) = looper.do("override", first["request"], "--calls", "3", "--json").objects
    assert done["resolution"] == "granted"
    second = looper.waiting(first["request"])
    assert sum(c["outcome"] == "ok" for c in looper.calls()) == before + 3
    assert counts([second]) == counts([first])
    assert looper.do("grants").out == "No override is in force.\n"
    looper.do("halt", "s1")
    (grant,) = looper.do(
        "override", "s1", "--scope", "tool", "--key", "browse", "--minutes", "5", "--json"
    ).objects
    (listed,) = looper.do("grants", "--json").objects
    assert (listed["grant"], listed["key"]) == (grant["grant"], "browse")
    looper.do("revoke", grant["grant"])
    assert looper.do("grants", "--json").objects == []


def test_a_reset_starts_the_count_afresh(looper: Looper) -> None:
    first = looper.waiting()
    before = len(looper.calls())
    looper.do("reset", first["request"])
    second = looper.waiting(first["request"])
    assert len(looper.calls()) > before + 1
    assert counts([second]) == counts([first])


def test_a_halt_refuses_every_call_until_it_is_resumed(looper: Looper) -> None:
    first = looper.waiting()
    looper.do("halt", "s1", "--note", "lunch")
    until(lambda: looper.calls()[-1]["cause"] == "halt", "a refused call")
    nothing, halted = looper.do("pending").out.splitlines()
    assert nothing == "Nothing waits for you."
    assert halted.startswith("s1: the turn is halted by ")
    refused = [c for c in looper.calls() if c["outcome"] == "blocked"]
    assert all("lunch" in c["result"] for c in refused)
    looper.do("resume", "s1")
    looper.waiting(first["request"])


def test_with_nobody_there_the_approval_comes_late_and_holds_for_one_call(tmp_path: Path) -> None:
    agent = Looper(tmp_path, "unattended_wait_seconds = 0")
    try:
        lines = [agent.next_line() for _ in range(3)]
        request = lines[-1]["request"]
        assert [line["run"] for line in lines] == [True, True, False]
        (late,) = [r for r in agent.do("pending", "--json").objects if r["request"] == request]
        assert late["state"] == "late"
        row = next(r for r in agent.do("pending").out.splitlines() if r.startswith(request))
        narrow = row[:80]  # what decides is not pushed off a narrow terminal by a long reason
        assert "not waiting" in narrow and late["tool"] + "(" in narrow
        assert "next try" in agent.do("approve", request).out
        ran = until(lambda: agent.next_line()["run"], "a call that runs")
        assert ran
        assert not agent.next_line()["run"]
        assert agent.try_to("approve", request).code == 1
    finally:
        agent.end()


def test_the_agent_cannot_let_itself_go(tmp_path: Path) -> None:
    agent = Looper(tmp_path, "unattended_wait_seconds = 0", "--escape")
    try:
        lines = [agent.next_line() for _ in range(3)]
        assert lines[-1] == {"escaped": [1, 1, 1]}
        assert (tmp_path / "stderr").read_text().count("inside the guarded agent") == 3
        assert [c["outcome"] for c in agent.calls()] == ["ok", "ok", "blocked"]
    finally:
        agent.end()
