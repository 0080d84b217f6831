"""A recording of several sessions opens on the one that has most to see, and says how to get to the others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from textual.pilot import Pilot

import console_scene
from driving import drive
from loopguard_console import opening
from loopguard_console.app import ConsoleApp
from loopguard_console.opening import replay_app
from loopguard_console.render import session_title
from loopguard_console.screens.inbox import InboxScreen
from loopguard_console.widgets.inbox import InboxList
from loopguard_console.widgets.sessions import SessionList
from loopguard_console.widgets.virtual import VirtualList
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.store.contract import Session


def session(name: str, repeats: int, calls: int = 3, parent: str = "") -> list[Event]:
    """One session of *calls* different calls, after which one call comes *repeats* times."""
    events = [Event("session_start", name, data={"agent": name, "parent": parent})]
    for n in [*range(calls), *[-1] * repeats]:
        data: dict[str, Any] = {"tool": "search", "args": {"n": n}, "result": f"page {n}"}
        events.append(Event("call", name, data=data))
    return events


def opened(*sessions: list[Event]) -> ConsoleApp:
    events = [event for its in sessions for event in its]
    return replay_app(events, title="run.jsonl", config=Config({"policy": "graded"}))


def shown(app: ConsoleApp) -> tuple[str, list[str]]:
    """The session on the screen once all is read, and what was said."""
    said: list[str] = []

    async def look(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await app.workers.wait_for_complete()
        await pilot.pause()
        said.extend(n.message for n in app._notifications)

    drive(look, app, size=(80, 24))
    return app.desk.current, said


WARNED, STOPPED, HALTED = ("warned", 2), ("stopped", 3), ("halted", 5)


@pytest.mark.parametrize("at_once", [1, 1_000])
@pytest.mark.parametrize(
    ("sessions", "first"),
    [
        ([("calm", 1), WARNED, HALTED, STOPPED], "halted"),
        ([HALTED, WARNED], "halted"),
        ([("calm", 1), WARNED, ("also", 2)], "warned"),  # alike: the first
        ([HALTED, ("longer", 9)], "longer"),  # as far, but more often
        ([("calm", 1), ("too", 1)], "calm"),
    ],
)
def test_the_session_with_most_to_see_is_opened(
    sessions: list[tuple[str, int]], first: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "AT_ONCE", at_once)  # the rest comes while the console is open
    current, said = shown(opened(*[session(name, repeats) for name, repeats in sessions]))
    assert current == first
    (hint,) = said
    assert hint.startswith(first) and f"of {len(sessions)} sessions" in hint
    assert "J goes to the next, s lists them" in hint


def test_a_child_that_has_most_to_see_is_opened_itself() -> None:
    assert shown(opened(session("lead", 1), session("scout", 4, parent="lead")))[0] == "scout"


def test_a_session_without_calls_is_not_the_one_to_open() -> None:
    assert shown(opened(session("empty", 0, 0), session("calm", 1)))[0] == "calm"


def test_one_session_alone_says_nothing() -> None:
    assert shown(opened(session("only", 4))) == ("only", [])


def test_who_has_begun_to_look_around_is_left_where_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opening, "AT_ONCE", 3)
    app = opened(session("calm", 1), session("other", 1), session("halted", 5))

    rest = app._rest
    assert rest is not None

    def slowly() -> Any:
        yield from rest
        app._keyed = 1.0  # a key came while it was read

    app._rest = slowly()
    assert shown(app) == ("calm", [])
    assert len(app.desk.sessions) == 3


def painted(shown: VirtualList) -> str:
    return "\n".join(s.text for s in shown.render_lines(shown.size.region)).strip()


def test_a_session_has_one_name_wherever_it_is_shown() -> None:
    """In the list, over the chain, in the inbox, in the hint that names the first of several."""
    desk = console_scene.empty_desk()
    (one, waits), (two, halts) = console_scene.research(), console_scene.fixer()
    desk.take(console_scene.batch(one, two, waiting=(waits, halts)))
    app = ConsoleApp(desk, source="s", decider=console_scene.Nobody())

    async def run() -> tuple[str, str, str]:
        async with app.run_test(size=(140, 40)) as pilot:
            while not (chain := str(app.screen.query_one("#chain-title").render())):
                await pilot.pause(0.02)
            lines = painted(app.screen.query_one(SessionList))
            await pilot.press("i")
            while not isinstance(app.screen, InboxScreen):
                await pilot.pause(0.02)
            while not (waiting := painted(app.screen.query_one(InboxList))):
                await pilot.pause(0.02)
            return lines, chain, waiting

    listed, chain, waiting = asyncio.run(run())
    title = "researcher 6f1c2a90"
    assert title in chain and title in waiting and title[:10] in listed
    assert desk.title(desk.sessions[0]) == title


def test_a_session_below_another_is_called_by_its_own_part() -> None:
    def title(name: str, parent: str = "", agent: str = "claude-code", called: str = "") -> str:
        session = Session(name)
        session.agent, session.parent, session.name = agent, parent, called
        return session_title(session, 40)

    top = "8c9343f8-4226-4064-977b-b7dfc7e05b40"
    assert title(top) == "claude-code 8c9343f8"
    assert title(f"{top}/a2e901541eff6b47e", top) == "claude-code a2e90154"
    assert title(f"{top}/a2e901541eff6b47e", top, called="general-purpose") == "general-purpose"
    assert title(f"{top}/scout", top, agent="scout") == "scout"
    assert title("nightly", agent="cron") == "nightly"


def test_a_recording_calls_a_subagent_by_the_name_that_it_tells() -> None:
    child = session("one/x", 1, parent="one")
    child[0].data["name"] = "general-purpose"
    desk = opened(session("one", 2), child).desk
    assert [desk.title(s) for s in desk.sessions] == ["one", "general-purpose"]
