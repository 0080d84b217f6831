"""Reaching the person and what they look for: bell, search over all sessions, their editor, their keys."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import console_scene
from console_scene import Nobody
from driving import recording
from loopguard_console.bell import Bell
from loopguard_console.editing import EditorError, edit
from loopguard_console.opening import live_app
from loopguard_console.remembered import Remembered
from loopguard_core.events import Event
from loopguard_core.store.door import open_store


def test_the_bell_rings_once_for_a_request_and_not_too_often() -> None:
    bell = Bell("x")
    assert bell.orders([], 0.0, muted=False) == []
    first = bell.orders(["R1"], 1.0, muted=False)
    assert first == ["\x07", "\x1b]2;x: 1 waiting\x07"] and bell.news == {"R1"}
    assert bell.orders(["R1"], 9.0, muted=False) == []
    assert bell.orders(["R1", "R2"], 9.1, muted=False)[0].startswith("\x07")
    assert bell.news == {"R2"}
    assert bell.orders(["R2", "R3"], 9.2, muted=False) == []  # too soon
    assert not bell.news
    assert bell.orders(["R2", "R3"], 13.0, muted=False)[0].startswith("\x07")
    assert bell.news == {"R3"}
    assert bell.orders(["R4"], 20.0, muted=True) == ["\x1b]2;x: 1 waiting\x07"]
    assert not bell.news
    assert bell.orders([], 21.0, muted=False) == ["\x1b]2;x\x07"]


def test_search_over_all_sessions_goes_to_the_call(tmp_path: Path) -> None:
    place = str(tmp_path / "events.db")
    store = open_store(place)
    for session in ("one", "two"):
        store.append(Event("session_start", session, ts=1.0, data={"agent": "a"}))
        for number in range(3):
            data: dict[str, Any] = {
                "call": f"{session}{number}",
                "tool": "t",
                "message": str(number),
            }
            data |= {"args": {"q": f"{session} needle{number}"}}
            store.append(Event("call_start", session, ts=2.0, data=data))
    store.close()

    async def run() -> None:
        app = live_app(place)
        async with app.run_test(size=(120, 40)) as pilot:
            while not app.desk.sessions:
                await pilot.pause(0.05)
            await pilot.press("ctrl+f", *"two needle1", "enter")
            await app.workers.wait_for_complete()
            await pilot.pause()
            await pilot.press("enter")
            while app.desk.current != "two" or app.desk.view is None or app.desk.view.cursor != 1:
                await pilot.pause(0.05)

    asyncio.run(run())


def test_the_editor_of_the_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    script = tmp_path / "my editor.py"
    script.write_text(
        "import sys\np = sys.argv[-1]\nt = open(p).read()\nopen(p, 'w').write(t.upper())\n"
    )
    monkeypatch.setenv("EDITOR", f"'{sys.executable}' '{script}'")
    assert edit('{"q": 1}') == '{"Q": 1}'
    for wrong in ("/no/such/editor", "false", "'"):
        monkeypatch.setenv("EDITOR", wrong)
        with pytest.raises(EditorError):
            edit("x")


def test_keys_can_be_other_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopguard_console.keys.arming.ON_SCREEN", -600.0)
    place = tmp_path / "console.json"
    place.write_text(json.dumps({"keys": {"approve": "y", "no such action": "z", "deny": 3}}))
    nobody = Nobody()

    async def run() -> None:
        app = console_scene.live(nobody)
        app.remembered = Remembered(place)
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            await pilot.press("a", "y")
            await app.workers.wait_for_complete()
            await pilot.pause()

    asyncio.run(run())
    assert [what for what, _, _ in nobody.said] == ["approve"]


def test_a_recording_has_no_other_sessions_to_search() -> None:
    async def run() -> None:
        app = recording()
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("ctrl+f")
            assert len(app.screen_stack) == 2

    asyncio.run(run())
