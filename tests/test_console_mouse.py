"""The mouse: lines, the transport, and the keys in the last line."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

import console_scene
from console_scene import Nobody
from driving import recording
from loopguard_console.app import Arrived
from loopguard_console.desk import REPLACED
from loopguard_console.feed import Batch
from loopguard_console.screens.help import Help


def test_a_click_selects_seeks_and_presses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopguard_console.keys.arming.ON_SCREEN", -600.0)

    async def replay() -> None:
        app = recording()
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            view = app.desk.view
            assert view is not None
            await pilot.click("#chain", offset=(10, 2))
            await pilot.pause()
            assert view.cursor == 1
            await pilot.click("#transport", offset=(60, 0))
            await pilot.pause()
            assert view.cursor > 3
            while "help" not in str(app.screen.query_one("#keys").render()):
                await pilot.pause(0.02)
            where = str(app.screen.query_one("#keys").render()).index("help")
            await pilot.click("#keys", offset=(where, 0))
            await pilot.pause()
            assert isinstance(app.screen, Help)

    async def live() -> None:
        nobody = Nobody()
        app = console_scene.live(nobody)
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            await pilot.click("#inbox", offset=(8, 0))
            await pilot.pause()
            assert app.desk.current == "b07d11e4"
            await pilot.click("#sessions", offset=(8, 0))
            await pilot.pause()
            while "approve" not in str(app.screen.query_one("#keys").render()):
                await pilot.pause(0.02)
            where = str(app.screen.query_one("#keys").render()).index("approve")
            await pilot.click("#keys", offset=(where, 0))
            await app.workers.wait_for_complete()
            assert len(nobody.said) == 1

    asyncio.run(replay())
    asyncio.run(live())


def test_every_key_in_the_last_line_can_be_clicked() -> None:
    async def run(name: str) -> str:
        app = recording()
        async with app.run_test(size=(200, 40)) as pilot:
            await pilot.pause()
            while name not in (bar := str(app.screen.query_one("#keys").render())):
                await pilot.pause(0.02)
            before = app.screen
            await pilot.click("#keys", offset=(bar.index(name), 0))
            while app.screen is before:
                await pilot.pause(0.02)
            return type(app.screen).__name__

    assert asyncio.run(run("palette")) == "Palette"
    assert asyncio.run(run("search")) == "SearchBox"
    assert asyncio.run(run("what if")) == "WhatIf"


def test_a_store_that_is_emptied_while_it_is_watched_leaves_the_console_standing() -> None:
    async def run() -> None:
        app = console_scene.live()
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()
            app.post_message(Arrived(console_scene.batch()))
            while not app.screen.query_one("#welcome").display:
                await pilot.pause(0.02)
            one, waits = console_scene.research()
            app.post_message(Arrived(console_scene.batch(one, waiting=(waits,))))
            while app.screen.query_one("#welcome").display:
                await pilot.pause(0.02)
            assert REPLACED not in [n.message for n in app._notifications]
            gone = dataclasses.replace(console_scene.batch(), anew=(one.session,))
            app.post_message(Arrived(gone))
            while REPLACED not in [n.message for n in app._notifications]:
                await pilot.pause(0.02)
            app.post_message(
                Arrived(Batch(console_scene.NOW, error="the store is locked [/]\x1b[2J"))
            )
            while "locked [/]\\x1b[2J" not in str(app.screen.query_one("#error").render()):
                await pilot.pause(0.02)

    asyncio.run(run())
