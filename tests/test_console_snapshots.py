"""Pictures of the screens on frozen data. Look at a changed picture before accepting it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

import console_scene
from loopguard_console.opening import replay_app
from loopguard_console.screens.main import MainScreen
from loopguard_console.widgets.pane import Pane
from loopguard_core.config import Config
from test_console_replay import priced

Compare = Callable[..., bool]
SIZES = [(80, 24), (120, 40)]
sized = pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request on a picture counts as seen: whether a moment has passed must not show."""
    monkeypatch.setattr("loopguard_console.arming.ON_SCREEN", -600.0)


def after(*keys: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Press *keys*, then wait until everything has been drawn."""

    async def run(pilot: Pilot[None]) -> None:
        await drawn(pilot)
        await pilot.press(*keys)
        await drawn(pilot)

    async def drawn(pilot: Pilot[None]) -> None:
        await pilot.pause()
        main = next(s for s in pilot.app.screen_stack if isinstance(s, MainScreen))
        while main._pause is not None or not main.query_one("#card", Pane).is_attached:
            await asyncio.sleep(0.01)
        await pilot.pause()

    return run


def app(theme: str = "") -> Any:
    made = console_scene.live()
    made._start_theme = theme
    return made


@sized
def test_live(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(app(), terminal_size=size, run_before=after())


@sized
def test_inbox(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(app(), terminal_size=size, run_before=after("i", "j"))


def test_live_light(snap_compare: Compare) -> None:
    assert snap_compare(app("loopguard-light"), terminal_size=(120, 40), run_before=after())


def test_smallest(snap_compare: Compare) -> None:
    assert snap_compare(app(), terminal_size=(60, 16), run_before=after())


def test_nothing_yet(snap_compare: Compare) -> None:
    assert snap_compare(console_scene.live(empty=True), terminal_size=(80, 24), run_before=after())


def test_replay(snap_compare: Compare) -> None:
    from test_console_replay import recording

    assert snap_compare(recording(), terminal_size=(120, 40), run_before=after("e", "e"))


def test_override_dialog(snap_compare: Compare) -> None:
    made = console_scene.live(console_scene.Nobody())
    assert snap_compare(made, terminal_size=(80, 24), run_before=after("o"))


def test_help(snap_compare: Compare) -> None:
    assert snap_compare(app(), terminal_size=(80, 24), run_before=after("question_mark"))


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("deny", "d"),
        ("halt", "x"),
        ("modify", "m"),
        ("search", "slash"),
        ("grants", "O"),
        ("rule", "c"),
        ("sessions", "s"),
        ("export", "X"),
    ],
)
def test_dialogs(
    snap_compare: Compare, name: str, keys: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("textual.widgets.Input._toggle_cursor", lambda self: None)
    monkeypatch.setattr("textual.widgets.TextArea._toggle_cursor_blink_visible", lambda self: None)
    monkeypatch.setattr("loopguard_console.screens.debugging.Path.cwd", lambda: Path("/project"))
    assert snap_compare(app(), terminal_size=(80, 24), run_before=after(keys))


@sized
def test_what_a_repetition_has_cost(snap_compare: Compare, size: tuple[int, int]) -> None:
    made = replay_app(priced(), title="loop.jsonl", config=Config({"policy": "graded"}))
    assert snap_compare(made, terminal_size=size, run_before=after("e", "e"))


@sized
def test_thresholds(
    snap_compare: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("textual.widgets.Input._toggle_cursor", lambda self: None)
    monkeypatch.setattr("loopguard_console.screens.debugging.Path.cwd", lambda: Path("/project"))
    keys = ("c", "down", "down", "down", "down", "enter")
    assert snap_compare(app(), terminal_size=size, run_before=after(*keys))


@sized
def test_inbox_light(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(app("loopguard-light"), terminal_size=size, run_before=after("i", "j"))


def test_live_light_narrow(snap_compare: Compare) -> None:
    assert snap_compare(app("loopguard-light"), terminal_size=(80, 24), run_before=after())


def test_high_contrast(snap_compare: Compare) -> None:
    assert snap_compare(app("loopguard-contrast"), terminal_size=(80, 24), run_before=after())


def test_watching_a_store_that_fails(snap_compare: Compare) -> None:
    made = app()
    made.decider = None
    made.desk.error = "the event store cannot be read: it is locked by another program"
    assert snap_compare(made, terminal_size=(120, 40), run_before=after())


def test_replay_narrow(snap_compare: Compare) -> None:
    from test_console_replay import recording

    assert snap_compare(recording(), terminal_size=(80, 24), run_before=after("e", "e"))
