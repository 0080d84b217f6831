"""An instruction that changes nothing is not written, and says so; whatever a resume would lift is lifted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import command
from loopguard_console.deciding import Decider
from loopguard_core import escape, standing
from loopguard_core.events import Event
from loopguard_core.policies import registry
from loopguard_core.store.contract import Store
from sessions import call, loop, session, store_in


def marks(store: Store, name: str = "s") -> int:
    return sum(event.type == "resume" for event in store.read(name))


def test_what_is_not_halted_is_left_as_it_is(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    loop(session(store), 2)
    before = store.last("s")
    done = escape.resume(store, "s", by="you")
    assert (done.sessions, [s.session for s in done.already]) == ([], ["s"])
    escape.halt(store, session="s")
    assert escape.resume(store, "s").sessions == ["s"]
    assert escape.resume(store, "s").sessions == []
    assert (store.last("s") - before, marks(store)) == (2, 1)


def test_the_commands_and_the_console_say_so(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.append(Event("session_start", "s", data={"agent": "tester"}))
    path = tmp_path / "events.db"
    said = command(path, "resume", "s")
    assert (said.code, said.out) == (0, "s: not halted; nothing was changed\n")
    told = json.loads(command(path, "resume", "s", "--json").out)
    assert (told["sessions"], told["already"]) == ([], ["s"])
    assert Decider(store).resume("s") == "not halted; nothing was changed"
    escape.halt(store, session="s")
    assert command(path, "resume", "s").out == "s: resumed\n"
    assert marks(store) == 1


@pytest.mark.parametrize("page", [1, 2000])
def test_the_guards_own_halt_is_lifted_and_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(standing, "_PAGE", page)
    store = store_in(tmp_path)
    live = session(store, mode="enforce")
    loop(live, 4)
    assert live.guard.latch is not None
    assert not call(live, "other").run
    assert escape.resume(store, "s").sessions == ["s"]
    assert call(live, "other").run
    assert live.guard.latch is None
    assert escape.resume(store, "s").sessions == []
    loop(live, 4)
    live.turn("go on")
    assert escape.resume(store, "s").sessions == [], "a message lifted it"


def test_a_halt_that_the_result_of_a_call_brought_is_lifted(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    hard = {"hermes": {"hard_stop_enabled": True}}
    live = session(store, policy="hermes", mode="enforce", policies=hard)
    for n in range(8):
        live.after(live.before("terminal", {"command": f"make {n}"}), "no", outcome="error")
    assert live.guard.latch is not None
    assert escape.resume(store, "s").sessions == ["s"]
    assert call(live, "other").run


def test_a_guard_that_only_observes_is_never_halted(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    loop(session(store, mode="observe"), 6)
    assert escape.resume(store, "s").sessions == []


def test_a_block_that_was_asked_about_is_no_halt(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    live = session(store)
    assert not loop(live, 3)[-1].run
    assert live.guard.latch is None
    assert escape.resume(store, "s").sessions == []


def test_a_reset_lifts_what_a_resume_would(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    live = session(store, mode="enforce")
    loop(live, 4)
    escape.reset(store, session="s", scope="session")
    assert call(live).run
    assert escape.resume(store, "s").sessions == []


def test_where_events_are_missing_it_is_written_all_the_same(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    loop(session(store), 1)
    store.append(Event("gap", "s", data={"count": 3}))
    assert escape.resume(store, "s").sessions == ["s"], "the agent may know of a halt"


def test_a_grant_is_revoked_once(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.append(Event("session_start", "s", data={"agent": "tester"}))
    grant = escape.override(store, session="s", scope="session").grant
    path = tmp_path / "events.db"
    assert command(path, "revoke", grant).out == f"s: revoked, grant {grant}\n"
    before = store.last("s")
    again = command(path, "revoke", grant)
    assert (again.code, again.out) == (
        0,
        f"s: {grant} is already revoked; nothing was changed\n",
    )
    assert "already" in Decider(store).revoke("s", grant)
    assert store.last("s") == before


@pytest.mark.parametrize("scope", ["tool", "signature"])
def test_a_reset_of_what_nothing_is_counted_under_is_refused(tmp_path: Path, scope: str) -> None:
    store, path = store_in(tmp_path), tmp_path / "events.db"
    with session(store) as live:
        loop(live, 2)
    store.extend([Event("note", "s", data={"text": str(n)}) for n in range(4_100)])
    before = store.last("s")
    signature = next(
        str(e.data["verdict"]["signature"]) for e in store.read("s") if e.type == "call_start"
    )
    right = {"tool": "search", "signature": signature}[scope]
    done = command(path, "reset", "s", "--scope", scope, "--key", f"{right}x")
    assert (done.code, done.out) == (1, "")
    assert f"nothing is counted under the {scope} {right}x in s" in done.err
    assert f"did you mean {right}?" in done.err
    far = command(path, "reset", "s", "--scope", scope, "--key", "y")
    assert far.err.endswith("it has search\n" if scope == "tool" else "it has 1 signature\n")
    assert store.last("s") == before
    assert command(path, "reset", "s", "--scope", scope, "--key", right).code == 0
    assert store.last("s") == before + 1


@pytest.mark.parametrize("policy", registry.names())
def test_every_counter_that_is_shown_can_be_reset(tmp_path: Path, policy: str) -> None:
    store, path = store_in(tmp_path), tmp_path / "events.db"
    live = session(store, policy=policy, mode="observe")
    for _ in range(4):
        call(live, "read", {"page": 1}, "the same")
        live.after(live.before("run", {"command": "make"}), "failed\nexit code 2", outcome="error")
    signatures = {count.key for count in live.guard.counts() if count.key != count.tool}
    live.end()
    assert signatures
    for signature in signatures:
        done = command(path, "reset", "s", "--scope", "signature", "--key", signature)
        assert (done.code, done.err) == (0, ""), signature


def test_a_grant_of_a_session_that_has_ended_is_listed_and_revoked(tmp_path: Path) -> None:
    store, path = store_in(tmp_path), tmp_path / "events.db"
    with session(store, unattended_wait_seconds=0) as live:
        while call(live).run:
            pass
    (asked,) = store.requests()
    assert store.sessions()[0].ended
    (given,) = command(path, "override", asked.request, "--until", "result", "--json").objects
    for named in ([], ["s"]):
        (listed,) = command(path, "grants", *named, "--json").objects
        assert (listed["grant"], listed["session"]) == (given["grant"], "s")
    assert given["grant"] in command(path, "grants").out
    told = command(path, "revoke", given["grant"]).out.splitlines()
    assert told == [
        f"s: revoked, grant {given['grant']}",
        "nobody runs s now; it holds when it goes on",
    ]
    assert command(path, "grants").out == "No override is in force.\n"
    assert "is already revoked" in command(path, "revoke", given["grant"]).out
    nowhere = command(path, "revoke", "G00")
    assert (nowhere.code, "there is no grant G00" in nowhere.err) == (1, True)


def test_a_breakpoint_is_cleared_once_and_only_where_it_is_set(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.append(Event("session_start", "s", data={"agent": "tester"}))
    point = escape.set_breakpoint(store, "s", "tool:rm").breakpoint
    assert escape.clear_breakpoint(store, "s", point).sessions == ["s"]
    before = store.last("s")
    for name in (point, "B000000"):
        done = escape.clear_breakpoint(store, "s", name)
        assert (done.sessions, [s.session for s in done.already]) == ([], ["s"])
    assert store.last("s") == before
