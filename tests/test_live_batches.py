"""Calls that name no message: those that run at the same time are one batch, those that follow an answer are not."""

from __future__ import annotations

from pathlib import Path

from loopguard_core.identity import Payload
from plays import Play, fresh
from sessions import call, session, store_in


def messages(folder: Path, tool: str) -> list[str]:
    return [
        event.text("message")
        for event in store_in(folder).read("s")
        if event.type == "call_start" and event.text("tool") == tool
    ]


def test_calls_that_start_before_any_answer_are_one_message(tmp_path: Path) -> None:
    live = session(store_in(tmp_path), policy="progress")
    started = [live.before("search", {"q": 1}) for _ in range(3)]
    for decision in started:
        live.after(decision, "none")
    assert len(set(messages(tmp_path, "search"))) == 1


def test_a_task_that_goes_on_beside_a_long_call_makes_one_message_a_step(tmp_path: Path) -> None:
    live = session(store_in(tmp_path), policy="progress")
    long = live.before("deploy", {"to": "staging"})
    tiers = []
    for step in range(12):  # an edit and a test run, again and again
        tiers.append(call(live, "edit", {"file": "a.py", "text": f"line {step}"}, "ok").tier)
        tiers.append(call(live, "run_tests", {"all": True}, f"{12 - step} failed").tier)
    live.after(long, "done")
    assert set(tiers) == {0}
    assert len(set(messages(tmp_path, "run_tests"))) == 12


def test_who_goes_on_from_a_checkpoint_knows_what_was_answered() -> None:
    lived = Play(fresh("progress"))
    lived.start("deploy", {"to": "staging"}, message="m")
    lived.start("check", {"all": True}, message="m")
    digest = Payload({"all": True}, lived.guard.digester).digest
    lived.end("ok", "fine")
    again = fresh("progress")
    again.load(lived.guard.dump())
    for guard in (lived.guard, again, lived.guard.copy()):
        assert guard.peer_message("check", digest) == ""
        assert guard.peer_message("check", "another") == "m"
