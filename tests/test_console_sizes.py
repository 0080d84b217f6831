"""The sizes of the panes: by key, by dragging, remembered, and sane on a terminal of any size."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

import console_scene
from loopguard_console.app import Arrived, ConsoleApp
from loopguard_console.remembered import Remembered
from loopguard_console.viewing.layout import CHAIN, Layout
from loopguard_console.widgets.chain import Chain

Step = Callable[[ConsoleApp, Pilot[None]], Awaitable[None]]


def drive(step: Step, memory: Remembered, size: tuple[int, int] = (120, 40)) -> None:
    async def run() -> None:
        app = console_scene.live()
        app.remembered = memory
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await step(app, pilot)

    asyncio.run(run())


def sizes(app: ConsoleApp) -> tuple[int, int, int]:
    """Columns of sessions, chain and card."""
    panes = [app.screen_stack[1].query_one(name) for name in ("#left", "#middle", "#right")]
    left, middle, right = (pane.outer_size.width for pane in panes)
    return left, middle, right


def test_keys_change_the_sizes_and_they_are_kept(tmp_path: Path) -> None:
    place = tmp_path / "console.json"

    async def change(app: ConsoleApp, pilot: Pilot[None]) -> None:
        before = sizes(app)
        await pilot.press("less_than_sign", "less_than_sign")
        await pilot.press("right_curly_bracket")
        await pilot.pause()
        left, middle, right = sizes(app)
        assert (left, right) == (before[0] + 2, before[2] - 8) and sum(
            before
        ) == left + middle + right

    async def look(app: ConsoleApp, pilot: Pilot[None]) -> None:
        assert sizes(app)[0] == 29 and sizes(app)[2] == 32
        await pilot.press("equals_sign")
        await pilot.pause()
        assert sizes(app)[0] == 27 and sizes(app)[2] == 40

    drive(change, Remembered(place))
    drive(look, Remembered(place))
    assert Remembered(place).layout == Layout()


def test_a_border_can_be_dragged(tmp_path: Path) -> None:
    place = tmp_path / "console.json"

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        right = app.screen.query_one("#right")
        edge = right.region.x
        await pilot.mouse_down("#right", offset=(0, 5))
        await pilot.hover(None, offset=(edge + 6, 9))
        await pilot.mouse_up(None, offset=(edge + 6, 9))
        await pilot.pause()
        assert sizes(app)[2] == 34
        await pilot.mouse_down("#left", offset=(26, 5))
        await pilot.mouse_up(None, offset=(19, 9))
        await pilot.pause()
        assert sizes(app)[0] == 20
        await pilot.hover(None, offset=(60, 9))  # let go: nothing follows the mouse any more
        assert sizes(app)[0] == 20

    drive(step, Remembered(place))
    assert Remembered(place).layout == Layout(left=20, right=34)


def test_in_a_narrow_terminal_the_card_gets_lines_and_a_hidden_list_is_said() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        right = app.screen.query_one("#right")
        before = right.outer_size.height
        await pilot.press("greater_than_sign")
        await pilot.pause()
        assert right.outer_size.height == before + 2
        await pilot.press("right_curly_bracket")
        assert "s shows the list" in [n.message for n in app._notifications][-1]
        for _ in range(12):
            await pilot.press("greater_than_sign")
        assert "no more room" in [n.message for n in app._notifications][-1]
        assert app.screen.query_one("#chain").outer_size.height >= 3

    drive(step, Remembered(None), (80, 24))


def test_what_was_set_on_a_large_terminal_leaves_the_chain_its_room_on_a_small_one() -> None:
    memory = Remembered(None)
    memory.keep_layout(Layout(left=60, right=140, below=40))

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        for width, height in ((200, 60), (120, 40), (104, 30), (80, 24), (60, 16)):
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            chain = app.screen.query_one("#chain")
            assert chain.outer_size.width >= min(CHAIN, width) - 20 and chain.outer_size.height >= 3
        assert memory.layout == Layout(left=60, right=140, below=40)
        await pilot.resize_terminal(260, 60)
        await pilot.pause()
        assert sizes(app)[2] == 140

    drive(step, memory, (120, 40))


@given(st.builds(Layout, *[st.integers(0, 1_000)] * 3), st.integers(60, 400), st.integers(16, 120))
def test_no_size_takes_the_chain_away(layout: Layout, width: int, height: int) -> None:
    fitted = layout.fitted(width, height, 27)
    assert all((a == 0) == (b == 0) for a, b in zip(layout, fitted, strict=True))
    if width >= 104:
        assert width - (fitted.left or 27) - fitted.right >= 20
    assert height - fitted.below >= 8


@pytest.mark.parametrize("kept", [None, 3, {"left": "x", "right": True, "more": 4}, {"left": -5}])
def test_sizes_that_cannot_be_are_as_they_come(kept: object) -> None:
    assert Layout.read(kept) == Layout()


def test_calls_that_come_while_the_chain_has_no_room_are_no_fault() -> None:
    async def run() -> None:
        app = console_scene.live()
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            chain = app.screen.query_one(Chain)
            chain.styles.height = 0
            await pilot.pause()
            log, waits = console_scene.research()
            log.add("note", text="a mark comes last")
            app.post_message(Arrived(console_scene.batch(log, waiting=(waits,))))
            await pilot.pause(0.6)
            assert chain.size.height == 0 and chain.count() > 0

    asyncio.run(run())
