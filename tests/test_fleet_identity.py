"""Whose agent it is and who decided, from where: in the log, and wherever a person looks."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

import postgres
from agent_process import Agent
from commands import command
from loopguard_console.cli import cli
from loopguard_console.inspector.card import Asking, request_card
from loopguard_core import escape, processes
from loopguard_core.events import Event
from loopguard_core.store.contract import whose
from loopguard_core.store.door import open_store
from sessions import approve_pending, call, loop, meanwhile, session, store_in

ME = f"{processes.user()}@{os.uname().nodename}"


def test_a_session_says_whose_it_is(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session(store)
    found = store.session("s")
    assert found is not None and whose(found) == ME
    assert store.read("s")[0].text("user") == processes.user()
    place = tmp_path / "events.db"
    listed = command(place, "sessions", "--json").objects[0]
    assert f"{listed['user']}@{listed['host']}" == ME
    assert ME in command(place, "show", "s").out


def test_a_request_says_whose_agent_asks_and_who_answered(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    live = session(store, unattended_wait_seconds=60)
    loop(live, 2)
    with meanwhile(lambda: approve_pending(store)):
        assert call(live).run
    request = store.requests()[-1]
    assert (whose(request), request.by) == (ME, "you")
    shown = request_card(Asking(request, None, armed=True), 80).plain
    assert ME in shown
    place = tmp_path / "events.db"
    assert f"{request.request} approved by you" in command(place, "show", "s").out
    last = command(place, "show", "s", "--last", "1", "--json").objects[0]
    assert last["request"] == {
        "request": request.request,
        "resolution": "approved",
        "by": "you",
        "note": None,
        "approved_late": None,
        "denied_late": None,
    }


def test_what_a_person_decides_names_them_and_their_host(tmp_path: Path) -> None:
    """Also where a later decision finds the first, and in what is exported."""
    place = tmp_path / "events.db"
    with Agent(place, "s", mode="enforce") as agent:
        agent.search(3)
        asked = command(place, "pending", "--json").objects[0]
        assert f"{asked['user']}@{asked['host']}" == ME
        assert ME in command(place, "pending").out
        for line in (["approve", asked["request"]], ["halt", "s"], ["resume", "s"]):
            assert command(place, *line).code == 0
    decided = [e for e in store_in(tmp_path).read("s") if e.type in ("grant", "halt", "resume")]
    assert [e.text("by") for e in decided] == [ME] * 3
    assert f"halted turn by {ME}" in command(place, "show", "s").out
    lines = map(json.loads, command(place, "export", "s").out.splitlines())
    assert [e["by"] for e in lines if e["type"] == "halt"] == [ME]


def test_a_user_without_a_name_is_still_somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs under a number."""
    monkeypatch.setattr(processes, "_user", "")
    monkeypatch.setattr(os, "getuid", lambda: 64_321)
    for name in ("USER", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    assert escape.whoami() == f"uid-64321@{os.uname().nodename}"


@pytest.mark.parametrize("engine", ["file", pytest.param("server", marks=postgres.needs)])
def test_a_query_over_sessions_says_whose_each_is(engine: str, tmp_path: Path) -> None:
    place = str(tmp_path / "store.db") if engine == "file" else postgres.emptied()
    with closing(open_store(place)) as store:
        store.append(Event("session_start", "s", data={"host": "desk", "user": "you", "cwd": "/w"}))
    asked = "select session, cwd, host, run_by from sessions"
    done = CliRunner().invoke(cli, ["--store", place, "query", asked, "--json"])
    assert json.loads(done.output) == {"session": "s", "cwd": "/w", "host": "desk", "run_by": "you"}
