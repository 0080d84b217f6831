"""One table of actions: every action can be reached, by keys that do not collide, and is explained."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from textual.pilot import Pilot

import console_scene
from loopguard_console.app import ConsoleApp
from loopguard_console.keys.actions import ACTIONS, Action, actions_of, key_table
from loopguard_console.keys.bindings import bindings
from loopguard_console.opening import replay_app
from loopguard_console.screens.inbox import InboxScreen
from loopguard_console.screens.main import MainScreen

PLACES = {"main": MainScreen, "live": MainScreen, "replay": MainScreen, "inbox": InboxScreen}


@pytest.mark.parametrize("action", ACTIONS, ids=lambda a: a.id)
def test_an_action_is_carried_out_where_it_is_offered(action: Action) -> None:
    assert action.help.endswith(".") and action.title and action.keys
    for place in action.where:
        owner = ConsoleApp if place == "everywhere" else PLACES[place]
        assert hasattr(owner, f"action_{action.id}"), place


@pytest.mark.parametrize("places", [("main", "live"), ("main", "replay"), ("inbox",)])
def test_no_key_has_two_meanings_in_one_place(places: tuple[str, ...]) -> None:
    keys = Counter(key for action in actions_of(*places) for key in action.keys)
    assert [key for key, times in keys.items() if times > 1] == []


def test_bindings_carry_the_tables_ids_so_that_keys_can_be_remapped() -> None:
    made = bindings("main", "live", "inbox", "replay", "everywhere")
    assert {b.id for b in made} == {a.id for a in ACTIONS}
    assert all(b.tooltip for b in made)


def test_the_manual_has_the_table_of_keys() -> None:
    manual = Path(__file__).parents[1] / "docs" / "console.md"
    assert key_table() in manual.read_text("utf-8"), "run: python -m loopguard_console.keys.actions"


def test_help_and_palette_name_every_action_of_the_place() -> None:
    async def run(app: ConsoleApp, places: tuple[str, ...], press: str = "") -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            if press:
                await pilot.press(press)
            commands = {c.title for c in app.get_system_commands(app.screen)}
            for action in actions_of(*places):
                if action.id not in ("quit", "help", "command_palette"):
                    assert action.title.capitalize() in commands
            await pilot.press("question_mark")
            await pilot.pause()
            shown = str(app.screen.query_one("#help Static").render())
            for action in actions_of(*places):
                assert action.title in shown
            await pilot.press("escape")

    asyncio.run(run(console_scene.live(), ("main", "live")))
    asyncio.run(run(console_scene.live(), ("inbox",), "i"))
    asyncio.run(run(replay_app([], title="empty"), ("main", "replay")))


@pytest.mark.slow
def test_no_key_of_the_table_ends_the_console_with_an_error() -> None:
    async def run(app: ConsoleApp) -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await every_key(app, pilot)

    async def every_key(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.pause()
        for action in ACTIONS:
            if action.id in ("quit", "pager", "copy"):
                continue
            await pilot.press(action.keys[0])
            while len(app.screen_stack) > 2:
                app.pop_screen()
                await pilot.pause()

    for app in (console_scene.live(), replay_app([], title="empty")):
        asyncio.run(run(app))
