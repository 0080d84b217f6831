"""A session that a person halted is called halted everywhere, and halting it again changes nothing."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from textual.pilot import Pilot

from commands import command
from console_scene import Nobody, batch, empty_desk, research
from driving import drive
from loopguard_console.app import ConsoleApp
from loopguard_console.deciding import Decider
from loopguard_console.desk import Desk
from loopguard_console.widgets.sessions import SessionList
from loopguard_core import escape
from loopguard_core.events import Event
from loopguard_core.store.contract import Store
from sessions import loop, session, store_in


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = store_in(tmp_path)
    begin(made, "s")
    begin(made, "s/child", parent="s")
    return made


def begin(store: Store, name: str, **data: object) -> None:
    store.append(Event("session_start", name, ts=time.time(), data={"agent": "tester", **data}))


def halts(store: Store, name: str = "s") -> int:
    return sum(event.type == "halt" for event in store.read(name))


def test_halting_twice_writes_one_mark_and_says_so(store: Store) -> None:
    escape.halt(store, session="s", by="you@desk", children=False)
    again = escape.halt(store, session="s", by="usr@desk", children=False)
    assert (again.sessions, [s.session for s in again.already], halts(store)) == ([], ["s"], 1)
    assert again.already[0].halted_by == "you@desk"


def test_halting_all_reaches_those_that_are_not_halted_yet(store: Store) -> None:
    escape.halt(store, session="s/child", scope="session")
    done = escape.halt(store, session="s")
    assert (done.sessions, [s.session for s in done.already]) == (["s"], ["s/child"])


@pytest.mark.parametrize(
    ("first", "second", "marks"),
    [
        ("turn", "session", 2),  # more than stood
        ("session", "turn", 1),
        ("session", "session", 1),
    ],
)
def test_only_more_of_a_halt_is_written(store: Store, first: str, second: str, marks: int) -> None:
    for scope in (first, second):
        escape.halt(store, session="s", scope=scope)
    assert halts(store) == marks
    known = store.session("s")
    assert known is not None
    assert known.halted == "session"


def test_a_halt_after_a_grant_or_a_breakpoint_is_given_again_since_those_beat_it(
    store: Store,
) -> None:
    escape.halt(store, session="s")
    escape.override(store, session="s", scope="session", calls=1)
    assert escape.halt(store, session="s").sessions == ["s", "s/child"][:1]
    escape.set_breakpoint(store, "s", "tool:rm")
    escape.halt(store, session="s")
    assert halts(store) == 3


def test_what_ends_a_halt_lets_it_be_given_anew(store: Store) -> None:
    escape.halt(store, session="s")
    escape.resume(store, "s")
    escape.halt(store, session="s")
    store.append(Event("user_message", "s", data={"text": "go on"}))
    escape.halt(store, session="s")
    assert halts(store) == 3


def test_a_halt_of_the_turn_leaves_that_of_the_session_standing(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    live = session(store)
    escape.halt(store, session="s", scope="session")
    escape.override(store, session="s", scope="session", calls=1)
    escape.halt(store, session="s")
    live.turn("go on")
    (refused,) = loop(live, 1)
    assert not refused.run
    escape.resume(store, "s")
    assert loop(live, 1)[0].run


def test_the_commands_name_what_is_halted_until_it_goes_on(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    assert command(path, "halt", "s", "--alone").code == 0
    again = command(path, "halt", "s", "--alone", "--note", "stop")
    assert again.code == 0
    assert "s: the turn is already halted by " in again.out
    assert json.loads(command(path, "halt", "s", "--alone", "--json").out)["already"] == ["s"]
    assert halts(store) == 1
    assert "live, turn halted" in command(path, "sessions").out
    (told,) = [o for o in command(path, "sessions", "--json").objects if o["session"] == "s"]
    assert (told["state"], told["halted"], "@" in told["halted_by"]) == ("live", "turn", True)
    assert "1 halted" in command(path, "status").out
    assert command(path, "status", "--json").objects[0]["halted"] == ["s"]
    assert "s: the turn is halted by " in command(path, "pending").out
    command(path, "resume", "s")
    for words in (["sessions"], ["status"], ["pending"]):
        assert "halted" not in command(path, *words).out


def test_the_console_says_so_when_one_is_halted_again(store: Store) -> None:
    decider = Decider(store)
    assert "halted the turn" in decider.halt("s", "turn", children=True)
    assert "already halted" in decider.halt("s", "turn", children=True)
    assert halts(store) == halts(store, "s/child") == 1


def halted(scope: str) -> tuple[Desk, str]:
    """A desk with a session that a human halted, and the session's name."""
    one, _ = research()
    desk = empty_desk()
    told = batch(one)
    told.sessions[0].halted, told.sessions[0].halted_by = scope, "you@desk"
    desk.take(told)
    return desk, one.session


def test_the_list_the_chain_and_the_first_line_of_the_console_say_halted() -> None:
    desk, name = halted("turn")
    shown: list[str] = []

    async def look(app: ConsoleApp, _: object) -> None:
        shown.append(app.screen.query_one(SessionList).render_line(0).text)
        for name in ("#chain-title", "#status"):
            shown.append(str(app.screen.query_one(name).render()))

    drive(look, ConsoleApp(desk, source="~/events.db"))
    assert " halted " in shown[0]
    assert "· halted" in shown[1]
    assert "1 halted" in shown[2]
    desk.arrange(filter="halted")
    assert [s.session for _, s in desk.tree()] == [name]


def test_who_would_halt_it_again_is_told_before_they_do() -> None:
    desk, _ = halted("session")
    shown: list[str] = []

    async def look(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("x")
        await pilot.pause()
        shown.extend(strip.text for strip in app.screen._compositor.render_strips())

    drive(look, ConsoleApp(desk, source="~/events.db", decider=Nobody()), size=(80, 24))
    assert any("the session is halted by you@desk" in line for line in shown)
