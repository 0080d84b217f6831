"""Keys typed one behind the other without a pause: each meets what the one before it left."""

from __future__ import annotations

import asyncio

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

import console_scene
import driving
from console_scene import Nobody
from driving import carried
from loopguard_console.app import ConsoleApp
from loopguard_console.keys import arming
from loopguard_console.screens.inbox import InboxScreen
from loopguard_console.screens.main import MainScreen
from loopguard_console.widgets.sessions import SessionList

NAMES = {"]": "right_square_bracket", "[": "left_square_bracket"}


@pytest.fixture(autouse=True)
def long_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys count as if every request had long been on the screen."""
    monkeypatch.setattr(arming, "ON_SCREEN", -600.0)


async def typed(app: ConsoleApp, *keys: str) -> None:
    """All *keys* at once, as a terminal sends what was typed while the console was busy."""
    before = app.keys.taken
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))
    while app.keys.taken < before + len(keys) or not app.keys.idle:
        await asyncio.sleep(0.002)


def drive(step: driving.Step, nobody: Nobody | None = None) -> None:
    driving.drive(step, console_scene.live(nobody or Nobody()))


def test_a_key_behind_the_one_that_closes_a_dialog_meets_the_screen_below() -> None:
    nobody = Nobody()

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await typed(app, "d", *"no", "enter", "i")
        await carried(app, pilot)
        assert [(what, note) for what, _, note in nobody.said] == [("deny", "no")]
        assert isinstance(app.screen, InboxScreen)

    drive(step, nobody)


def test_a_key_behind_the_one_that_opens_a_screen_meets_that_screen() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await typed(app, "slash", *"ai", "escape", "i", "escape", "f", *"quiet")
        assert app.screen.query_one(Input).value == "quiet"

    drive(step)


def test_a_key_behind_the_one_that_moves_the_focus_meets_the_new_one() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        before = app.desk.current
        await typed(app, "s", "j")
        assert isinstance(app.focused, SessionList) and app.desk.current != before

    drive(step)


def test_keys_behind_what_is_pasted_where_no_text_goes_are_not_held_up() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        app.post_message(events.Paste("some words"))
        await typed(app, "i")
        assert isinstance(app.screen, InboxScreen)
        await typed(app, "ctrl+p", "escape", "escape", "f", "x")
        assert app.screen.query_one(Input).value == "x"

    drive(step)


def test_a_deciding_key_behind_an_answer_decides_nothing() -> None:
    nobody = Nobody()

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await typed(app, "d", "enter", "a", "a", "a")
        await carried(app, pilot)
        assert [what for what, _, _ in nobody.said] == ["deny"]
        assert isinstance(app.screen, MainScreen)

    drive(step, nobody)


@pytest.mark.parametrize(("opener", "key"), [("", "h"), ("", "left"), ("L", "b")])
def test_a_key_that_means_nothing_says_so(opener: str, key: str) -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await typed(app, *opener, key)
        (said,) = [n.message for n in app._notifications]
        assert said.startswith(("h does", "← does", "b does"))
        assert "nothing here." in said

    drive(step)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("G]", "This is the last call."),
        ("g[", "This is the first call."),
        ("gk", "This is the first call."),
        ("gg", "This is the first call."),
        ("GG", "This is the last call."),
        ("z", "Every call is shown: z folds."),
        ("ik", "No other request waits above this one."),
    ],
)
def test_a_key_that_moves_nothing_says_so(keys: str, said: str) -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await typed(app, *(NAMES.get(key, key) for key in keys))
        assert [n.message for n in app._notifications] == [said]

    drive(step)


def test_a_key_held_down_at_the_end_says_it_once() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await typed(app, "G", *8 * ["right_square_bracket"])
        (said,) = list(app._notifications)
        assert said.time_left > 0

    drive(step)


def test_what_came_of_an_answer_stays_when_a_key_is_refused_right_behind_it() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await carried(app, pilot)
        (outcome,) = [n.message for n in app._notifications]
        await pilot.press("a")
        said = [n.message for n in app._notifications]
        assert said[0] == outcome and said[1].startswith("That key came right after an answer")

    drive(step)
