"""A console that is kept open goes on to the next agent, and puts what an agent waits for first."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

import console_scene
from driving import drive
from loopguard_console.app import Arrived, ConsoleApp
from loopguard_console.desk import Desk
from loopguard_console.feed import Batch
from loopguard_console.screens.inbox import InboxScreen
from loopguard_console.widgets.pane import Pane
from loopguard_core.store.contract import Request, Session
from loopguard_core.verdict import Tier


def known(name: str, first: float, parent: str = "") -> Session:
    session = Session(name)
    session.agent, session.first_ts, session.last_ts, session.parent = name, first, first, parent
    return session


OLD, NEW, CHILD = known("old", 1.0), known("new", 2.0), known("child", 3.0, "new")


def desk(state: str) -> Desk:
    made = console_scene.empty_desk()
    made.take(Batch(10.0, (OLD,), {"old": state}))
    return made


@pytest.mark.parametrize("state", ["ended", "lost"])
def test_the_agent_that_began_after_the_one_on_the_screen_was_over_comes_next(state: str) -> None:
    made = desk("live")
    made.take(Batch(11.0, (OLD,), {"old": state}))
    assert made.successor == ""
    made.take(Batch(12.0, (OLD, NEW, CHILD), {"old": state, "new": "live", "child": "live"}))
    assert made.successor == "new"
    made.select("new")
    assert made.successor == ""


def test_nobody_is_taken_from_an_agent_that_runs() -> None:
    made = desk("live")
    made.take(Batch(12.0, (OLD, NEW), {"old": "live", "new": "live"}))
    made.take(Batch(13.0, (OLD, NEW), {"old": "ended", "new": "live"}))
    assert made.successor == ""


def test_what_is_imported_is_no_agent_that_began() -> None:
    made = desk("ended")
    made.take(Batch(12.0, (OLD, NEW), {"old": "ended", "new": "ended"}))
    assert made.successor == ""


def test_a_session_that_the_store_no_longer_has_leaves_the_screen() -> None:
    made = desk("live")
    made.take(Batch(11.0))
    assert made.current == ""
    made.take(Batch(12.0, (NEW,), {"new": "live"}))
    assert made.current == "new"


@pytest.mark.parametrize(("key", "shown"), [("", "next"), ("F", "6f1c2a90")])
def test_the_console_goes_on_where_the_end_is_followed(key: str, shown: str) -> None:
    log, _ = console_scene.research()
    first = console_scene.batch(log)
    other = known("next", 9e9)

    async def look(app: ConsoleApp, pilot: Pilot[None]) -> None:
        over = dict(first.state) | {log.session: "ended"}
        app.post_message(Arrived(Batch(first.now, first.sessions, over, (), first.events)))
        await pilot.pause()
        app.select(log.session)
        await pilot.pause()
        if key:
            await pilot.press(key)
        sessions = (*first.sessions, other)
        app.post_message(Arrived(Batch(first.now, sessions, over | {"next": "live"})))
        await pilot.pause(0.5)

    app = console_scene.live(console_scene.Nobody())
    drive(look, app, size=(80, 24))
    assert app.desk.current == shown


def request(name: str, tier: Tier, opened: float, resolution: str = "") -> Request:
    _, made = console_scene.research()
    made.request, made.tier, made.opened_ts, made.resolution = name, tier, opened, resolution
    return made


def test_what_waits_comes_before_what_nobody_answered_in_time() -> None:
    late, block, halt = (
        request("R1", Tier.HALT, 1.0, "expired"),
        request("R2", Tier.BLOCK, 2.0),
        request("R3", Tier.HALT, 3.0),
    )
    made = desk("live")
    made.take(Batch(10.0, (OLD,), {"old": "live"}, (late, block, halt)))
    assert [r.request for r in made.waiting] == ["R3", "R2", "R1"]
    first = made.next_waiting("")
    assert first is not None and first.request == "R3"


def test_the_inbox_counts_what_is_late_apart() -> None:
    titles: list[str] = []

    async def look(app: ConsoleApp, pilot: Pilot[None]) -> None:
        app.desk.waiting[-1].resolution = "expired"
        app.desk.waiting[-1].late_until = console_scene.NOW + 300.0
        await pilot.press("i")
        await pilot.pause()
        assert isinstance(app.screen, InboxScreen)
        titles.append(str(app.screen.query_one("#requests-title", Pane).render()))

    drive(look, console_scene.live(console_scene.Nobody()), size=(80, 24))
    assert "1 waiting · 1 late" in titles[0]
