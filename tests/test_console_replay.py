"""The console on a recording: the keys that move, and what is on the screen after each."""

from __future__ import annotations

from textual.pilot import Pilot

from driving import cursor, drive
from loopguard_console.app import ConsoleApp
from loopguard_console.widgets.chain import Chain


def test_keys_that_move() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        places = []
        for key in ("right_square_bracket", "e", "e", "E", "exclamation_mark", "G", "g", "j", "k"):
            await pilot.press(key)
            places.append(cursor(app))
        assert places[:4] == [1, 3, 4, 3]
        assert places[5:] == [10, 0, 1, 0]

    drive(step)


def test_counters_and_tiers_are_those_of_the_step() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        view = app.desk.view
        assert view is not None
        await pilot.press("g")
        assert view.recording.row(0).tier.word == "allow"
        assert all(count.tool != "search" for count in view.guard.counts())
        await pilot.press("e")
        assert [c.count for c in view.guard.counts() if c.tool == "search"] == [2]

    drive(step)


def test_nothing_can_be_decided_in_a_recording() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        for key in "adomrxu":
            await pilot.press(key)
            assert len(app.screen_stack) == 2

    drive(step)


def test_help_search_and_folding() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        view = app.desk.view
        assert view is not None
        await pilot.press("question_mark")
        assert len(app.screen_stack) == 3
        await pilot.press("escape", "slash", *"tool:write", "enter")
        assert cursor(app) == 10
        lines = len(view.lines)
        await pilot.press("k", "enter")
        assert len(view.lines) == lines + 8
        await pilot.press("z")
        assert len(view.lines) == 12

    drive(step)


def test_every_size_paints() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        for size in ((60, 16), (80, 24), (200, 60)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert app.screen.size == size
            chain = app.screen.query_one(Chain)
            assert all(chain.render_line(y).text.strip() for y in range(4)), "rows of calls"

    drive(step)
