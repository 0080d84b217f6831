"""The room on the screen is used: arguments where nothing else stands, a counter where there is no pane for it."""

from __future__ import annotations

import re

import pytest
from textual.pilot import Pilot

import console_scene
from console_scene import Log, batch, empty_desk
from driving import drive
from loopguard_console.app import ConsoleApp
from loopguard_console.guards import guard_of
from loopguard_console.inspector.grounds import _COMPARED, _SAID, _TOOL, grounds
from loopguard_console.viewing.view import View
from loopguard_console.widgets.chain import Chain
from loopguard_console.widgets.gauge import CounterPane, WindowPane
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.guard import Guard
from loopguard_core.recording.replay import Recording

LONG = {"path": "/".join(f"folder-{n}" for n in range(40))}


def shown(log: Log, size: tuple[int, int]) -> tuple[list[str], list[str], bool]:
    """The lines of the chain and of the window's pane, and whether the counters have a pane of their own."""
    found: list[list[str]] = []
    display: list[bool] = []

    async def look(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.pause()
        chain = app.screen.query_one(Chain)
        found.append([strip.text for strip in chain.render_lines(chain.size.region)])
        found.append(str(app.screen.query_one(WindowPane).render()).splitlines())
        display.append(app.screen.query_one(CounterPane).display)

    desk = empty_desk()
    desk.take(batch(log))
    drive(look, ConsoleApp(desk, source="~/events.db", theme="loopguard-dark"), size=size)
    return found[0], found[1], display[0]


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("width", [104, 120, 130])
def test_arguments_reach_up_to_what_stands_behind_them(width: int, repeats: int) -> None:
    log = Log("s", "fixer")
    for _ in range(repeats):
        log.call("read", LONG)
    for outcome in ("ok", "error", "blocked", "cancelled"):
        log.call("read", {**LONG, outcome: 1}, "r", outcome)
    chain = shown(log, (width, 40))[0]
    calls = [line for line in chain if "…" in line and "▶" not in line]
    assert len(calls) >= 4
    count = r"(  ×\d|    )" if repeats > 1 else ""
    for line in calls:
        assert re.fullmatch(rf" \S+{count} \S ", line.partition("…")[2]), line
    ends = {len(line.rstrip()) for line in calls}
    assert len(ends) == 1  # the tiers stand below each other


def test_a_first_repeat_makes_room_for_its_count_in_every_line() -> None:
    log = Log("s", "fixer")
    log.call("read", {**LONG, "n": 1})
    log.call("read", LONG)
    view = View(Recording.of(log.events, guard_of(None, log.config)), live=True)
    chain = Chain()
    chain.view = view
    before = chain.face(0)
    log.call("read", LONG)
    view.append(log.events[len(view.recording.marks) :])
    assert chain.face(0) != before


@pytest.mark.parametrize("size", [(80, 24), (60, 20), (100, 30)])
def test_the_counter_of_the_selected_call_has_a_line_where_the_counters_have_no_pane(
    size: tuple[int, int],
) -> None:
    log, _ = console_scene.research()
    _, window, pane = shown(log, size)
    assert not pane
    assert window[0].startswith("LAST 20")
    assert "search(" in window[1] and "at" in window[1] and "W" in window[1]
    assert all(len(line) <= size[0] for line in window)
    if size[0] >= 80:
        assert window[1].endswith("3 of the last 20")


def test_a_call_that_nothing_counts_leaves_the_line_to_what_repeats() -> None:
    log = Log("s", "fixer", "hermes")
    for _ in range(3):
        log.call("write", {"path": "a"})
    log.call("read", {"path": "b"})
    _, window, _ = shown(log, (80, 24))
    assert "3 of the last 20" in window[1]


@pytest.mark.parametrize(("size", "has"), [((80, 50), True), ((120, 40), True), ((80, 30), False)])
def test_the_counters_have_a_pane_where_there_is_room(size: tuple[int, int], has: bool) -> None:
    assert shown(console_scene.research()[0], size)[2] is has


# -- plain words -----------------------------------------------------------------------------------


def test_what_a_verdict_rests_on_is_said_in_plain_words() -> None:
    assert grounds(["read-only", "search", "traits from rule", "times ignored"]) == (
        "only reads, searches, as its name says",
        "without times",
    )
    assert grounds([]) == ("", "")
    assert grounds(["something new"]) == ("something new", "")


def test_every_word_of_the_policies_has_a_plain_one() -> None:
    policies = ["progress", "hermes", "hermes-seed", "hermes-0.22", "graded", "dsh", "nous"]
    tools = (
        "search",
        "read_file",
        "write_file",
        "bash",
        "sleep",
        "todo",
        "poll_status",
        "send_message",
    )
    said: set[str] = set()
    for policy in policies:
        options = {"hard_stop_enabled": True} if policy.startswith("hermes") else {}
        for tool in tools:
            config = Config({"policy": policy, "policies": {policy: options}})
            guard: Guard = guard_of(None, config)
            events = [
                Event(
                    "call",
                    "s",
                    data={"tool": tool, "args": {"q": " ./a "}, "result": f"at 10:{n:02}"},
                )
                for n in range(30)
            ]
            recording = Recording.of(events, guard)
            for index in range(len(recording)):
                why = recording.why(index)
                said.update(why.traits if why is not None else ())
    assert len(said) > 5
    assert said <= {*_TOOL, *_SAID, *_COMPARED}
