"""Pictures of a search, of what is filtered, and of the boxes that choose, in the common sizes and themes."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from picturing import Compare, after, app, frozen, late, lossy, sized

__all__ = ["frozen"]

themed = pytest.mark.parametrize("theme", ["loopguard-dark", "loopguard-light"])
#: Each size and each theme in each run; the other two together in the long form.
looks = pytest.mark.parametrize(
    ("theme", "size"),
    [
        pytest.param("loopguard-dark", (80, 24), id="loopguard-dark-80x24"),
        pytest.param("loopguard-light", (120, 40), id="loopguard-light-120x40"),
        pytest.param(
            "loopguard-dark", (120, 40), id="loopguard-dark-120x40", marks=pytest.mark.slow
        ),
        pytest.param(
            "loopguard-light", (80, 24), id="loopguard-light-80x24", marks=pytest.mark.slow
        ),
    ],
)


@pytest.fixture(autouse=True)
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cursor blinks on a picture."""
    monkeypatch.setattr("textual.widgets.Input._toggle_cursor", lambda self: None)


@looks
def test_hits_marked(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    keys = after("slash", *"search", "enter")
    assert snap_compare(app(theme), terminal_size=size, run_before=keys)


@looks
def test_hits_alone(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    keys = after("ampersand", *"tool:e err", "enter")
    assert snap_compare(app(theme), terminal_size=size, run_before=keys)


@sized
def test_filter_box(snap_compare: Compare, size: tuple[int, int]) -> None:
    keys = after("ampersand", *"tool:search tier>=warn")
    assert snap_compare(app(), terminal_size=size, run_before=keys)


def test_nothing_found(snap_compare: Compare) -> None:
    keys = after("ampersand", *"nowhere", "enter")
    assert snap_compare(app(), terminal_size=(80, 24), run_before=keys)


@looks
def test_bookmarks(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    keys = after("g", "B", "j", "j", "B", "L")
    made = app(theme)
    made.notify = lambda *_, **__: None
    assert snap_compare(made, terminal_size=size, run_before=keys)


@looks
def test_sizes_of_ones_own(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    keys = after(*["greater_than_sign"] * 2, *["left_curly_bracket"] * 2)
    made = app(theme)
    made.notify = lambda *_, **__: None
    assert snap_compare(made, terminal_size=size, run_before=keys)


@looks
def test_what_if(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    async def answered(pilot: Pilot[None]) -> None:
        await after("p")(pilot)
        await pilot.app.workers.wait_for_complete()
        await after("j")(pilot)

    assert snap_compare(app(theme), terminal_size=size, run_before=answered)


@themed
def test_sessions_that_lost_events(snap_compare: Compare, theme: str) -> None:
    assert snap_compare(lossy(theme), terminal_size=(80, 24), run_before=after("s"))


@sized
def test_approved_late(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(late(), terminal_size=size, run_before=after("k"))
