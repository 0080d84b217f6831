"""The inspector says why a call was stopped, also where its own verdict was to let it run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console_scene import Log, batch, empty_desk
from loopguard_console.guards import guard_of
from loopguard_console.inspector.card import Asking, card
from loopguard_console.viewing.view import View
from loopguard_console.widgets.chain import Chain
from loopguard_core.recording.replay import Recording


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
        assert "Allowed" not in shown
        assert "u resume" in " ".join(shown.split())
    log.add("request_resolved", request="R1", resolution="expired", call=asked.call)
    log.add("call_end", call=asked.call, outcome="blocked", result="refused")
    assert "has failed 8 times" in card(view_of(log), None, 80).plain


@pytest.mark.parametrize(
    ("event", "data", "said"),
    [
        ("halt", {"scope": "turn", "by": "me"}, "HALTED BY A HUMAN"),
        ("breakpoint", {"breakpoint": "B1", "condition": "tool:ls"}, "BREAKPOINT"),
    ],
)
def test_a_persons_word_is_named(event: str, data: dict[str, str], said: str) -> None:
    log = Log("s", "fixer")
    log.add(event, **data)
    call = log.start("ls", {}, breakpoint="B1" if event == "breakpoint" else "")
    log.add("call_end", call=call, outcome="blocked", result="refused")
    shown = card(view_of(log), None, 80).plain
    assert said in shown and "Allowed" not in shown


@pytest.mark.parametrize(
    ("resolution", "said"),
    [
        ("orphaned", "R7 was never answered: the agent's process is gone"),
        ("expired", "R7 was not answered in time"),
        ("approved", "R7 was approved by own"),
    ],
)
def test_how_a_request_ended_is_said_in_plain_words(resolution: str, said: str) -> None:
    log = Log("s", "fixer")
    for _ in range(2):
        log.call("search", {"q": 1})
    asked = log.ask("R7", log.start("search", {"q": 1}), "block")
    log.add("request_resolved", request="R7", resolution=resolution, call=asked.call, by="own")
    shown = card(view_of(log), None, 80).plain
    assert said in shown
    title = shown.splitlines()[0]
    assert title.endswith("no end" if resolution == "orphaned" else "running")


SEARCH = {"q": 1}


def reset(log: Log, scope: str, key: str = "", **more: str) -> None:
    log.add("reset", scope=scope, key=key, by="you@desk", **more)


def signature_of(log: Log) -> str:
    view = view_of(log)
    return view.recording.row(len(view.recording) - 1).signature


def looped(times: int = 3) -> Log:
    log = Log("s", "fixer")
    log.add("user_message", text="go")
    for _ in range(times):
        log.call("search", SEARCH)
    return log


@pytest.mark.parametrize("scope", ["signature", "tool", "session"])
@pytest.mark.parametrize("height", [10, 40])
def test_the_card_says_that_a_person_set_the_count_back(scope: str, height: int) -> None:
    log = looped()
    reset(log, scope, {"signature": signature_of(log), "tool": "search"}.get(scope, ""), note="ok")
    for _ in range(2):
        log.call("search", SEARCH)
    shown = " ".join(card(view_of(log), None, 80, height).plain.split())
    what = {"signature": "search with these arguments", "tool": "search", "session": "everything"}
    assert "Counted afresh from call 4 on: you@desk reset the count of" in shown
    assert f"the count of {what[scope]} at " in shown
    assert shown.partition("Counted afresh")[2].partition(": ok")[1]


def test_a_call_that_waits_says_so_too() -> None:
    log = looped()
    reset(log, "session")
    for _ in range(2):
        log.call("search", SEARCH)
    asked = log.ask("R7", log.start("search", SEARCH), "block")
    assert "Counted afresh from call 4 on" in card(view_of(log), Asking(asked, 9.0, True), 80).plain


def test_a_reset_that_explains_nothing_is_not_named() -> None:
    before = looped()
    at = len(view_of(before).recording) - 1
    reset(before, "session")
    before.call("search", SEARCH)
    view = view_of(before)
    view.go(at)  # it came after this call
    assert "afresh" not in card(view, None, 80).plain
    for scope, key in (("tool", "read"), ("signature", "search:another")):
        other = looped()
        reset(other, scope, key)
        other.call("search", SEARCH)
        assert "afresh" not in card(view_of(other), None, 80).plain
    turned = looped()
    reset(turned, "session")
    turned.add("user_message", text="on")  # where counts begin anew by themselves
    turned.call("search", SEARCH)
    assert "afresh" not in card(view_of(turned), None, 80).plain
    long = looped()
    reset(long, "session")
    for n in range(25):
        long.call("read", {"n": n})
    assert "afresh" not in card(view_of(long), None, 80).plain


def test_a_call_of_a_process_that_is_gone_does_not_run() -> None:
    log = Log("s", "fixer")
    log.start("search", SEARCH)
    desk = empty_desk()
    told = batch(log)
    desk.take(told)
    view = desk.views["s"]
    chain = Chain()
    chain.view = view
    for state, word in (("live", "running"), ("lost", "no end"), ("quiet", "running")):
        desk.take(replace(told, state={"s": state}, events={}))
        assert card(view, None, 80).plain.splitlines()[0].endswith(word)
        assert chain._stands(view, 0)[0] == {"running": "…"}.get(word, word)


@pytest.mark.parametrize("height", [12, 40])
def test_a_call_that_was_denied_before_says_so_beside_its_own_verdict(height: int) -> None:
    log = looped(2)
    asked = log.ask("R7", log.start("search", SEARCH), "block")
    log.add("request_resolved", request="R7", resolution="denied", call=asked.call, by="you@desk")
    log.add("call_end", call=asked.call, outcome="blocked", result="no")
    again = log.start("search", SEARCH)
    log.add("call_end", call=again, outcome="blocked", result="denied in this turn")
    shown = " ".join(card(view_of(log), None, 80, height).plain.split())
    assert "DENIED BEFORE A human denied this call earlier in this turn." in shown
    assert "search has now been requested 4 times" in shown
    assert "next time is refused: a human denied it for this turn" in shown
    assert " told " not in shown


def test_a_call_of_a_session_that_a_person_halted_says_so_beside_its_own_verdict() -> None:
    log = looped(2)
    log.add("halt", scope="session", by="you@desk")
    call = log.start("search", SEARCH)
    log.add("call_end", call=call, outcome="blocked", result="halted")
    shown = " ".join(card(view_of(log), None, 80).plain.split())
    assert "HALTED BY A HUMAN Every call is refused until the halt ends." in shown
    assert "next time is refused: a human halted the agent" in shown
