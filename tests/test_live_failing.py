"""A store that fails never stops the agent: the guard goes on in memory, and the gap is counted."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path

import pytest

from faulty import Faulty
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import StoreError, Taken
from loopguard_core.verdict import Ruling, Tier
from sessions import call, loop, pending, session, store_in


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed store is tried again at once."""
    monkeypatch.setattr("loopguard_core.session.journal._FIRST_PAUSE", 0.0)
    monkeypatch.setattr("loopguard_core.session.journal._LONGEST_PAUSE", 0.0)


def test_the_guard_goes_on_in_memory_and_says_so_once(tmp_path: Path) -> None:
    store = Faulty(store_in(tmp_path))
    said: list[str] = []
    live = session(store, said=said)
    call(live)
    store.broken = True
    tiers = [d.tier for d in loop(live, 3)]
    assert tiers == [Tier.ALLOW, Tier.BLOCK, Tier.HALT]
    failures = [line for line in said if "goes on in memory" in line]
    assert len(failures) == 1
    assert "locked by another process" in failures[0]


def test_a_store_that_is_back_gets_the_gap(tmp_path: Path, impatient: None) -> None:
    real = store_in(tmp_path)
    store = Faulty(real)
    said: list[str] = []
    live = session(store, said=said)
    call(live, args="a")
    store.broken = True
    call(live, args="b")
    call(live, args="c")
    store.broken = False
    call(live, args="d")
    events = real.read("s")
    (gap,) = [e for e in events if e.type == "gap"]
    assert gap.data["count"] == 4
    assert "locked" in gap.data["reason"]
    assert [e.data["args"] for e in events if e.type == "call_start"] == ["a", "d"]
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    assert sum("4 events are missing" in line for line in said) == 1


@pytest.mark.parametrize("at", ["turn", "start", "end"])
def test_a_store_that_may_be_read_but_not_written_is_tried_once_an_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, impatient: None, at: str
) -> None:
    real = store_in(tmp_path)
    store = Faulty(real)
    live = session(store)
    ended = live.before("t", "0") if at == "end" else None
    tried: list[Event] = []

    def read_only(event: Event, *, expect: int | None = None) -> int:
        tried.append(event)
        if len(tried) > 20:  # else a guard that insists would do so for ever
            return real.append(event, expect=expect)
        raise StoreError("the event store is read-only")

    monkeypatch.setattr(store, "append", read_only)
    if at == "turn":
        live.turn("go on")
    elif at == "start":
        assert live.before("t", "1").run
    else:
        assert ended is not None
        live.after(ended, "same")
    assert 1 <= len(tried) <= 3
    monkeypatch.undo()
    live.turn("go on")
    assert [e.data["count"] for e in real.read("s") if e.type == "gap"] == [1]


def test_counts_that_only_memory_has_survive_the_return_of_the_store(
    tmp_path: Path, impatient: None
) -> None:
    store = Faulty(store_in(tmp_path))
    live = session(store)
    store.broken = True
    loop(live, 2)
    store.broken = False
    assert call(live).tier is Tier.BLOCK


def test_a_session_begins_without_a_store(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    said: list[str] = []
    config = Config({"policy": "graded", "store": str(tmp_path / "folder")})
    with LiveSession(config, "s", say=said.append) as live:
        assert [d.run for d in loop(live, 3)] == [True, True, False]
    assert len([line for line in said if "in memory" in line]) == 1
    (refused,) = [line for line in said if "call refused" in line]
    assert f"loopguard-console --store {config.store} " in refused, "not the store of others"


def test_a_store_that_could_not_be_opened_is_tried_again(tmp_path: Path, impatient: None) -> None:
    blocked = tmp_path / "folder"
    blocked.write_text("a file where the directory would be")
    said: list[str] = []
    config = Config({"policy": "graded", "store": str(blocked / "events.db")})
    live = LiveSession(config, "s", say=said.append)
    loop(live, 2)
    blocked.unlink()
    blocked.mkdir()
    assert call(live).tier is Tier.BLOCK
    live.end()
    events = store_in(blocked).read("s")
    assert [e.type for e in events[:3]] == ["session_start", "gap", "call_start"]
    assert events[1].data["count"] == 5
    assert sum("the event store is back; 5 events" in line for line in said) == 1


def test_a_working_directory_that_was_removed_hinders_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loopguard_core.config import load_config

    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert load_config(environ={}).place == ""
    assert call(session(store_in(tmp_path))).run


def test_an_interrupted_wait_leaves_no_open_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_in(tmp_path)
    live = session(store, unattended_wait_seconds=60)
    loop(live, 2)

    def interrupt(*_: object, **__: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "changed", interrupt)
    with pytest.raises(KeyboardInterrupt):
        call(live)
    assert [r.resolution for r in store.requests()] == ["cancelled"]
    assert live.guard.open_calls() == []


def test_a_store_that_is_replaced_is_begun_anew(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    said: list[str] = []
    live = session(store, said=said)
    loop(live, 2)
    for path in tmp_path.glob("events.db*"):
        path.unlink()
    assert call(live).tier is Tier.BLOCK, "the guard remembers"
    events = store.read("s")
    assert [e.type for e in events[:2]] == ["session_start", "gap"]
    assert events[1].data["count"] >= 5
    assert any("replaced" in line for line in said)


@pytest.mark.parametrize("lasting", [0.0, 0.06])
def test_a_store_that_is_deleted_while_a_call_runs_is_missed_by_its_end_or_the_next_start(
    tmp_path: Path, lasting: float
) -> None:
    store = store_in(tmp_path)
    live = session(store)
    for n in range(30):  # so that the agent appends after its own last event
        live.after(live.before("read", {"path": str(n)}), "text")
    decision = live.before("read", {"path": "last"})
    written = live.guard.seq
    for path in tmp_path.glob("events.db*"):
        path.unlink()
    time.sleep(lasting)
    live.after(decision, "text")
    live.after(live.before("read", {"path": "next"}), "text")
    events = store.read("s")
    assert [e.type for e in events][:2] == ["session_start", "gap"]
    assert [e.type for e in events][-2:] == ["call_start", "call_end"]
    ended = [e for e in events if e.type == "call_end" and e.data["call"] == decision.call]
    assert events[1].data["count"] + len(ended) == written + 1, "each is in the gap, or here"
    if lasting:
        assert ended


def test_a_wait_ends_when_the_store_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loopguard_core.session.waiting._BLIND", 0.1)
    monkeypatch.setattr("loopguard_core.session.waiting._LOOK", 0.05)
    store = Faulty(store_in(tmp_path))
    live = session(store, unattended_wait_seconds=60)
    loop(live, 2)
    store.broken = False

    def fail() -> None:
        pending(store)
        store.broken = True

    thread = threading.Thread(target=fail)
    thread.start()
    decision = call(live)
    thread.join()
    assert not decision.run


def test_hostile_arguments_never_raise(tmp_path: Path) -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    cycle: list[object] = []
    cycle.append(cycle)
    deep: object = 0
    for _ in range(2_000):
        deep = [deep]
    store = store_in(tmp_path)
    said: list[str] = []
    values = [Hostile(), cycle, deep, float("nan"), "\ud800", 10**5_000, {1: {2}}, b"\xff", None]
    with session(store, said=said) as live:
        for value in values:
            for tool in ("", "tool\x1b[2J", "\ud800"):
                assert live.after(live.before(tool, value), value) == ""
    assert not [line for line in said if "error" in line]
    ended = [e for e in store.read("s") if e.type == "call_end"]
    assert len(ended) == 3 * len(values)


def test_an_error_inside_lets_the_call_run_and_is_said(tmp_path: Path) -> None:
    said: list[str] = []
    live = session(store_in(tmp_path), said=said)

    def broken(event: object) -> Ruling:
        raise ZeroDivisionError

    live._journal.start = broken  # type: ignore[method-assign]
    decision = live.before("search", "q")
    assert decision.run
    assert live.after(decision, "r") == ""
    assert "internal error" in said[-1]


def test_threads_share_a_session_without_losing_an_event(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    live = session(store, policy="hermes")

    def work(name: int) -> None:
        for n in range(25):
            call(live, args={"worker": name, "n": n})

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    live.end()
    known = store.session("s")
    assert known is not None
    assert known.calls == 200
    assert [e.seq for e in store.read("s")] == list(range(1, 403))


def test_identical_calls_of_one_batch_cannot_slip_past_a_threshold(tmp_path: Path) -> None:
    live = session(store_in(tmp_path))

    async def batch() -> list[bool]:
        async def one() -> bool:
            decision = await live.before_async("search", "q", message="m")
            await asyncio.sleep(0)
            live.after(decision, "r")
            return decision.run

        return list(await asyncio.gather(*(one() for _ in range(6))))

    assert sum(asyncio.run(batch())) == 2


def test_awaiting_a_human_leaves_the_event_loop_free(tmp_path: Path) -> None:
    from loopguard_core import escape

    store, desk = store_in(tmp_path), store_in(tmp_path)
    live = session(store, unattended_wait_seconds=30)
    loop(live, 2)

    async def scene() -> bool:
        waits = asyncio.create_task(live.before_async("search", {"q": 1}))
        while not desk.requests(pending=True):
            await asyncio.sleep(0.005)
        assert call(live, "read", "meanwhile").run
        escape.approve(desk, pending(desk).request)
        return (await waits).run

    assert asyncio.run(scene())


def test_a_cancelled_task_cancels_its_request(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    live = session(store, unattended_wait_seconds=30)
    loop(live, 2)

    async def scene() -> None:
        waits = asyncio.create_task(live.before_async("search", {"q": 1}))
        while not store.requests(pending=True):
            await asyncio.sleep(0.005)
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits

    asyncio.run(scene())
    (request,) = store.requests()
    assert request.resolution == "cancelled"
    (last,) = [e for e in store.read("s") if e.data.get("call") == request.call][-1:]
    assert last.data["outcome"] == "cancelled"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_goes_on_in_the_same_session_and_does_not_end_it(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    live = session(store)
    call(live)
    pid = os.fork()
    if pid == 0:
        try:
            call(live)
            live.end()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert call(live).tier is Tier.BLOCK, "the child's call counts"
    assert "session_end" not in [e.type for e in store.read("s")]


def test_a_call_that_comes_again_under_its_id_counts_once(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    live = session(store)
    for _ in range(4):
        decision = live.before("search", "q", call="same")
        assert decision.run
        live.after(decision, "r")
    assert len([e for e in store.read("s") if e.type == "call_start"]) == 1
    with pytest.raises(Taken):
        store.append(Event("call_start", "s", data={"call": "same", "tool": "search"}))


def test_a_replayed_history_runs_as_it_ran_and_counts_nothing(tmp_path: Path) -> None:
    """Also where as many new calls would be stopped by now."""
    config = Config({"policy": "hermes", "policies": {"hermes": {"hard_stop_enabled": True}}})

    def history(live: LiveSession, calls: int) -> list[int]:
        counts = []
        for n in range(calls):
            decision = live.before("search", "q", call=f"c{n}")
            assert decision.run and not decision.request
            counts.append(decision.ruling.verdict.count)
            live.after(decision, "no", outcome="error")
        return counts

    counted = history(LiveSession(config, "s", store=store_in(tmp_path)), 5)
    again = LiveSession(config, "s", store=store_in(tmp_path), resumed=True, say=print)
    assert history(again, 5) == counted
    assert history(again, 5) == counted
    new = again.before("search", "q", call="c5")
    assert not new.run and new.ruling.verdict.count == 5
    types = [e.type for e in store_in(tmp_path).read("s")]
    assert types.count("call_start") == 6 and types.count("request_opened") == 1


def test_a_host_that_uses_its_ids_again_is_guarded(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    live = session(store)
    for page in ("one", "two"):
        for _ in range(2):  # the second time it is the same call
            decision = live.before("search", page, call="call_0")
            live.after(live.recall("call_0", "search", page), "r")
    for n in range(3):
        decision = live.before("search", "again", call="call_0" if n == 0 else "")
        live.after(decision, "r")
    assert decision.tier is Tier.BLOCK
    log = store.read("s")
    starts = [e for e in log if e.type == "call_start"]
    assert [e.data["args"] for e in starts] == ["one", "two", *["again"] * 3]
    assert len({e.data["message"] for e in starts}) == 5
    assert [e.data["call"] for e in starts] == [
        e.data["call"] for e in log if e.type == "call_end"
    ], "each with its own end"


def test_a_history_that_is_replayed_under_another_key_counts_nothing(tmp_path: Path) -> None:
    """As on another machine."""
    for machine in ("one", "two"):
        live = session(store_in(tmp_path))
        for args in ({"q": 1}, {"q": [2, None]}, "three"):
            decision = live.before("search", args, call=f"c{args}")
            live.after(decision, machine)
        (tmp_path / "machine.key").write_bytes(os.urandom(32))
    starts = [e for e in store_in(tmp_path).read("s") if e.type == "call_start"]
    assert [e.data["args"] for e in starts] == [{"q": 1}, {"q": [2, None]}, "three"]


def test_two_processes_on_one_session_see_each_others_calls(tmp_path: Path) -> None:
    one = session(store_in(tmp_path))
    two = LiveSession(
        Config({"policy": "graded"}), "s", store=store_in(tmp_path), attach=True, say=print
    )
    call(one)
    call(two)
    assert call(one).tier is Tier.BLOCK
    starts = [e for e in store_in(tmp_path).read("s") if e.type == "session_start"]
    assert len(starts) == 1, "attached, not started again"


def test_a_store_that_comes_back_as_another_one_is_begun_anew_once(
    tmp_path: Path, impatient: None
) -> None:
    place, said = tmp_path / "events.db", list[str]()
    live = LiveSession(Config({"store": str(place)}), "s", say=said.append)
    loop(live, 2)
    for path in tmp_path.glob("events.db*"):
        path.unlink()
    place.mkdir()  # and nothing can be opened there
    loop(live, 2)
    place.rmdir()
    loop(live, 1)
    live.end()
    events = store_in(tmp_path).read("s")
    kinds = [e.type for e in events]
    assert kinds == ["session_start", "gap", "call_start", "call_end", "session_end"]
    assert events[1].data["count"] == 5 + 4
    assert [e.seq for e in events] == [1, 2, 3, 4, 5]


def test_a_session_that_ends_while_the_store_is_given_a_rest_says_what_is_missing(
    tmp_path: Path,
) -> None:
    real = store_in(tmp_path)
    store = Faulty(real)
    live = session(store)
    store.broken = True
    loop(live, 1)
    store.broken = False
    live.end()
    assert [e.type for e in real.read("s")] == ["session_start", "gap", "session_end"]


def test_a_session_that_ends_leaves_nobody_waiting(tmp_path: Path) -> None:
    said: list[str] = []
    config = Config(
        {"policy": "graded", "store": str(tmp_path / "events.db"), "unattended_wait_seconds": 600}
    )
    live = LiveSession(config, "s", say=said.append)
    loop(live, 2)
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(call(live).run), daemon=True)
    thread.start()
    store = store_in(tmp_path)
    request = pending(store).request
    live.end()
    thread.join(20)
    assert answers == [False]
    resolved = store.request(request)
    assert resolved is not None and resolved.resolution == "cancelled"
    events = store.read("s")
    assert [e.type for e in events[-3:]] == ["request_resolved", "call_end", "session_end"]
    assert not [line for line in said if "memory" in line]
