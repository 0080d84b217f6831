"""What the console says of a key or a decision is whole, also in a small terminal."""

from __future__ import annotations

import asyncio

import pytest
from textual.widgets._toast import Toast, ToastRack

import console_scene
from driving import recording
from loopguard_console.app import ConsoleApp


def toast(app: ConsoleApp) -> str:
    """The words of the notice, as they stand on the screen."""
    (notice,) = app.screen.query(Toast)
    area = notice.region
    strips = app.screen._compositor.render_strips()
    lines = ["".join(s.text for s in strip) for strip in strips]
    rows = [line[area.x : area.right] for line in lines[area.y : area.bottom]]
    return " ".join(" ".join(row.strip("▌ ") for row in rows).split())


@pytest.mark.parametrize("size", [pytest.param((80, 24), marks=pytest.mark.slow), (50, 16)])
def test_every_word_of_a_notice_is_on_the_screen(size: tuple[int, int]) -> None:
    words = (
        "a breakpoint on what is called, and more that a person wants to read to its end.".split()
    )

    async def look() -> None:
        app = recording()
        async with app.run_test(size=size, notifications=True) as pilot:
            await pilot.press("b")
            await pilot.press(*"tool:search")
            await pilot.press("enter")
            await pilot.pause()
            assert toast(app).endswith("takes it away.")
            for length in range(4, 2 * len(words), 3):
                said = " ".join((words * 2)[:length])
                app.clear_notifications()
                await pilot.pause()
                app.say(said, bad=True)
                await pilot.pause()
                assert toast(app) == said

    asyncio.run(look())


@pytest.mark.parametrize("size", [(80, 24), (60, 16), (120, 40), (200, 60)])
@pytest.mark.parametrize("keys", ["", "i"])
def test_no_notice_covers_what_is_decided(size: tuple[int, int], keys: str) -> None:
    async def look() -> None:
        app = console_scene.live()
        async with app.run_test(size=size, notifications=True) as pilot:
            await pilot.press(*keys)
            for number in range(6):
                app.say(f"{number} is something to tell that takes more than one line. " * 3, True)
            await pilot.pause()
            await pilot.pause()
            notices = [
                n for n in app.screen.query(Toast) if app.screen.find_widget(n).visible_region
            ]
            assert notices
            card = app.screen.query_one("#request" if keys else "#right")
            bar = app.screen.query_one("#keys")
            for notice in notices:
                shown = app.screen.find_widget(notice).visible_region
                assert not shown.overlaps(card.region)
                assert not shown.overlaps(bar.region)

    asyncio.run(look())


def test_a_notice_is_shown_once_also_behind_a_dialog() -> None:
    async def look() -> None:
        app = console_scene.live()
        async with app.run_test(size=(80, 24), notifications=True) as pilot:
            app.say("something", bad=False)
            await pilot.pause()
            await pilot.press("question_mark")
            await pilot.pause()
            shown = [s.query(ToastRack).first().display for s in app.screen_stack[-2:]]
            assert shown == [False, True]
            await pilot.press("escape")
            await pilot.pause()
            assert app.screen.query(ToastRack).first().display and toast(app) == "something"

    asyncio.run(look())
