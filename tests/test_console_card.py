"""The inspector says why a call was stopped, also where its own verdict was to let it run."""

from __future__ import annotations

import pytest

from console_scene import Log
from loopguard_console.card import Asking, card
from loopguard_console.guards import guard_of
from loopguard_console.view import View
from loopguard_core.replay import Recording


def view_of(log: Log) -> View:
    return View(Recording.of(log.events, guard_of(None, log.config)), live=True)


def test_a_call_of_a_halted_turn_names_the_reason_and_the_key_that_lifts_it() -> None:
    log = Log("s", "fixer", "hermes", {"hard_stop_enabled": True})
    for n in range(8):
        log.call("terminal", {"command": f"try {n}"}, "not found", "error")
    asked = log.ask("R1", log.start("terminal", {"command": "new"}), "halt")
    asked.cause = "latch"
    view = view_of(log)
    for height in (12, 40):
        shown = card(view, Asking(asked, 60.0, True), 80, height).plain
        assert "THE TURN IS HALTED" in shown and "has failed 8 times" in shown
        assert "Nothing to object" not in shown
        assert "u resume" in " ".join(shown.split())
    log.add("request_resolved", request="R1", resolution="expired", call=asked.call)
    log.add("call_end", call=asked.call, outcome="blocked", result="refused")
    assert "has failed 8 times" in card(view_of(log), None, 80).plain


@pytest.mark.parametrize(
    ("event", "data", "said"),
    [
        ("halt", {"scope": "turn", "by": "me"}, "HALTED BY A PERSON"),
        ("breakpoint", {"breakpoint": "B1", "condition": "tool:ls"}, "BREAKPOINT"),
    ],
)
def test_a_persons_word_is_named(event: str, data: dict[str, str], said: str) -> None:
    log = Log("s", "fixer")
    log.add(event, **data)
    call = log.start("ls", {}, breakpoint="B1" if event == "breakpoint" else "")
    log.add("call_end", call=call, outcome="blocked", result="refused")
    shown = card(view_of(log), None, 80).plain
    assert said in shown and "Nothing to object" not in shown


@pytest.mark.parametrize(
    ("resolution", "said"),
    [
        ("orphaned", "R7 was never answered: the agent's process is gone"),
        ("expired", "R7 was not answered in time"),
        ("approved", "R7 was approved by ann"),
    ],
)
def test_how_a_request_ended_is_said_in_plain_words(resolution: str, said: str) -> None:
    log = Log("s", "fixer")
    for _ in range(2):
        log.call("search", {"q": 1})
    asked = log.ask("R7", log.start("search", {"q": 1}), "block")
    log.add("request_resolved", request="R7", resolution=resolution, call=asked.call, by="ann")
    shown = card(view_of(log), None, 80).plain
    assert said in shown
    title = shown.splitlines()[0]
    assert title.endswith("no end" if resolution == "orphaned" else "running")
