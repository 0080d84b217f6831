"""Pictures of the screens on frozen data. Look at a changed picture before accepting it."""

from __future__ import annotations

from pathlib import Path

import pytest

import console_scene
from driving import priced
from loopguard_console.opening import replay_app
from loopguard_core.config import Config
from picturing import Compare, after, app, frozen, sized

__all__ = ["frozen"]


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
    from driving import recording

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
    from driving import recording

    assert snap_compare(recording(), terminal_size=(80, 24), run_before=after("e", "e"))
