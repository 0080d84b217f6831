"""Bookmarks: set, found again, listed, kept for the next time."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

import console_scene
from driving import cursor, drive, recording
from loopguard_console.app import ConsoleApp
from loopguard_console.remembered import BOOKMARKED, Remembered
from loopguard_console.screens.bookmarks import BookmarkList
from loopguard_console.viewing.places import Bookmarks, places
from loopguard_console.widgets.chain import Chain


def flags(app: ConsoleApp) -> list[str]:
    chain = app.screen_stack[1].query_one(Chain)
    return [chain.render_line(n).text[2] for n in range(chain.count())]


def test_bookmarks_are_set_gone_to_and_taken_away() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("apostrophe")  # none yet: said
        assert "B sets one" in [n.message for n in app._notifications][-1]
        await pilot.press("g", "B", "G", "B", "g")
        places_ = []
        for key in ("apostrophe", "apostrophe", "quotation_mark", "quotation_mark"):
            await pilot.press(key)
            places_.append(cursor(app))
        assert places_ == [10, 0, 10, 0]
        await pilot.pause()
        assert flags(app) == [" ", "◆", " ", " ", "◆"]
        await pilot.press("B")
        await pilot.pause()
        assert flags(app) == [" ", " ", " ", " ", "◆"]

    drive(step)


def test_a_fold_shows_that_a_bookmark_is_in_it_and_opens_to_it() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        view = app.desk.view
        assert view is not None
        view.bookmarks.toggle(view.recording, 5)
        await pilot.press("g", "k")
        await pilot.pause(0.1)
        assert flags(app)[3] == "◆"
        lines = len(view.lines)
        await pilot.press("apostrophe")
        assert cursor(app) == 5 and len(view.lines) > lines

    drive(step)


def test_the_list_goes_to_the_call_and_says_what_to_do_where_it_is_empty() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("L")
        assert isinstance(app.screen, BookmarkList)
        assert "B marks" in str(app.screen.query_one("#says").render())
        await pilot.press("escape", "g", "j", "B", "G", "B", "L", "enter")
        assert cursor(app) == 1
        await pilot.press("L", "down", "enter")
        assert cursor(app) == 10
        await pilot.press("L", "q")
        assert len(app.screen_stack) == 2

    drive(step)


def test_notes_and_labels_stand_in_the_list_at_the_call_they_are_about() -> None:
    log, _ = console_scene.research()
    log.add("note", on="6f1c2a90-3", text="no such page")
    log.add("label", on="6f1c2a90-5", text="stuck")
    log.add("note", on="gone", text="about nothing")
    desk = console_scene.empty_desk()
    desk.append(log.session, log.events)
    found = places(desk.views[log.session].recording, Bookmarks([], lambda _: None))
    assert [(p.row, p.said) for p in found] == [
        (2, "◆ note no such page"),
        (4, "◆ label stuck"),
        (5, "◆ note about nothing"),
    ]


def test_bookmarks_of_a_recording_are_there_the_next_time(tmp_path: Path) -> None:
    place = tmp_path / "console.json"

    async def mark(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("g", "j", "B")

    async def look(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("G", "apostrophe")
        assert cursor(app) == 1

    for step in (mark, look):
        app = recording()
        again = ConsoleApp(app.desk, source="loop.jsonl", remembered=Remembered(place))
        drive(step, again)
    memory = Remembered(place)
    for number in range(BOOKMARKED + 5):
        memory.keep_bookmarks(f"s{number}", [number])
    assert memory.bookmarks("loop.jsonl") == [] and memory.bookmarks("s204") == [204]
    memory.forget("s204")
    assert memory.bookmarks("s204") == []


def test_what_cannot_be_kept_is_said_once_with_the_place(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.write_text("no folder")
    app = recording()
    app.remembered = Remembered(folder / "console.json")

    async def mark(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("g", "j", "B", "j", "B")
        await pilot.pause()
        said = [n.message for n in app._notifications if str(folder) in n.message]
        assert len(said) == 1 and "cannot be written" in said[0]
        await pilot.press("G", "apostrophe")
        assert cursor(app) == 1, "it is kept as long as the console is open"

    drive(mark, app)


@pytest.mark.parametrize("broken", ['{"bookmarks": 3}', '{"bookmarks": {"s": ["x", 4]}}'])
def test_broken_bookmarks_are_none(tmp_path: Path, broken: str) -> None:
    place = tmp_path / "console.json"
    place.write_text(broken)
    assert Remembered(place).bookmarks("s") in ([], [4])
