"""What is said of a key: one line at a time, never old beside something new, never against the screen."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static, TextArea

import console_scene
from console_scene import Nobody
from driving import carried, drive
from loopguard_console.app import Arrived, ConsoleApp
from loopguard_console.keys import arming
from loopguard_console.opening import replay_app
from loopguard_console.screens.dialogs import Dialog
from loopguard_console.screens.grants import Grants
from loopguard_console.widgets.sessions import SessionList
from loopguard_core.events import Event


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arming, "ON_SCREEN", -600.0)
    monkeypatch.setattr(arming, "AFTER_DECISION", 0.0)


def said(app: ConsoleApp) -> list[str]:
    return [str(n.message) for n in app._notifications]


def test_that_nothing_waits_is_not_said_any_more_when_something_does() -> None:
    app = console_scene.live(Nobody())
    log, waits = console_scene.research()
    app.desk.waiting = []

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("w")
        await pilot.pause()
        assert said(app) == ["Nothing waits for you."]
        app.post_message(Arrived(console_scene.batch(log, waiting=(waits,))))
        await pilot.pause()
        assert said(app) == []

    drive(step, app)


def test_one_line_takes_the_place_of_the_other_and_the_bell_says_how_it_stands() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        for keys, words in (
            ("y", "Arguments copied."),
            ("M", "Quiet from now on."),
            ("M", "The bell rings when something starts to wait."),
            ("G]", "This is the last call."),
            ("g[", "This is the first call."),
            ("P", "Pinned."),
        ):
            await pilot.press(*keys)
            await pilot.pause()
            assert said(app) == [words]

    drive(step, console_scene.live(Nobody()))


def test_a_jump_that_comes_back_to_where_it_began_is_said() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("B", "'")
        await pilot.pause()
        assert said(app) == ["This is the only bookmark: L lists it."]
        await pilot.press("/", *"outline", "enter", "n")
        await pilot.pause()
        assert said(app) == ["This is the only hit."]

    drive(step, console_scene.live(Nobody()))


def test_a_filter_that_leaves_no_session_does_not_say_that_there_are_none() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("f", *"zzz", "enter")
        await pilot.pause()
        assert app.screen.query_one(SessionList).empty() == " No match. f changes it."

    drive(step, console_scene.live(Nobody()))


@pytest.mark.parametrize("key", ["x", "o"])
def test_words_typed_or_pasted_on_the_choices_are_the_note(key: str) -> None:
    nobody = Nobody()

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press(key, *"wait for me")
        dialog = app.screen
        assert isinstance(dialog, Dialog)
        assert dialog.query_one(Input).value == "wait for me"
        await pilot.press("enter")
        await carried(app, pilot)
        ((_, _, what),) = nobody.said
        assert "wait for me" in (what if isinstance(what, tuple) else what.note)

    drive(step, console_scene.live(nobody))


def test_what_was_wrong_with_changed_arguments_goes_with_the_next_change() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("m", "x", "ctrl+s")
        await pilot.pause()
        says = app.screen.query_one("#says", Static)
        assert "Not JSON" in str(says.render()) and "^R as it was" in str(says.render())
        await pilot.press("ctrl+r")
        await pilot.pause()
        assert app.screen.query_one(TextArea).text.startswith("{")
        assert "Not JSON" not in str(says.render()) and "^S runs it so" in str(says.render())

    drive(step, console_scene.live(Nobody()))


def test_the_list_of_overrides_says_how_to_leave_it_where_it_is_empty() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("O")
        await pilot.pause()
        assert isinstance(app.screen, Grants)
        assert "Esc closes" in str(app.screen.query_one("#says", Static).render())

    drive(step, console_scene.live(Nobody()))


@pytest.mark.parametrize("key", ["d", "o", "x", "m", "c", "b", "X", "R"])
def test_in_the_smallest_terminal_a_dialog_shows_its_keys(key: str) -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press(key)
        await pilot.pause()
        shown = [strip.text for strip in app.screen._compositor.render_strips()]
        assert any("Esc" in line for line in shown), "\n".join(shown)

    drive(step, console_scene.live(Nobody()), size=(60, 16))


def test_a_recording_says_in_how_many_other_sessions_the_guard_steps_in() -> None:
    calm = [Event("call", "calm", data={"tool": "read", "args": {}, "result": "ok"})]
    loops = [
        Event("call", name, data={"tool": "search", "args": {"q": 1}, "result": "same"})
        for name in ("one", "two")
        for _ in range(9)
    ]

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        app.select("calm")
        await pilot.press("e")
        await pilot.pause()
        (words,) = said(app)
        assert "but in 2 other sessions" in words and "J goes to the next" in words

    drive(step, replay_app([*calm, *loops], title="runs"))


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_names_that_begin_alike_are_told_apart_by_their_ends(size: tuple[int, int]) -> None:
    events = [
        Event("call", f"a-very-long-name-of-a-file-with-many-runs#{n}", data={"tool": "t"})
        for n in range(12)
    ]

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("s")
        await pilot.pause()
        listed = app.screen.query_one(SessionList)
        shown = {strip.text.strip() for strip in listed.render_lines(listed.size.region)}
        assert all(any(f"#{n} " in line for line in shown) for n in range(12)), shown

    drive(step, replay_app(events, title="runs"), size=size)


@pytest.mark.parametrize("columns", range(60, 110, 7))
def test_the_first_line_has_no_half_words(columns: int) -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        line = app.screen._compositor.render_strips()[0].text
        assert " guard" not in line or " guard graded asks you " in f"{line} ", line

    drive(step, console_scene.live(Nobody()), size=(columns, 24))
