"""The card tells the latest word on a request: also the one that came after it had ended."""

from __future__ import annotations

import pytest

from console_scene import Log
from loopguard_console.chains import call_json, chain_lines
from loopguard_console.guards import guard_of
from loopguard_console.inspector.card import card
from loopguard_console.inspector.marks import mark_words
from loopguard_console.viewing.view import View
from loopguard_core.recording.replay import Recording
from loopguard_core.store.contract import Request

SEARCH = {"q": 1}


def expired() -> tuple[Log, Request]:
    """A loop whose third call waited, and was refused since nobody answered."""
    log = Log("s", "fixer")
    for _ in range(2):
        log.call("search", SEARCH)
    asked = log.ask("R7", log.start("search", SEARCH), "block")
    log.add("request_resolved", request="R7", resolution="expired", call=asked.call)
    log.add("call_end", call=asked.call, outcome="blocked", result="refused")
    return log, asked


def approve_late(log: Log, asked: Request, **more: object) -> None:
    data = {"grant": "R7-late", "scope": "signature", "key": asked.signature, "budget": 1}
    log.add("grant", **data, expires=log.ts + 600, request="R7", by="you@desk", **more)


def view_at(log: Log, call: int) -> View:
    view = View(Recording.of(log.events, guard_of(None, log.config)), live=True)
    view.go(call - 1)
    return view


def shown(log: Log, call: int = 3) -> str:
    return " ".join(card(view_at(log, call), None, 80).plain.split())


def test_a_late_approval_is_said_with_who_gave_it_and_what_it_lets_run() -> None:
    log, asked = expired()
    assert "R7 was not answered in time" in shown(log) and "Approved" not in shown(log)
    approve_late(log, asked, note="once more")
    said = shown(log)
    assert "R7 was not answered in time Approved late by you@desk at" in said
    assert ": once more. The next identical call may run until" in said
    assert "next time" not in said


def test_the_call_that_a_late_approval_let_run_is_named() -> None:
    log, asked = expired()
    approve_late(log, asked)
    log.call("list_dir", {"path": "."})
    log.call("search", SEARCH)
    assert "Call 5 ran because of it." in shown(log) and "may run" not in shown(log)


def test_a_late_approval_that_was_taken_back_or_ran_out_says_so() -> None:
    log, asked = expired()
    approve_late(log, asked)
    log.add("revoke", grant="R7-late", by="you@desk")
    assert "It was revoked." in shown(log)
    log, asked = expired()
    approve_late(log, asked)
    log.ts += 700
    log.call("list_dir", {"path": "."})
    assert "No identical call came until" in shown(log)


def test_what_a_person_noted_on_an_ended_request_is_said() -> None:
    log, _ = expired()
    log.add("note", on="R7", text="denied after it was expired: stop", by="you@desk")
    said = shown(log)
    assert "you@desk noted at" in said and "denied after it was expired: stop" in said


def test_a_late_denial_is_said_as_one_wherever_a_person_looks() -> None:
    log, _ = expired()
    log.add("revoke", grant="R7-late", request="R7", by="you@desk", note="not this")
    assert "Denied late by you@desk at" in shown(log) and ": not this. The next try" in shown(log)
    recording = Recording.of(log.events, guard_of(None, log.config))
    said = call_json(recording, 2)["request"]
    assert said["denied_late"] == {"by": "you@desk", "note": "not this"}
    assert said["approved_late"] is None
    text = "\n".join(chain_lines(recording))
    assert "R7 denied late by you@desk: not this" in text and "revoked" not in text
    (mark,) = (m.event for m in recording.marks if m.event.type == "revoke")
    assert mark_words(mark)[:2] == ("✗ denied late", "R7 by you@desk: not this")


def test_the_card_is_drawn_anew_when_the_late_word_comes() -> None:
    log, asked = expired()
    log.call("list_dir", {"path": "."})
    view = view_at(log, 3)
    before = view.moment
    approve_late(log, asked)
    view.append(log.events[-1:])
    approved = view.moment
    log.call("search", SEARCH)
    view.append(log.events[-2:])
    assert len({before, approved, view.moment}) == 3


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        ("cancelled", "the call was cancelled while it waited"),
        ("pending", "the session ended"),
    ],
)
def test_a_wait_that_was_cut_short_is_told_from_a_session_that_ended(
    outcome: str, why: str
) -> None:
    log = Log("s", "fixer")
    for _ in range(2):
        log.call("search", SEARCH)
    asked = log.ask("R7", log.start("search", SEARCH), "block")
    log.add("request_resolved", request="R7", resolution="cancelled", call=asked.call)
    log.add("call_end", call=asked.call, outcome=outcome, result=None)
    said = shown(log)
    assert f"R7 was never answered: {why}" in said
    assert "unless you let it" not in said and "meaning the call did not run" in said


@pytest.mark.parametrize("late", [False, True])
def test_the_commands_say_it_too(late: bool) -> None:
    log, asked = expired()
    if late:
        approve_late(log, asked)
    recording = Recording.of(log.events, guard_of(None, log.config))
    said = call_json(recording, 2)["request"]
    assert said["resolution"] == "expired"
    assert said["approved_late"] == ({"by": "you@desk", "note": None} if late else None)
    text = "\n".join(chain_lines(recording))
    assert ("R7 approved late by you@desk" in text) == late
