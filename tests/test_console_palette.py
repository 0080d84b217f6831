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
from loopguard_console import arming
from loopguard_console.app import ConsoleApp
from loopguard_console.palette import Palette


def test_enter_right_behind_the_words_never_decides_what_stood_there_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Approve is the first command of the list that is there before anything is typed."""
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
        await pilot.pause(0.3)
        first = app.screen.query_one(CommandList).get_option_at_index(0)
        assert "Approve" in str(first.prompt)
        monkeypatch.setattr(Palette, "_search_for", slow)
        await pilot.press(*"mute", "enter")
        while not app.muted and not nobody.said:
            await pilot.pause(0.02)
        assert app.muted
        assert not nobody.said

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
