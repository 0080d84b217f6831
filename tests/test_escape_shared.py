"""A call about which two processes ask, as where a hook is installed twice: one request, and one answer for both."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from loopguard_core import escape
from loopguard_core.config import Config
from loopguard_core.decision import Decision
from loopguard_core.session.live import LiveSession
from loopguard_core.session.waiting import Answer, Ticket, Waiting
from loopguard_core.store.contract import Store
from sessions import loop, pending, session, store_in

SETTINGS: dict[str, Any] = {
    "policy": "graded",
    "unattended_wait_seconds": 600,
    "policies": {"graded": {"count": "cumulative_in_task"}},
}


def process(folder: Path, said: list[str]) -> LiveSession:
    config = Config(SETTINGS)
    return LiveSession(config, "s", store=store_in(folder), attach=True, say=said.append)


def ask(live: LiveSession) -> Decision:
    return live.before("search", {"q": 1}, call="c9")


Decide = Callable[[Store, str], object]


@pytest.mark.parametrize(
    ("decide", "runs"),
    [
        (lambda s, r: escape.approve(s, r), True),
        (lambda s, r: escape.modify(s, r, {"q": 2}), True),
        (lambda s, r: escape.override(s, request=r, calls=1), True),
        (lambda s, r: escape.deny(s, r), False),
        (lambda s, r: escape.halt(s, request=r), False),
    ],
)
def test_one_answer_is_for_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decide: Decide, runs: bool
) -> None:
    desk, said, wait = store_in(tmp_path), list[str](), Waiting.wait
    waiting: list[str] = []

    def counted(self: Waiting, ticket: Ticket) -> Answer:
        waiting.append(ticket.request)
        return wait(self, ticket)

    monkeypatch.setattr(Waiting, "wait", counted)
    loop(session(store_in(tmp_path), **SETTINGS), 2)
    with ThreadPoolExecutor(3) as threads:
        both = [threads.submit(ask, process(tmp_path, said)) for _ in range(3)]
        until = time.monotonic() + 20
        while len(waiting) < 3:
            assert time.monotonic() < until
            time.sleep(0.01)
        (asked,) = desk.requests(pending=True)
        decide(desk, asked.request)
        answers = [each.result(20) for each in both]
    assert [answer.run for answer in answers] == [runs] * 3
    assert {answer.request for answer in answers} <= {asked.request, ""}
    assert len(desk.requests()) == 1
    ends = [
        e.text("outcome") for e in desk.read("s") if e.text("call") == "c9" and e.type == "call_end"
    ]
    assert ends == ([] if runs else ["blocked"])
    assert sum("waits for you" in line for line in said) == 1


def test_nobody_shares_what_a_dead_process_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, said = store_in(tmp_path), list[str]()
    loop(session(store_in(tmp_path), **SETTINGS), 2)
    with ThreadPoolExecutor(2) as threads:
        with monkeypatch.context() as another:
            another.setattr("loopguard_core.session.waiting.started", lambda pid: "another time")
            dead = threads.submit(ask, process(tmp_path, said))
            assert pending(desk).request == "R1"
        own = threads.submit(ask, process(tmp_path, said))
        until = time.monotonic() + 20
        while len(desk.requests()) < 2:
            assert time.monotonic() < until
            time.sleep(0.01)
        assert escape.sweep(desk) == [("R1", "orphaned")]
        escape.approve(desk, "R2")
        assert own.result(20).run
        assert not dead.result(20).run
