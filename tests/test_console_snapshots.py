"""Pictures of the screens on frozen data. Look at a changed picture before accepting it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import console_scene

Compare = Callable[..., bool]
SIZES = [(80, 24), (120, 40)]
sized = pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request on a picture counts as seen: whether a moment has passed must not show."""
    monkeypatch.setattr("loopguard_console.arming.ON_SCREEN", 0.0)


def app(theme: str = "") -> Any:
    made = console_scene.live()
    made._start_theme = theme
    return made


@sized
def test_live(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(app(), terminal_size=size)


@sized
def test_inbox(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(app(), terminal_size=size, press=["i", "j"])


def test_live_light(snap_compare: Compare) -> None:
    assert snap_compare(app("loopguard-light"), terminal_size=(120, 40))


def test_smallest(snap_compare: Compare) -> None:
    assert snap_compare(app(), terminal_size=(60, 16))


def test_nothing_yet(snap_compare: Compare) -> None:
    assert snap_compare(console_scene.live(empty=True), terminal_size=(80, 24))


def test_replay(snap_compare: Compare) -> None:
    from test_console_replay import recording

    assert snap_compare(recording(), terminal_size=(120, 40), press=["e", "e"])


def test_override_dialog(snap_compare: Compare) -> None:
    made = console_scene.live(console_scene.Nobody())
    assert snap_compare(made, terminal_size=(80, 24), press=["o"])


def test_help(snap_compare: Compare) -> None:
    assert snap_compare(app(), terminal_size=(80, 24), press=["question_mark"])
