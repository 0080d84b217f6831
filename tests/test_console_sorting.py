"""The order of the sessions: by key and by palette, remembered, the whole tree counts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import console_scene
from driving import recording
from loopguard_console.app import ConsoleApp
from loopguard_console.desk import Desk
from loopguard_console.feed import Batch
from loopguard_console.remembered import Remembered
from loopguard_console.viewing.arranging import LIVE_ORDERS, REPLAY_ORDERS, roll_up
from loopguard_console.widgets.pane import Pane
from loopguard_core.store.contract import Session


def known(name: str, parent: str = "", **more: object) -> Session:
    session = Session(name)
    session.parent, session.agent = parent, name
    for field, value in more.items():
        setattr(session, field, value)
    return session


SESSIONS = (
    known("delta", calls=9, worst=0, first_ts=1.0, last_ts=40.0),
    known("alpha", calls=5, worst=1, first_ts=2.0, last_ts=20.0),
    known("Bravo", calls=7, worst=3, first_ts=3.0, last_ts=10.0, waiting=1),
    known("coda", calls=1, worst=0, first_ts=4.0, last_ts=5.0),
    known("child", "coda", calls=2, worst=2, first_ts=5.0, last_ts=50.0, waiting=1),
    known("twin", "coda", calls=8, worst=0, first_ts=6.0, last_ts=6.0),
)
STATE = {"delta": "live", "alpha": "ended", "Bravo": "lost", "coda": "quiet", "child": "live"}


def desk() -> Desk:
    made = console_scene.empty_desk()
    made.take(Batch(100.0, SESSIONS, dict(STATE)))
    return made


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("waiting", "coda child twin Bravo delta alpha"),
        ("last active", "coda child twin delta alpha Bravo"),
        ("name", "alpha Bravo coda child twin delta"),
        ("calls", "delta Bravo alpha coda twin child"),
        ("worst tier", "Bravo coda child twin alpha delta"),
        ("started", "coda twin child Bravo alpha delta"),
        ("no such order", "coda child twin Bravo delta alpha"),
    ],
)
def test_orders(order: str, expected: str) -> None:
    made = desk()
    made.arrange(order=order)
    assert [s.session for _, s in made.tree()] == expected.split()
    assert [depth for depth, s in made.tree() if s.parent] == [1, 1]


def test_pins_come_first_and_the_tree_follows_what_changes() -> None:
    made = desk()
    made.pinned = lambda session: session == "alpha"
    made.arrange()
    assert made.tree()[0][1].session == "alpha"
    made.take(Batch(101.0, SESSIONS[:2], {"delta": "live", "alpha": "ended"}))
    assert [s.session for _, s in made.tree()] == ["alpha", "delta"]
    made.arrange(filter="live")
    assert [s.session for _, s in made.tree()] == ["delta"]


def test_parents_that_go_in_a_circle_end() -> None:
    circle = [known("a", "b", worst=1), known("b", "a", worst=2), known("c", "c", worst=3)]
    assert {name: sum_.worst for name, sum_ in roll_up(circle).items()} == {"a": 2, "b": 2, "c": 3}


def sessions_title(app: ConsoleApp) -> str:
    return str(app.screen_stack[1].query_one("#sessions-title", Pane).render())


def test_the_order_is_chosen_by_key_and_palette_shown_and_remembered(tmp_path: Path) -> None:
    place = tmp_path / "console.json"

    async def run() -> None:
        app = console_scene.live()
        app.remembered = Remembered(place)
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            assert sessions_title(app) == "SESSIONS by waiting"
            seen = []
            for _ in LIVE_ORDERS:
                await pilot.press("S")
                await pilot.pause()
                seen.append(app.desk.order)
                assert sessions_title(app) == f"SESSIONS by {app.desk.order}"
            assert seen == [*LIVE_ORDERS[1:], LIVE_ORDERS[0]]
            commands = {c.title: c.callback for c in app.get_system_commands(app.screen)}
            for order in LIVE_ORDERS:
                assert f"Sort sessions: {order}" in commands
            commands["Sort sessions: calls"]()
            await pilot.pause()
            assert app.desk.order == "calls"
            await pilot.press("f", *"ended", "enter")
            await pilot.pause()
            assert sessions_title(app) == "SESSIONS 1/4 by calls"
        again = ConsoleApp(console_scene.empty_desk(), source="x", remembered=Remembered(place))
        assert again.desk.order == "calls"

    asyncio.run(run())


def test_a_recording_stands_as_recorded_unless_another_order_is_chosen() -> None:
    async def run() -> None:
        app = recording()
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            assert sessions_title(app) == "SESSIONS" and app.desk.orders == REPLAY_ORDERS
            await pilot.press("S", "S", "S")
            await pilot.pause()
            assert sessions_title(app) == "SESSIONS by calls"

    asyncio.run(run())


def test_thousands_of_sessions_are_put_together_once_not_for_every_key() -> None:
    made = console_scene.empty_desk()
    many = tuple(known(f"s{n}", calls=n % 50, first_ts=float(n)) for n in range(3_000))
    made.take(Batch(100.0, many, {}))
    made.select("s1500")
    first = made.tree()
    assert made.tree() is first
    made.neighbour(1)
    assert made.tree() is first
