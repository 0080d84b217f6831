"""The card says what a person needs to judge a stop: count, detector, first error, what differed."""

from __future__ import annotations

from typing import Any

from loopguard_console.card import card
from loopguard_console.guards import guard_of
from loopguard_console.view import View
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.replay import Recording


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
