"""A human's no to one of several identical calls that wait at once, and words that come as a call is asked about."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from loopguard_core import escape
from loopguard_core.decision import Decision
from loopguard_core.events import Event
from loopguard_core.store.contract import Store
from sessions import call, loop, session, store_in

ASK: dict[str, Any] = {
    "unattended_wait_seconds": 600,
    "policies": {"graded": {"count": "cumulative_in_task"}},
}


def asked(store: Store, count: int) -> list[str]:
    """The requests that wait, once there are *count*."""
    until = time.monotonic() + 20
    while len(store.requests(pending=True)) < count:
        assert time.monotonic() < until
        time.sleep(0.005)
    return [r.request for r in store.requests(pending=True)]


@contextmanager
def agents(store: Store) -> Iterator[ThreadPoolExecutor]:
    """Threads of agents; whatever is asked is cancelled in the end, so that none waits on."""
    with ThreadPoolExecutor(8) as threads:
        try:
            yield threads
        finally:
            for known in store.sessions():
                escape.cancel(store, known.session)


def test_a_no_to_one_of_several_same_calls_is_one_to_all_that_wait(tmp_path: Path) -> None:
    store, desk = store_in(tmp_path), store_in(tmp_path)
    live, other = session(store, **ASK), session(store, "other", **ASK)
    for each in (live, other):
        loop(each, 2)
    for _ in range(2):
        assert call(live, "read").run
    with agents(desk) as threads:
        same = [threads.submit(call, live) for _ in range(3)]
        first, *rest = asked(desk, 3)
        apart = [threads.submit(call, live, "read"), threads.submit(call, other)]
        asked(desk, 5)
        done = escape.deny(desk, first, by="you@here", note="use what you have")
        assert sorted(done.covered) == sorted(rest)
        answers = [future.result(20) for future in same]
        assert not any(answer.run for answer in answers)
        assert {a.request for a in answers} == {first, *rest}
        for answer in answers:
            assert "use what you have" in answer.message
            assert answer.request in answer.message
        assert len(desk.requests(pending=True)) == 2
        assert not any(future.done() for future in apart), "another call, another session"
        resolved = [r for r in desk.requests(session="s") if r.resolution == "denied"]
        assert {r.by for r in resolved} == {"you@here"}
        assert all(r.delivered for r in resolved)
        again = call(live)
        assert not again.run and again.ruling.cause == "deny"
        assert again.ruling.verdict.count > answers[0].ruling.verdict.count, "each was counted"


def test_what_was_decided_beside_it_stays_as_it_was_decided(tmp_path: Path) -> None:
    store, desk = store_in(tmp_path), store_in(tmp_path)
    live = session(store, **ASK)
    loop(live, 2)
    with agents(desk) as threads:
        same = [threads.submit(call, live) for _ in range(3)]
        first, second, third = asked(desk, 3)
        escape.approve(desk, second, by="her@desk")
        assert escape.deny(desk, first).covered == [third]
        assert sorted(future.result(20).run for future in same) == [False, False, True]
        with pytest.raises(escape.AlreadyDecided, match="denied"):
            escape.approve(desk, third)


def test_a_no_that_is_there_only_in_the_log_reaches_all_that_wait(tmp_path: Path) -> None:
    """Whoever denied it died before they said so of the others."""
    store, desk = store_in(tmp_path), store_in(tmp_path)
    live = session(store, **ASK)
    loop(live, 2)
    with agents(desk) as threads:
        same = [threads.submit(call, live) for _ in range(2)]
        first = asked(desk, 2)[0]
        said = {"request": first, "resolution": "denied", "by": "you@here", "note": "no more"}
        desk.append(Event("request_resolved", "s", ts=time.time(), data=said))
        for future in same:
            answer = future.result(20)
            assert not answer.run and "no more" in answer.message
        assert {r.by for r in desk.requests(session="s")} == {"you@here"}


WORDS: dict[str, tuple[Callable[[Store, str], object], bool]] = {
    "deny": (lambda s, other: escape.deny(s, other, note="no"), False),
    "override": (lambda s, _: escape.override(s, session="s", scope="session"), True),
    "reset": (lambda s, _: escape.reset(s, session="s", scope="session"), True),
    "halt": (lambda s, _: escape.halt(s, session="s"), False),
}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_that_comes_between_a_call_and_the_request_about_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    say, runs = WORDS[word]
    store, desk = store_in(tmp_path), store_in(tmp_path)
    live = session(store, **ASK)
    loop(live, 2)
    append, opened = store.append, 0

    def append_after_it(event: Event, expect: int | None = None) -> int:
        nonlocal opened
        opened += event.type == "request_opened"
        if event.type == "request_opened" and opened == 2:
            say(desk, first)
        return append(event, expect=expect)

    monkeypatch.setattr(store, "append", append_after_it)
    with agents(desk) as threads:
        waits: Future[Decision] = threads.submit(call, live)
        (first,) = asked(desk, 1)
        assert threads.submit(call, live).result(20).run is runs
        assert waits.result(20).run is runs
        assert desk.requests(pending=True) == []


def test_a_late_yes_lets_the_same_call_run_that_waits_by_now(tmp_path: Path) -> None:
    store, desk = store_in(tmp_path), store_in(tmp_path)
    live = session(store, **ASK)
    loop(live, 2)
    given_up = live.before("search", {"q": 1}, wait_limit=0.0)
    assert not given_up.run
    with agents(desk) as threads:
        waits = threads.submit(call, live)
        (second,) = asked(desk, 1)
        done = escape.approve(desk, given_up.request)
        assert done.late and done.covered == [second]
        assert waits.result(20).run
        assert not live.before("search", {"q": 1}, wait_limit=0.0).run, "it was for one call"
