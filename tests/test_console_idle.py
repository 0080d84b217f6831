"""A key does something or says why not, and one that does nothing is not offered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from textual.pilot import Pilot

import console_scene
from console_scene import Nobody
from driving import loop, recording
from loopguard_console.app import Arrived, ConsoleApp
from loopguard_console.keys import arming
from loopguard_console.keys.actions import ACTIONS, actions_of
from loopguard_console.opening import replay_app
from loopguard_console.screens.deciding import DecidingScreen
from loopguard_console.screens.inbox import InboxScreen
from loopguard_console.widgets.keys import KeyBar

#: Escape closes what is open and is quiet where nothing is; the others leave the console or its screen.
QUIET = {"quit", "back_to_chain", "help", "command_palette"}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deciding keys count as if every request had long been on the screen."""
    monkeypatch.setattr(arming, "ON_SCREEN", -600.0)
    monkeypatch.setattr(arming, "AFTER_DECISION", 0.0)


def live() -> ConsoleApp:
    return console_scene.live(Nobody())


def empty() -> ConsoleApp:
    return console_scene.live(Nobody(), empty=True)


def watching() -> ConsoleApp:
    app = live()
    app.decider, app.why_not = None, "It only watches."
    return app


def calm() -> ConsoleApp:
    app = live()
    app.desk.waiting = []
    return app


def late() -> ConsoleApp:
    app = live()
    for request in app.desk.waiting:
        request.resolution, request.late_until = "expired", console_scene.NOW + 300.0
    return app


def nothing_recorded() -> ConsoleApp:
    return replay_app([], title="empty")


Made = Callable[[], ConsoleApp]
LIVE, REPLAY, INBOX = ("main", "live"), ("main", "replay"), ("inbox",)
STATES: list[tuple[Made, str, tuple[str, ...]]] = [
    (live, "", LIVE),
    (calm, "", LIVE),
    (late, "", LIVE),
    (watching, "", LIVE),
    (empty, "", LIVE),
    (live, "s", LIVE),
    (recording, "jj", REPLAY),
    (nothing_recorded, "", REPLAY),
    (live, "i", INBOX),
    (live, "ij", INBOX),
    (late, "i", INBOX),
    (watching, "i", INBOX),
    (calm, "i", INBOX),
]
#: Places that stand for their kind in each run; the others are gone through in the long form.
OFTEN = ("live", "empty", "live-i")
NAMES = [f"{made.__name__}-{keys}".rstrip("-") for made, keys, _ in STATES]
PLACES = [
    pytest.param(*state, id=name, marks=[] if name in OFTEN else [pytest.mark.slow])
    for state, name in zip(STATES, NAMES, strict=True)
]


def seen(app: ConsoleApp) -> tuple[object, ...]:
    """What a key could have changed: the screens, what was said, what was decided, what is drawn."""
    decided = app.decider.said if isinstance(app.decider, Nobody) else ()
    drawn = [strip.text for strip in app.screen._compositor.render_strips()]
    focused = app.focused.id if app.focused is not None else ""
    said = [n.message for n in app._notifications]
    return len(app.screen_stack), said, len(decided), focused, drawn


async def settled(app: ConsoleApp, pilot: Pilot[None]) -> None:
    await app.workers.wait_for_complete()
    await pilot.pause(0.08)


async def leave_dialogs(app: ConsoleApp, pilot: Pilot[None], depth: int) -> None:
    while len(app.screen_stack) > depth:
        app.pop_screen()
        await pilot.pause()


@pytest.mark.parametrize(("made", "keys", "places"), PLACES)
def test_what_the_footer_offers_does_something(
    made: Made, keys: str, places: tuple[str, ...]
) -> None:
    async def run() -> None:
        app = made()
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            await pilot.press(*keys)
            await settled(app, pilot)
            assert isinstance(app.screen, DecidingScreen)
            screen, depth = app.screen, len(app.screen_stack)
            bar = str(screen.query_one(KeyBar).render())
            offered = [a for a in actions_of(*places) if f" {a.title} " in bar]
            assert offered
            for action in offered:
                if action.id in QUIET:
                    continue
                assert not screen.idle(action.id), action.id
                before = seen(app)
                await pilot.press(action.keys[0])
                await settled(app, pilot)
                assert seen(app) != before, action.id
                await leave_dialogs(app, pilot, depth)

    asyncio.run(run())


@pytest.mark.parametrize(("made", "keys", "places"), PLACES)
def test_what_would_do_nothing_says_why(made: Made, keys: str, places: tuple[str, ...]) -> None:
    """All keys of both modes in one run: those of the other mode are no dead keys either."""
    actions = ACTIONS if "main" in places else actions_of(*places)

    async def run() -> None:
        app = made()
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            await pilot.press(*keys)
            await settled(app, pilot)
            assert isinstance(app.screen, DecidingScreen)
            screen, depth = app.screen, len(app.screen_stack)
            for action in actions:
                why = screen.idle(action.id)
                if action.id in QUIET or not why:
                    continue
                if {"inbox"} == set(action.where) and not isinstance(screen, InboxScreen):
                    continue
                await pilot.press(action.keys[0])
                await pilot.pause()
                assert [n.message for n in app._notifications] == [why], action.id
                assert app.screen is screen, action.id
                await leave_dialogs(app, pilot, depth)

    asyncio.run(run())


def test_a_recording_says_why_nobody_can_be_answered_and_what_to_do_instead() -> None:
    """And of every other key of a live console, why it does nothing."""
    here = {key for action in actions_of("main", "replay") for key in action.keys}
    keys = [action.keys[0] for action in actions_of("live") if not here & {*action.keys}]
    assert {*"adox"} < {*keys}

    async def run() -> None:
        app = recording()
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            for key in keys:
                app.clear_notifications()
                await pilot.press(key)
                (line,) = [n.message for n in app._notifications]
                if key in "adox":
                    assert line.startswith("A recording has n")
                    assert "p shows" in line and "c writes" in line

    asyncio.run(run())


def test_after_an_answer_the_inbox_offers_no_deciding_keys() -> None:
    async def run() -> None:
        app = live()
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            await pilot.press("i", "j")
            one, waits = console_scene.fixer()
            app.post_message(Arrived(console_scene.batch(one, waiting=(waits,))))
            await settled(app, pilot)
            bar = str(app.screen.query_one(KeyBar).render())
            for title in ("approve", "deny", "override…", "reset", "halt…", "mark"):
                assert f" {title} " not in bar
            await pilot.press("x")
            assert [n.message for n in app._notifications][-1].startswith("That request has been")

    asyncio.run(run())


def test_the_card_is_scrolled_by_keys_and_says_where_it_ends() -> None:
    async def run() -> None:
        app = recording()
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            await pilot.press("e", "e")
            await settled(app, pilot)
            card = app.screen.query_one("#inspector")
            await pilot.press("full_stop")
            assert card.scroll_y > 0
            await pilot.press(*["full_stop"] * 9)
            assert "v shows all" in [n.message for n in app._notifications][-1]
            await pilot.press(*["comma"] * 9)
            assert card.scroll_y == 0
            assert "beginning" in [n.message for n in app._notifications][-1]

    asyncio.run(run())


def test_a_calm_call_says_where_the_guard_steps_in() -> None:
    async def run() -> None:
        app = recording()
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("g")
            await settled(app, pilot)
            card = str(app.screen.query_one("#card").render())
            assert "The guard steps in at call 4 (warn): e goes there." in card
            await pilot.press("e")
            assert app.desk.view is not None and app.desk.view.cursor == 3

    asyncio.run(run())


def test_a_session_without_trouble_says_so() -> None:
    async def run() -> None:
        app = replay_app(loop()[:4], title="calm")
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("g")
            await settled(app, pilot)
            assert "steps in nowhere" in str(app.screen.query_one("#card").render())
            await pilot.press("e")
            assert "p asks other policies" in [n.message for n in app._notifications][-1]

    asyncio.run(run())


def test_the_way_back_is_offered_where_there_is_one() -> None:
    def bar(app: ConsoleApp) -> str:
        return str(app.screen.query_one(KeyBar).render())

    async def run() -> None:
        app = live()
        async with app.run_test(size=(120, 40)) as pilot:
            await settled(app, pilot)
            assert "Esc" not in bar(app)
            await pilot.press("slash", *"search", "enter")
            await settled(app, pilot)
            assert "Esc close" in bar(app)
            await pilot.press("escape")
            await settled(app, pilot)
            assert "Esc" not in bar(app)
            await pilot.press("i")
            await settled(app, pilot)
            assert "Esc close" in bar(app)
            app.post_message(Arrived(console_scene.batch(console_scene.research()[0])))
            await settled(app, pilot)
            card = str(app.screen.query_one("#card").render())
            assert card.startswith("Answered. Nothing waits.") and "Esc goes back" in card

    asyncio.run(run())


def test_a_recording_of_several_sessions_says_so_where_their_list_is_hidden() -> None:
    async def run() -> None:
        one, two = console_scene.research()[0], console_scene.fixer()[0]
        app = replay_app([*one.events, *two.events], title="a/very/long/way/to/the/file/both.jsonl")
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(app, pilot)
            status = str(app.screen.query_one("#status").render())
            assert "both.jsonl · 2 sessions" in status and len(status) <= 80

    asyncio.run(run())
