"""Searching and filtering a chain: what is found, what is shown, and that nothing blocks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.pilot import Pilot

import console_scene
from driving import cursor, drive, recording
from loopguard_console.app import Arrived, ConsoleApp
from loopguard_console.guards import guard_of
from loopguard_console.screens.main import MainScreen
from loopguard_console.viewing.hits import Hits
from loopguard_console.viewing.query import Query, QueryError
from loopguard_console.viewing.view import View
from loopguard_console.widgets.chain import Chain
from loopguard_console.widgets.pane import Pane
from loopguard_core.events import Event
from loopguard_core.recording.replay import Recording

# -- what is found ---------------------------------------------------------------------------------

QUERIES = ["tool:b", "is:error", "tier>=warn", "x1", "/x[02]/ tool:a", "count>=2", "turn:2", "zzz"]
Stroke = tuple[str, Any]


@st.composite
def strokes(draw: st.DrawFn) -> list[Stroke]:
    """What happens in a session: calls begin and end in any order, a person speaks, one looks."""
    call = st.tuples(st.just("call"), st.tuples(st.sampled_from("abc"), st.integers(0, 2)))
    end = st.tuples(st.just("end"), st.tuples(st.integers(0, 9), st.sampled_from(["ok", "error"])))
    other = st.tuples(st.sampled_from(["user", "note", "look"]), st.none())
    return draw(st.lists(st.one_of(call, call, end, end, other), max_size=60))


class Play:
    """Strokes as events of one session, in *view*."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.seq = 0
        self.running: list[str] = []

    def add(self, type: str, **data: Any) -> None:
        self.seq += 1
        self.view.append([Event(type, "s", seq=self.seq, ts=float(self.seq), data=data)])

    def __call__(self, script: list[Stroke]) -> None:
        for what, how in script:
            if what == "call":
                tool, which = how
                self.running.append(f"c{self.seq}")
                self.add("call_start", call=self.running[-1], tool=tool, args={"q": f"x{which}"})
            elif what == "end" and self.running:
                place, outcome = how
                call = self.running.pop(place % len(self.running))
                self.add("call_end", call=call, outcome=outcome, result="r")
            elif what == "user":
                self.add("user_message", text="go on")
            elif what == "note":
                self.add("note", text="look here")
            elif what == "look":
                self.view.look(0.0)


def shown(view: View) -> list[int]:
    """The calls for which the lines stand, in order; opened segments are not counted twice."""
    out: list[int] = []
    for number in range(len(view.lines)):
        line = view.line(number)
        if not line.is_mark and not (line.folds and view.lines.opened(line.segment)):
            out += view.calls(line)
    return out


@settings(deadline=None)
@given(strokes(), st.sampled_from(QUERIES), st.booleans(), st.integers(0, 20))
def test_the_hits_are_those_of_the_query_however_they_came(
    script: list[Stroke], text: str, fold: bool, at: int
) -> None:
    view = View(Recording(guard_of(None)), live=True)
    if not fold:
        view.fold_all()
    play = Play(view)
    play(script[:at])
    query = Query(text)
    view.find(Hits(view.recording, query))
    view.filter(True)
    play(script[at:])
    while not view.look(1.0):
        pass
    expected = [i for i in range(len(view.recording)) if query.matches(view.recording, i)]
    assert shown(view) == expected
    assert len(view.hits or ()) == len(expected)
    for row in expected:
        line = view.line(view.lines.line_of(row))
        assert row in view.calls(line)
    if expected:
        assert view.cursor == expected[-1]  # it follows
        assert [view.to_hit(1), view.cursor] == [True, expected[0]]
        assert [view.to_hit(-1), view.cursor] == [True, expected[-1]]
    else:
        assert view.to_hit(1) is False
    notes = sum(what == "note" for what, _ in script)
    marks = [view.line(n) for n in range(len(view.lines)) if view.line(n).is_mark]
    assert sum(view.recording.marks[m.mark].event.type == "note" for m in marks) == notes


def test_a_query_that_cannot_be_read_says_what_is_wrong() -> None:
    for text in ("/(/", "tier>=bad", "count>=x"):
        with pytest.raises(QueryError):
            Query(text)
    assert not Query("  ")
    view = recording().desk.view
    assert view is not None
    assert Query('"quantum computing" search').matches(view.recording, 4)
    assert Query(r"/query.*\bquan/").matches(view.recording, 4)
    assert not Query(r"/quan\/tum/").matches(view.recording, 4)  # an escaped slash is part of it


def test_a_long_run_of_open_calls_is_looked_at_again_when_they_end() -> None:
    view = View(Recording(guard_of(None)), live=True)
    view.find(Hits(view.recording, Query("is:error")))
    view.filter(True)
    many = [("call", ("a", n % 3)) for n in range(200)]
    Play(view)([*many, ("end", (0, "error")), ("end", (100, "error"))])
    while not view.look(1.0):
        pass
    assert shown(view) == [0, 101]


def test_looking_takes_pieces() -> None:
    view = View(Recording(guard_of(None)), live=False)
    Play(view)([("call", ("a", n % 3)) for n in range(3_000)])
    hits = Hits(view.recording, Query("x1"))
    assert not hits.look(0.0) and 0 < hits.read < 200 and hits.part < 0.1
    view.find(hits)
    view.cursor = 2_999
    assert view.to_hit(-1) is None  # not known yet
    view.sought = -1
    while not view.look(0.0):
        pass
    assert view.sought == 0 and view.cursor == 2_998
    assert len(hits) == 1_000


# -- on the screen ---------------------------------------------------------------------------------


def title(app: ConsoleApp) -> str:
    return str(app.screen_stack[1].query_one("#chain-title", Pane).render())


async def drawn(pilot: Pilot[None]) -> None:
    await pilot.pause(0.12)


def test_hits_are_counted_while_typing_marked_and_shown_alone() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        view = app.desk.view
        assert view is not None
        await pilot.press("slash", *"tool:search")
        says = app.screen.query_one("#says")
        assert "8 of 11 calls" in str(says.render())
        await pilot.press("enter")
        await drawn(pilot)
        assert cursor(app) == 2 and "8 found of 11" in title(app)
        chain = app.screen.query_one(Chain)
        assert [chain.render_line(n).text[2] for n in range(5)] == [" ", " ", " ", "›", "›"]
        await pilot.press("ampersand")
        await drawn(pilot)
        assert "filtered: 8 of 11" in title(app)
        assert shown(view) == list(range(2, 10))
        await pilot.press("G", "n")
        assert cursor(app) == 2
        await pilot.press("N")
        assert cursor(app) == 9
        assert len(view.lines) == 10  # the turn's head, and a run that was opened to get there
        await pilot.press("g", "enter")
        assert len(view.lines) == 7
        await pilot.press("z")
        assert len(view.lines) == 9
        await pilot.press("escape")
        await drawn(pilot)
        assert view.hits is None and "found" not in title(app) and "filtered" not in title(app)
        assert shown(view) == list(range(11))

    drive(step)


@pytest.mark.slow
def test_the_filter_can_be_asked_for_at_once_and_changed_in_the_box() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        view = app.desk.view
        assert view is not None
        await pilot.press("ampersand", *"err", "enter")
        assert view.filtered and shown(view) == [1] and cursor(app) == 1
        await pilot.press("slash", *" or not", "tab", "enter")
        assert not view.filtered
        await pilot.press("ampersand")
        await drawn(pilot)
        assert view.filtered and len(view.lines) == 0
        first = app.screen.query_one(Chain).render_line(0).text
        assert "No call matches or not. Esc shows all calls again." in first
        await pilot.press("n", "right_square_bracket", "e", "j", "space", "escape")
        assert len(view.lines) > 0

    drive(step)


@pytest.mark.slow
def test_steps_tier_changes_and_playing_keep_to_what_is_shown() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("ampersand", *"tier>=block", "enter", "g")
        places = [cursor(app)]
        for key in ("right_square_bracket", "e", "e", "exclamation_mark", "left_square_bracket"):
            await pilot.press(key)
            places.append(cursor(app))
        assert places == [4, 5, 5, 5, 5, 4]  # halted from there on: no change, no failure
        await pilot.press(*["plus"] * 3, "space")
        screen = app.screen
        assert isinstance(screen, MainScreen)
        while screen.playing:
            await asyncio.sleep(0.02)
        assert cursor(app) == 9

    drive(step)


def test_a_live_session_is_followed_through_the_filter() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        view = app.desk.view
        assert view is not None
        await pilot.press("ampersand", *"search", "enter")
        assert view.following and shown(view) == [3, 4, 5]
        log, waits = console_scene.research()
        log.call("read_file", {"path": "x"})
        log.call("search", {"query": "another"})
        app.post_message(Arrived(console_scene.batch(log, waiting=(waits,))))
        await drawn(pilot)
        assert shown(view) == [3, 4, 5, 7] and view.cursor == 7
        assert "filtered: 4 of 8" in title(app) and "following" in title(app)
        await pilot.press("w")  # what waits is a hit too: it is shown, and nothing is followed
        assert view.cursor == 5 and view.filtered and not view.following
        await pilot.press("escape", "ampersand", *"read_file", "enter")
        assert view.filtered
        app.go_to(waits)
        assert view.cursor == 5 and not view.filtered  # what is to be seen is not hidden

    drive(step, console_scene.live())
