"""The palette runs what was asked for, and pictures of the screen go where exports go."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual.command import CommandList
from textual.pilot import Pilot

import console_scene
from console_scene import Nobody
from driving import drive
from loopguard_console.app import ConsoleApp
from loopguard_console.keys import arming
from loopguard_console.keys.palette import Palette


def test_enter_right_behind_the_words_never_decides_what_stood_there_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is chosen before anything is typed goes back by a call, which would be seen."""
    monkeypatch.setattr(arming, "ON_SCREEN", -600.0)
    monkeypatch.setattr(arming, "AFTER_DECISION", 0.0)
    nobody = Nobody()
    search = Palette._search_for

    async def slow(self: Palette, value: str):  # type: ignore[no-untyped-def]
        if value:
            await asyncio.sleep(0.3)
        aborted = False
        found = search(self, value)
        async for hit in found:
            aborted = yield hit
            if aborted:
                return

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+p")
        while (
            not app.screen.query(CommandList) or not app.screen.query_one(CommandList).option_count
        ):
            await pilot.pause(0.02)
        first = app.screen.query_one(CommandList).get_option_at_index(0)
        assert "Back" in str(first.prompt)
        view = app.desk.view
        assert view is not None
        before = view.cursor
        monkeypatch.setattr(Palette, "_search_for", slow)
        await pilot.press(*"mute", "enter")
        while not app.muted and not nobody.said:
            await pilot.pause(0.02)
        assert app.muted
        assert not nobody.said and view.cursor == before

    drive(step, console_scene.live(nobody))


def test_enter_before_anything_is_typed_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arming, "ON_SCREEN", -600.0)
    nobody = Nobody()

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+p")
        while not isinstance(app.screen, Palette):
            await pilot.pause(0.02)
        listed = app.screen.query_one(CommandList)
        while not listed.option_count:
            await pilot.pause(0.02)
        names = [str(listed.get_option_at_index(n).prompt) for n in range(listed.option_count)]
        places = [
            n for n, name in enumerate(names) if name.startswith(("Approve", "Halt", "Reset"))
        ]
        assert len(places) == 3 and places[0] > len(names) // 2
        view = app.desk.view
        assert view is not None
        before = view.cursor
        await pilot.press("enter")
        while view.cursor == before:  # the first goes back by a call
            await pilot.pause(0.02)
        assert not isinstance(app.screen, Palette) and not nobody.said

    drive(step, console_scene.live(nobody))


def test_a_picture_of_the_screen_goes_where_exports_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        app.deliver_screenshot()
        await pilot.pause()
        said = [str(n.message) for n in app._notifications]
        assert f"written: {tmp_path / 'loopguard.svg'}" in said
        app.deliver_screenshot(path=str(tmp_path / "nowhere"))
        await pilot.pause()
        assert "cannot be written" in [str(n.message) for n in app._notifications][-1]

    drive(step)
    (written,) = tmp_path.iterdir()
    assert written.stat().st_mode & 0o777 == 0o600
    assert "SESSIONS" in written.read_text()
