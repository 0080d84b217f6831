"""The card says what a person needs to judge a stop: count, detector, first error, what differed."""

from __future__ import annotations

from typing import Any

import pytest

import console_scene
from loopguard_console.guards import guard_of
from loopguard_console.inspector.card import card
from loopguard_console.inspector.facts import next_time
from loopguard_console.viewing.view import View
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.recording.replay import Recording
from loopguard_core.verdict import Tier


def call(tool: str, args: Any, result: str = "ok", **more: Any) -> Event:
    return Event("call", "s", data={"tool": tool, "args": args, "result": result, **more})


def told(events: list[Event], policy: str, at: int = -1, **options: Any) -> str:
    config = Config({"policy": policy, **options})
    view = View(Recording.of(events, guard_of(None, config)), live=False)
    view.go(at % len(view.recording))
    return card(view, None, 60).plain


def test_a_failing_loop_names_its_first_error_and_what_repeated() -> None:
    write = {"path": "/jail/x"}
    events = [
        Event("user_message", "s", data={"text": "go"}),
        call("read", {"path": "y"}, "no such file", ok=False),
        *[call("file_write", write, f"permission denied\nat {n}", ok=False) for n in range(3)],
    ]
    text = told(events, "graded")
    for part in (
        "file_write",
        '"/jail/x"',
        "BLOCK 3 of 3",
        "repeated_tool_calls",
        "call 2: permission denied",
        "3 identical calls since #2",
        "is halted",
        "CHANGED SINCE CALL 3",
        "-at 1",
        "+at 2",
    ):
        assert part in text, part


def test_arguments_that_differ_in_what_the_policy_ignores_are_shown() -> None:
    events = [
        call("bash", {"command": "make", "description": text}, "failed", ok=False)
        for text in ("build it", "try again", "once more", "and again", "please")
    ]
    text = told(events, "progress", tools={"bash": {"ignored_fields": ["description"]}})
    assert "differences in description" in text and "ARGUMENTS CHANGED SINCE CALL 4" in text


def test_what_the_next_identical_call_will_meet() -> None:
    events = [call("search", {"q": "x"}) for _ in range(4)]
    assert "next time runs, with advice" not in told(events, "graded", 0)
    texts = [" ".join(told(events, "graded", at).split()) for at in range(4)]
    assert "next time is blocked" in texts[1] and "next time is halted" in texts[2]


def test_a_guard_that_had_no_say_only_would_have_done_something() -> None:
    events = [call("search", {"q": "x"}) for _ in range(3)]
    for at, title, meaning in (
        (1, "WHY IT WOULD WARN", "the guard would have given advice"),
        (2, "WHY IT WOULD STOP", "the guard would not have let the call run"),
    ):
        text = " ".join(told(events, "graded", at).split())
        assert title in text and meaning in text
        assert " told " not in text and " advice search" in text
    asked = [Event("session_start", "s", data={"mode": "ask"}), *events]
    watched = " ".join(told(asked, "graded", 1).split())
    assert "WHY IT WARNED" in watched and " told search" in watched


def test_what_comes_next_is_said_of_the_counter_that_objected() -> None:
    """The tool's failures and those of one signature are counted apart."""
    events = [call("terminal", {"command": f"try {n}"}, "no", ok=False) for n in range(3)]
    text = told(events, "hermes", policies={"hermes": {"hard_stop_enabled": True}})
    assert "3 of 3, halt at 8" in text
    pair = [call("read", {"path": name}) for _ in range(4) for name in ("a", "b")]
    stopped = told(pair, "progress")
    assert "BLOCK" in stopped and "block at" not in stopped


def test_a_poll_whose_answer_moves_on_says_so() -> None:
    events = [call("status", {"job": 81}, f"{n} %") for n in range(5)]
    assert "Its answer is another one than at call 4." in told(events, "progress")
    again = [call("status", {"job": 81}, "same") for _ in range(2)]
    assert "another one" not in told(again, "progress")


def test_calls_that_a_person_let_run_are_told_apart_from_what_was_counted() -> None:
    log, asked = console_scene.research()
    log.add("request_resolved", request="R7", resolution="approved", by="me", call=asked.call)
    view = View(Recording.of(log.events, guard_of(None, log.config)), live=True)
    running = " ".join(card(view, None, 60).plain.split())
    assert "meaning stopped, then let run by a human" in running
    log.add("call_end", call=asked.call, outcome="ok", result=console_scene.PAGE)
    log.ask("R8", log.start("search", console_scene.QUERY), "block")
    view = View(Recording.of(log.events, guard_of(None, log.config)), live=True)
    again = " ".join(card(view, None, 60).plain.split())
    assert "4 identical calls since #4, 1 of them let run by a human and not counted" in again
    assert "meaning the call does not run unless you let it" in again


def test_where_another_guard_stopped_a_call_ours_does_not_say_what_comes_next() -> None:
    verdict = {"tier": "block", "policy": "", "signature": "", "source": "hook", "reason": "No."}
    text = told([call("search", {"q": "x"}, verdict=verdict)] * 2, "graded")
    assert "next time" not in text


POLICIES = {
    "graded": {},
    "progress": {},
    "hermes": {"hard_stop_enabled": True},
    "hermes-0.22": {"hard_stop_enabled": True},
    "tool-loop-guard": {},
    "nous": {},
    "dsh": {},
}


@pytest.mark.parametrize("outcome", ["ok", "error"])
@pytest.mark.parametrize("policy", POLICIES)
def test_what_the_next_call_will_meet_is_what_it_meets(policy: str, outcome: str) -> None:
    log = console_scene.Log("s", "fixer", policy, POLICIES[policy])
    log.add("user_message", text="go")
    foretold, stops = "", False
    for number in range(9):
        log.call("read_file", {"path": "a"}, "the same", outcome)
        view = View(Recording.of(log.events, guard_of(None, log.config)), live=True)
        row = view.recording.row(number)
        if "advice" in foretold:
            assert (row.before, row.after) == (Tier.ALLOW, Tier.WARN), number
        elif foretold == "runs":
            assert row.before is Tier.ALLOW, number
            assert row.after is not Tier.WARN or stops, number
        elif foretold:
            assert row.before >= Tier.BLOCK, number
        foretold = next_time(view)
        # what comes with a step that reaches a stop, each policy decides for itself
        stops = any(
            at <= count.count + 1
            for count in view.guard.counts()
            for tier, at in count.thresholds.items()
            if tier >= Tier.BLOCK
        )


@pytest.mark.parametrize(
    ("resolution", "outcome", "name"),
    [
        ("", "", "refusal"),
        ("expired", "blocked", "told"),
        ("approved", "ok", ""),
        ("denied", "blocked", ""),
    ],
)
def test_the_card_says_whether_the_model_read_the_reason(
    resolution: str, outcome: str, name: str
) -> None:
    log = console_scene.Log("s", "fixer")
    for _ in range(2):
        log.call("search", {"q": 1})
    asked = log.ask("R7", log.start("search", {"q": 1}), "block")
    if resolution:
        log.add("request_resolved", request="R7", resolution=resolution, call=asked.call)
        log.add("call_end", call=asked.call, outcome=outcome, result="r")
    view = View(Recording.of(log.events, guard_of(None, log.config)), live=True)
    lines = card(view, None, 80).plain.splitlines()
    facts = [
        line for line in lines if line.startswith(" ") and line[11:].startswith("search has now")
    ]
    assert [line[1:11].strip() for line in facts] == ([name] if name else [])
