"""Deciding from the screens: what reaches the decider, and what does not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from textual import events
from textual.pilot import Pilot

import console_scene
import driving
from console_scene import Nobody
from driving import carried
from loopguard_console.app import Arrived, ConsoleApp
from loopguard_console.keys import arming
from loopguard_console.keys.arming import Arming
from loopguard_console.screens.modify import Modify
from loopguard_console.widgets.pane import Pane
from loopguard_core.escape import DecisionError
from loopguard_core.store.contract import Request

Step = Callable[[ConsoleApp, Pilot[None], Nobody], Awaitable[None]]


def drive(step: Step, decider: Nobody | None = None) -> None:
    nobody = decider or Nobody()

    async def taken(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await step(app, pilot, nobody)

    driving.drive(taken, console_scene.live(nobody))


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys count as if every request had long been on the screen."""
    monkeypatch.setattr(arming, "ON_SCREEN", -600.0)
    monkeypatch.setattr(arming, "AFTER_DECISION", 0.0)


@pytest.mark.usefixtures("at_once")
def test_each_key_decides_about_the_request_at_the_cursor() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None], nobody: Nobody) -> None:
        await pilot.press("a")
        await carried(app, pilot)
        await pilot.press("d", *"no more", "enter")
        await carried(app, pilot)
        await pilot.press("o", "down", "right", "enter")
        await carried(app, pilot)
        await pilot.press("r")
        await carried(app, pilot)
        await pilot.press("x", "right", "enter")
        await carried(app, pilot)
        await pilot.press("u")
        await carried(app, pilot)
        kinds = [(what, which) for what, which, _ in nobody.said]
        session = "6f1c2a90"
        assert kinds == [
            ("approve", "R7"),
            ("deny", "R7"),
            ("override", session),
            ("reset", session),
            ("halt", session),
            ("resume", session),
        ]
        assert nobody.said[1][2] == "no more"
        assert (nobody.said[2][2].scope, nobody.said[2][2].calls) == ("signature", 10)
        assert nobody.said[4][2] == ("session", True, "")

    drive(step)


@pytest.mark.usefixtures("at_once")
def test_what_lets_a_lot_happen_takes_a_second_enter_and_escape_leaves_everything() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None], nobody: Nobody) -> None:
        await pilot.press("o", "right", "right", "enter")
        await carried(app, pilot)
        assert nobody.said == []
        await pilot.press("enter")
        await carried(app, pilot)
        assert nobody.said[0][2].scope == "session"
        for key in ("d", "o", "x", "m"):
            await pilot.press(key, "escape")
        await carried(app, pilot)
        assert len(nobody.said) == 1 and len(app.screen_stack) == 2

    drive(step)


@pytest.mark.usefixtures("at_once")
def test_modified_arguments_must_be_json() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None], nobody: Nobody) -> None:
        await pilot.press("m", "x", "ctrl+s")
        await carried(app, pilot)
        assert nobody.said == []
        await pilot.press("ctrl+r", "ctrl+s")
        await carried(app, pilot)
        assert nobody.said == [("modify", "R7", console_scene.QUERY)]

    drive(step)


@pytest.mark.usefixtures("at_once")
def test_the_inbox_answers_several_at_once_and_never_slides_the_next_under_the_key() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None], nobody: Nobody) -> None:
        await pilot.press("i", "g", "space", "space", "a")
        await carried(app, pilot)
        assert sorted(which for _, which, _ in nobody.said) == ["R6", "R7"]
        one, waits = console_scene.research()
        app.post_message(Arrived(console_scene.batch(one, waiting=(waits,))))
        await pilot.pause()
        nobody.said.clear()
        await pilot.press("k", "j")
        app.post_message(Arrived(console_scene.batch(one, waiting=())))
        await pilot.pause()
        await pilot.press("a", "d")
        await carried(app, pilot)
        assert nobody.said == []  # what was chosen is gone; nothing else took its place

    drive(step)


def test_a_key_before_the_moment_is_over_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arming, "ON_SCREEN", 600.0)

    async def step(app: ConsoleApp, pilot: Pilot[None], nobody: Nobody) -> None:
        for key in "adorxmu":
            app.clear_notifications()
            await pilot.press(key)
            (why,) = [n.message for n in app._notifications]
            assert why.startswith("R7 had only just appeared: nothing was done about it.")
        await carried(app, pilot)
        assert nobody.said == [] and len(app.screen_stack) == 2

    drive(step)


@pytest.mark.usefixtures("at_once")
def test_a_decision_that_was_not_carried_out_is_said() -> None:
    class Late(Nobody):
        def approve(self, request: Request, note: str = "") -> str:
            raise DecisionError(f"{request.request} is already denied by [bold]own\x1b[2J")

    async def step(app: ConsoleApp, pilot: Pilot[None], nobody: Nobody) -> None:
        await pilot.press("a")
        await carried(app, pilot)
        said = [n.message for n in app._notifications]
        assert said == ["R7 is already denied by [bold]own\\x1b[2J"]

    drive(step, Late())


def test_a_key_right_behind_an_answer_decides_nothing_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(arming, "ON_SCREEN", -600.0)
    monkeypatch.setattr(arming, "AFTER_DECISION", 600.0)

    async def step(app: ConsoleApp, pilot: Pilot[None], nobody: Nobody) -> None:
        await pilot.press("a")
        await carried(app, pilot)
        await pilot.press("u")
        said = [n.message for n in app._notifications]
        assert said[-1].startswith("That key came right after an answer")
        assert [what for what, _, _ in nobody.said] == ["approve"]

    drive(step)


def test_a_key_decides_about_what_was_there_when_it_was_pressed_however_late_it_is_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(arming, "ON_SCREEN", 0.0)

    async def step(app: ConsoleApp, pilot: Pilot[None], nobody: Nobody) -> None:
        early = events.Key("a", "a")
        early.time -= 600.0  # pressed long before the request; the console was busy
        app.post_message(early)
        await pilot.press("j")
        await carried(app, pilot)
        assert nobody.said == []

    drive(step)


def test_arming() -> None:
    keys = Arming()
    assert not keys.press(0.0)  # nothing there
    keys.see("R1", 1.0)
    assert not keys.press(1.3) and not keys.press(1.6)  # each press starts the moment again
    assert keys.armed(2.1) and keys.press(2.1)
    keys.decided(2.1)
    keys.see("R2", 2.2)
    assert not keys.armed(2.9)
    held = [2.76 + 0.04 * n for n in range(50)]  # a key held down
    assert not any(keys.press(now) for now in held)
    assert keys.press(held[-1] + 0.5)


@pytest.mark.usefixtures("at_once")
def test_the_inbox_lifts_a_halt() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None], nobody: Nobody) -> None:
        await pilot.press("i")
        await pilot.pause()
        await pilot.press("u")
        await carried(app, pilot)
        assert [what for what, _, _ in nobody.said] == ["resume"]

    drive(step)


@pytest.mark.usefixtures("at_once")
def test_what_is_marked_is_named_before_one_key_answers_it() -> None:
    """While another request is selected: the keys that act on one act on that."""

    async def step(app: ConsoleApp, pilot: Pilot[None], nobody: Nobody) -> None:
        await pilot.press("i", "space")
        card = ""
        while "answer what is marked: R6" not in card:
            await pilot.pause(0.02)
            card = str(app.screen.query_one("#card", Pane).render())
        assert "WHAT YOU CAN DO  R7" in card, "the mark moves on to the next"
        await pilot.press("m")
        while not isinstance(app.screen, Modify):
            await pilot.pause(0.02)
        await pilot.press("ctrl+s")
        await carried(app, pilot)
        await pilot.press("a")
        await carried(app, pilot)
        assert [(what, which) for what, which, _ in nobody.said] == [
            ("modify", "R7"),
            ("approve", "R6"),
        ]

    drive(step)
