"""Keys that a person chose are the ones that are shown: in the footer, on the card, in help and palette."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

import console_scene
from console_scene import Nobody
from driving import carried, drive
from loopguard_console.app import ConsoleApp
from loopguard_console.keys import arming
from loopguard_console.remembered import Remembered
from loopguard_console.widgets.keys import KeyBar


def test_a_chosen_key_is_shown_wherever_the_usual_one_would_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arming, "ON_SCREEN", -600.0)
    monkeypatch.setattr(arming, "AFTER_DECISION", 0.0)
    kept = tmp_path / "console.json"
    kept.write_text(json.dumps({"keys": {"approve": "V", "deny": "n, ctrl+n"}}))
    nobody = Nobody()
    old = console_scene.live(nobody)
    app = ConsoleApp(
        old.desk,
        source="store",
        decider=nobody,
        remembered=Remembered(kept),
        theme="loopguard-dark",
    )

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        shown = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        assert " V approve " in shown and " n deny " in shown
        assert " a approve " not in shown and " d deny " not in shown
        assert " V approve " in str(app.screen.query_one(KeyBar).render())
        commands = {c.title: c.help for c in app.get_system_commands(app.screen)}
        assert commands["Approve"].startswith("V · ")
        await pilot.press("question_mark")
        await pilot.pause()
        text = str(app.screen.query_one("#help Static", Static).render())
        assert "V        approve" in text and "n ^N     deny" in text
        await pilot.press("escape", "V")
        await carried(app, pilot)
        assert [(what, which) for what, which, _ in nobody.said] == [("approve", "R7")]

    drive(step, app)
