"""What nobody answered in time, in the console: it is denied there too, and comes after what really waits."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

import console_scene
from console_scene import NOW, Log, Nobody
from driving import carried, drive
from loopguard_console.app import Arrived, ConsoleApp
from loopguard_console.deciding import Decider
from loopguard_console.inspector.card import Asking, request_card
from loopguard_console.keys import arming
from loopguard_console.screens.dialogs import Dialog
from loopguard_core import escape
from loopguard_core.store.contract import Request
from sessions import call, loop, session, store_in


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arming, "ON_SCREEN", -600.0)
    monkeypatch.setattr(arming, "AFTER_DECISION", 0.0)


def late(asked: Request) -> Request:
    asked.resolution, asked.late_until = "expired", NOW + 300.0
    return asked


@pytest.mark.parametrize("keys", ["", "i"])
def test_a_late_request_is_denied_with_its_key(keys: str) -> None:
    nobody = Nobody()
    app = console_scene.live(nobody)
    for request in app.desk.waiting:
        late(request)
    (first, *_) = app.desk.waiting

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press(*(keys or "w"))
        await pilot.press("d")
        await pilot.pause()
        assert isinstance(app.screen, Dialog)
        says = str(app.screen.query_one("#says", Static).render())
        assert "Its next try is asked about again" in says
        await pilot.press(*"no", "enter")
        await carried(app, pilot)
        assert nobody.said == [("deny", first.request, "no")]

    drive(step, app)


def test_the_console_says_what_a_late_no_does(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with session(store, mode="enforce") as live:
        loop(live, 3)
        (asked,) = escape.waiting(store)
        decider = Decider(store)
        decider.approve(asked)
        said = decider.deny(asked, "no")
        assert (
            said == "R1 denied late, the late approval is taken back: its next try is asked about"
        )
        assert not call(live).run


@pytest.mark.parametrize(("width", "height"), [(76, 9), (140, 40)])
def test_the_card_promises_only_what_can_happen_when_nobody_waits(width: int, height: int) -> None:
    _, asked = console_scene.research()
    waits = request_card(Asking(asked, 43.0, True), width, height).plain
    said = request_card(Asking(late(asked), 300.0, True), width, height).plain
    assert "modify" in waits and "modify" not in said
    assert (
        "the call runs" not in said and "refuse this and" not in said and "its result" not in said
    )
    for name in ("approve", "deny", "override", "reset", "halt"):
        assert name in said


def test_the_key_goes_to_what_waits_and_only_then_to_what_is_late() -> None:
    app = console_scene.live(Nobody())
    first, second = app.desk.waiting
    assert app.desk.next_waiting(first.request) is second
    late(second)
    assert app.desk.next_waiting("") is first
    assert app.desk.next_waiting(first.request) is first
    assert app.desk.next_waiting(second.request) is first
    late(first)
    assert app.desk.next_waiting(first.request) is second


def test_the_key_finds_the_call_that_waits_in_a_session_that_was_not_read_yet() -> None:
    log = Log("19aa", "writer")
    for _ in range(2):
        log.call("search", console_scene.QUERY)
    asked = log.ask("R9", log.start("search", console_scene.QUERY), "block")
    for path in "abc":
        log.call("read_file", {"path": path})
    app = console_scene.live(Nobody())
    others = list(app.desk.sessions)
    known = console_scene.batch(log, waiting=(asked,))
    app.desk.sessions = [*others, *known.sessions[:1]]
    app.desk.waiting = [asked]

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("w")
        await pilot.pause()
        assert app.desk.current == "19aa" and app.desk.view is None
        app.post_message(Arrived(known))
        for _ in range(500):
            await pilot.pause(0.02)
            if app.desk.view is not None and app.desk.view.cursor == 2:
                break
        assert app.desk.view is not None and app.desk.view.cursor == 2
        assert not app.desk.view.following

    drive(step, app)
