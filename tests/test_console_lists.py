"""The virtual lists: what is kept of a painted line is what painting it anew gives; keys and the wheel."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Awaitable, Callable

from textual.pilot import Pilot
from textual.strip import Strip

import console_scene
from console_scene import Log, Nobody
from loopguard_console.app import ConsoleApp
from loopguard_console.guards import guard_of
from loopguard_console.opening import replay_app
from loopguard_console.viewing.view import View
from loopguard_console.widgets.chain import Chain
from loopguard_console.widgets.sessions import SessionList
from loopguard_core.events import Event
from loopguard_core.recording.replay import Recording

Step = Callable[[ConsoleApp, Pilot[None]], Awaitable[None]]


def drive(step: Step, size: tuple[int, int] = (120, 30)) -> None:
    async def run() -> None:
        app = console_scene.live(Nobody())
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await step(app, pilot)

    asyncio.run(run())


def lines(chain: Chain) -> list[Strip]:
    return chain.render_lines(chain.size.region)


def long_log(seed: int) -> Log:
    """Calls that repeat, run beside each other, fail and are asked about."""
    chance = random.Random(seed)
    log = Log(f"long-{seed}", "writer")
    for number in range(60):
        if number % 20 == 0:
            log.add("user_message", text="go on")
        tool = chance.choice(("bash", "read", "read"))
        args = {"n": chance.randrange(3) if number % 5 else number}
        first = log.start(tool, args)
        if chance.random() < 0.2:
            second = log.start("grep", {"n": number})
            log.add("call_end", call=second, outcome="ok", result="found")
        if chance.random() < 0.2:
            name = f"R{number}"
            log.ask(name, first, "block")
            log.add("request_resolved", request=name, resolution="approved", by="me")
        outcome = chance.choice(("ok", "ok", "error"))
        log.add("call_end", call=first, outcome=outcome, result="done", duration=chance.random())
    return log


def test_a_kept_line_is_what_painting_anew_gives() -> None:
    log = long_log(5)

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        chance = random.Random(1)
        app.desk.append(log.session, log.events[:3])
        app.select(log.session)
        chain = app.screen.query_one(Chain)
        view = app.desk.view
        assert view is not None
        for event in log.events[3:]:
            app.desk.append(log.session, [event])
            if chance.random() < 0.3:
                view.go(chance.randrange(len(view.recording)), reveal=chance.random() < 0.5)
            elif chance.random() < 0.3:
                view.follow()
            chain.show(view)
            kept = lines(chain)
            chain.forget()
            chain.show(view)
            assert kept == lines(chain)

    drive(step)


def test_what_changed_on_the_screen_is_drawn_without_a_key() -> None:
    log = long_log(7)

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        started = next(n for n, e in enumerate(log.events) if e.type == "call_start") + 1
        app.desk.append(log.session, log.events[:started])
        app.select(log.session)
        await pilot.pause()
        chain = app.screen.query_one(Chain)
        assert any(" … " in strip.text for strip in lines(chain))
        app.desk.append(log.session, log.events[started:])
        app.draw_soon()
        while not any("60" in strip.text for strip in lines(chain)):
            await asyncio.sleep(0.02)
        assert not any(" … " in strip.text for strip in lines(chain))

    drive(step)


def test_every_key_that_moves_moves_the_cursor_of_a_list_that_scrolls() -> None:
    log = long_log(9)

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        app.desk.append(log.session, log.events)
        app.select(log.session)
        await pilot.pause()
        view, chain = app.desk.view, app.screen.query_one(Chain)
        assert view is not None
        assert chain.count() > chain.size.height
        places = []
        for key in ("home", "down", "down", "up", "pagedown", "pageup", "end"):
            await pilot.press(key)
            places.append(view.cursor)
            top = round(chain.scroll_y)
            assert top <= chain.at() < top + chain.size.height
        assert places[0] == 0
        assert places[1] < places[2]
        assert places[3] == places[1]
        assert places[4] > places[2]
        assert places[5] <= places[1]
        assert places[6] == len(view.recording) - 1

    drive(step)


def test_what_was_scrolled_to_stays_while_calls_come_in() -> None:
    log = long_log(11)

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        app.desk.append(log.session, log.events[:-20])
        app.select(log.session)
        await pilot.press("g")
        chain = app.screen.query_one(Chain)
        chain.scroll_to(y=12, animate=False)
        height = chain.virtual_size.height
        app.desk.append(log.session, log.events[-20:])
        app.draw_soon()
        while chain.virtual_size.height == height:
            await asyncio.sleep(0.02)
        assert round(chain.scroll_y) == 12
        await pilot.press("k")
        assert round(chain.scroll_y) < 12

    drive(step)


def test_garbage_is_collected_as_before_once_the_console_is_closed() -> None:
    before = gc.get_threshold()

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        assert gc.get_threshold() != before

    drive(step)
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_a_request_is_shown_as_waiting_wherever_the_cursor_stands() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        chain = app.screen.query_one(Chain)
        for key in ("k", "k", "g"):
            await pilot.press(key)
            assert any("waits R7" in strip.text for strip in lines(chain)), key

    drive(step)


def test_the_name_of_a_request_that_waits_is_whole_in_a_narrow_terminal() -> None:
    log = Log("6f1c2a90", "researcher")
    log.call("read", {"path": "a"}, "text")
    log.ask("R1234", log.start("search", {"query": "quantum computing"}), "block")
    view = View(Recording.of(log.events, guard_of(None, log.config)), live=True)

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        chain = app.screen.query_one(Chain)
        app.desk.views["6f1c2a90"] = view
        chain.show(view)
        await pilot.pause()
        texts = [strip.text for strip in lines(chain) if '"' in strip.text]
        assert "waits R1234 " in texts[1]
        assert texts[0].rindex("·") == texts[1].rindex("·")  # the tiers stand in line

    drive(step, size=(80, 24))


def test_a_fold_and_its_calls_have_their_columns_in_line() -> None:
    log = Log("6f1c2a90", "researcher")
    for _ in range(8):
        log.call("search", {"query": "quantum computing"}, "the same page")
    log.add("session_end")
    view = View(Recording.of(log.events, guard_of(None, log.config)), live=False)

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        chain = app.screen.query_one(Chain)
        app.desk.views["6f1c2a90"] = view
        view.lines.reveal(0)
        chain.show(view)
        await pilot.pause()
        texts = [strip.text for strip in lines(chain) if '"' in strip.text]
        assert "▼" in texts[0]
        assert len({text.find('"') for text in texts}) == 1, texts

    for size in ((80, 24), (120, 40)):
        drive(step, size=size)


def test_a_recording_without_times_has_no_column_for_them() -> None:
    events = [Event("call", "s", data={"tool": "read", "args": {"n": n}}) for n in range(3)]

    async def run() -> None:
        app = replay_app(events, title="untimed")
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            texts = [strip.text for strip in lines(app.screen.query_one(Chain))]
            assert "read" in texts[0] and "--:--" not in "".join(texts)

    asyncio.run(run())


def test_a_narrow_list_of_sessions_gives_its_room_to_the_names() -> None:
    async def run() -> list[str]:
        app = console_scene.live(Nobody())
        found = []
        for size in ((120, 30), (80, 30)):
            async with app.run_test(size=size) as pilot:
                await pilot.press("s")
                listed = app.screen.query_one(SessionList)
                shown = ""
                while "writer" not in shown:
                    await pilot.pause(0.02)
                    shown = "\n".join(s.text for s in listed.render_lines(listed.size.region))
                found.append(shown)
            app = console_scene.live(Nobody())
        return found

    narrow, wide = asyncio.run(run())
    assert "· writer 19aa34c0" in narrow and "ended" not in narrow
    assert "· writer 19aa34c0" in wide and "ended" in wide


def test_the_list_shows_the_tier_that_the_chain_shows() -> None:
    desk = console_scene.empty_desk()
    log, _ = console_scene.research()
    known = console_scene.batch(log)
    for session in known.sessions:  # as an import stores it: without verdicts
        session.worst = 0
    desk.take(known)
    assert desk.worst_of(log.session) == 2
