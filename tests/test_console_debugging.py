"""Breakpoints, notes, labels, what-if, and what is done to whole sessions."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from textual.pilot import Pilot

import console_scene
from console_scene import Nobody
from driving import carried, drive, labelled, loop
from loopguard_console.app import ConsoleApp
from loopguard_console.opening import replay_app
from loopguard_console.remembered import Remembered
from loopguard_console.screens.main import MainScreen
from loopguard_console.screens.whatif import WhatIf
from loopguard_console.whatif import answers, every_policy, read_policy
from loopguard_core.config import Config
from loopguard_core.policies.options import PolicyError
from loopguard_core.traits import TraitTable


def test_breakpoints_notes_and_labels_reach_the_log() -> None:
    nobody = Nobody()

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("b", *"tool:rm", "enter")
        await pilot.press("semicolon", *"here", "enter")
        await pilot.press("l", "right", "enter")
        await carried(app, pilot)
        session, call = "6f1c2a90", "6f1c2a90-6"
        assert nobody.said == [
            ("hold", session, "tool:rm"),
            ("note", session, (call, "here")),
            ("label", session, (call, "was fine")),
        ]

    drive(step, console_scene.live(nobody))


def test_playing_a_recording_stops_at_a_breakpoint() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("g", "b", *"tool:search", "enter")
        await pilot.press(*["plus"] * 3, "space")
        view = app.desk.view
        assert view is not None
        screen = app.screen
        assert isinstance(screen, MainScreen)
        while screen.playing:
            await asyncio.sleep(0.02)
        assert view.cursor == 2
        await pilot.press("I")
        assert view.held == ""

    drive(step)


@pytest.mark.slow
def test_what_if_answers_for_every_policy_and_for_typed_thresholds() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("p")
        await carried(app, pilot)
        screen = app.screen
        assert isinstance(screen, WhatIf)
        found = {answer.policy: answer for answer in screen._answers}
        assert set(found) == set(every_policy())
        assert found["graded"].words.startswith("first warn #4 · block #5 · halt #6")
        await pilot.press("t", *'graded {"block_at": 3, "warn_at": 2, "halt_at": 9}', "enter")
        await carried(app, pilot)
        assert max(screen._answers[-1].tiers) == 2
        await pilot.press("t", *"nonsense", "enter")
        await carried(app, pilot)
        assert "nonsense" in screen._wrong
        await pilot.press("escape")

    drive(step)


def test_what_if_holds_what_people_said_against_every_policy() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("p")
        await carried(app, pilot)
        lines = str(app.screen.query_one("#lines").render())
        assert "misses 1 of 2 labelled stuck" in lines
        assert "stops 1 of 1 labelled fine" in lines

    graded = Config({"policy": "graded"})
    drive(step, replay_app(labelled(), title="labelled.jsonl", config=graded))


def test_what_if_without_a_screen() -> None:
    one = answers(loop(), {"graded": read_policy("graded")[1]}, TraitTable())[0]
    assert list(one.tiers) == [0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 0]
    for wrong in ("graded {", "graded []", 'graded {"blok_at": 3}'):
        with pytest.raises(PolicyError):
            read_policy(wrong)


def test_sessions_are_filtered_pinned_renamed_and_deleted(tmp_path: Path) -> None:
    nobody = Nobody()
    place = tmp_path / "console.json"

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("f", *"ended", "enter")
        assert [s.session for _, s in app.desk.tree()] == ["19aa34c0"]
        await pilot.press("f", "enter")
        assert len(app.desk.tree()) == 4
        await pilot.press("R", *"my run", "enter", "P")
        assert app.title_of("6f1c2a90") == "my run"
        await pilot.press("D")  # it runs
        assert len(app.screen_stack) == 2
        app.select("19aa34c0")
        await pilot.press("P", "D", "enter")
        await carried(app, pilot)
        assert nobody.said == [("delete", "19aa34c0", "")]

    app = console_scene.live(nobody)
    app.remembered = Remembered(place)
    app.desk.pinned, app.desk.named = app.remembered.pinned, app.remembered.name_of
    drive(step, app)
    kept = json.loads(place.read_text())
    assert kept["names"] == {"6f1c2a90": "my run"} and list(kept["pins"]) == ["6f1c2a90"]
    assert place.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", ["", "[]", '{"names": 3, "notes": {"x": 7}}', "{" * 5000])
def test_a_broken_memory_is_no_memory(tmp_path: Path, content: str) -> None:
    place = tmp_path / "console.json"
    place.write_text(content)
    memory = Remembered(place)
    assert memory.name_of("s") == "" and not memory.pinned("s") and memory.notes("x") == []
    memory.noted("x", "again")
    memory.noted("x", "first")
    memory.noted("x", "again")
    assert Remembered(place).notes("x") == ["again", "first"]
