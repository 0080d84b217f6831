"""Makes the pictures in this folder from the sample sessions: the real console, frozen at a moment.

``python screenshots/make.py [FOLDER]``, with loopguard-console and its test extra installed.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent))

from film import Frame, film, plain
from textual.pilot import Pilot

from loopguard_console.app import Arrived, ConsoleApp
from loopguard_console.deciding import Decider
from loopguard_console.desk import Desk
from loopguard_console.feed import Batch
from loopguard_console.guards import guard_of
from loopguard_console.keys import arming
from loopguard_console.opening import replay_app
from loopguard_core.events import Event, decode
from loopguard_core.recording.calls import ListEvents
from loopguard_core.store.memory import MemoryStore

_UNSET = ("NO_COLOR", "COLORTERM", "TEXTUAL_THEME", "COLUMNS", "LINES")
SAMPLES = Path(__file__).parents[1] / "sample_sessions"
SIZE = (120, 38)
FILM = (100, 27)
_LOOK, _LOOKS = 0.1, 30
#: how long the request of a picture has waited, in seconds
WAITED = 17.0


def sample(name: str) -> list[Event]:
    """The events of one sample session."""
    return [decode(line) for line in (SAMPLES / f"{name}.jsonl").read_text().splitlines()]


def until_asked(name: str, request: str) -> list[Event]:
    """The events of a sample up to where *request* waits."""
    events = sample(name)
    for index, event in enumerate(events):
        if event.type == "request_opened" and event.text("request") == request:
            return events[: index + 1]
    raise ValueError(f"{name} has no request {request}")


def live(*logs: list[Event]) -> ConsoleApp:
    """The live console on sessions of which some wait."""
    store = MemoryStore()
    latest = max(log[-1].ts or 0.0 for log in logs)
    for number, log in enumerate(logs, 1):
        shift = latest - (log[-1].ts or 0.0)
        for event in log:
            data = dict(event.data)
            if event.type == "request_opened":
                data |= {"request": f"R{number}", "deadline": latest + 300.0}
            event.ts = None if event.ts is None else event.ts + shift
            event.data = data
            store.append(event)
    sessions = tuple(store.sessions())
    state = {s.session: "ended" if s.ended else "live" for s in sessions}
    waiting = tuple(store.requests(pending=True))
    desk = Desk(live=True, guard_of=guard_of, events_of=lambda _: ListEvents())
    events = {s.session: tuple(store.read(s.session)) for s in sessions}
    desk.take(Batch(latest + WAITED, sessions, state, waiting, events))
    return ConsoleApp(desk, source="events.db", decider=Decider(store))


async def settled(app: ConsoleApp, pilot: Pilot[None], title: str) -> str:
    """The screen as SVG once it does not change any more."""
    before, now = "", "-"
    for _ in range(_LOOKS):
        await pilot.pause(_LOOK)
        before, now = now, app.export_screenshot(title=title)
        if before == now:
            break
    return now


async def picture(app: ConsoleApp, *keys: str) -> str:
    """The screen of *app* after *keys*, as SVG."""
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for key in keys:
            await pilot.press(key)
        return plain(await settled(app, pilot, "loopguard-console"))


def pictures() -> dict[str, tuple[ConsoleApp, tuple[str, ...]]]:
    """Each picture's console and the keys that lead to it."""
    research = until_asked("research-loop", "R1")
    failing = until_asked("failing-command", "R1")
    return {
        "live": (live(research, sample("legitimate-polling")), ()),
        "inbox": (live(research, failing, sample("legitimate-polling")), ("i",)),
        "replay": (
            replay_app(sample("research-loop"), title="research-loop.jsonl"),
            ("g", "e", "e"),
        ),
    }


def scenes() -> Iterator[tuple[int, float, str, str]]:
    """The film, scene by scene: events so far, seconds, what is said above it, and a key to press."""
    events = sample("research-loop")
    calls = 0
    for number, event in enumerate(events, 1):
        after = events[number].type if number < len(events) else ""
        if event.type == "call_end" and event.data["outcome"] == "ok" and calls < 8:
            calls += 1
            warned = event.data["verdict"]["tier"] == "warn"
            words = (
                "the guard warns: the same call, the same answer" if warned else "an agent at work"
            )
            yield number, 0.9, words, ""
        elif event.type == "request_opened":
            yield number, 4.0, "stopped: the agent waits for you, and the card says why", ""
        elif event.type == "request_resolved" and event.data["resolution"] == "approved":
            yield number, 1.5, "a: this call runs, once", ""
        elif event.type == "grant":
            yield number - 1, 2.5, "o: let the next calls run", "o"
            yield number, 1.5, "three more, and not one beyond", ""
        elif event.type == "request_resolved":
            yield number, 3.0, "d: no, and the model is told why", ""
        elif event.type == "call_end" and after == "assistant_text":
            yield number + 1, 3.0, "the agent writes with what it has", ""


async def shoot() -> list[Frame]:
    """The screens of the film."""
    events = sample("research-loop")
    store = MemoryStore()
    desk = Desk(live=True, guard_of=guard_of, events_of=lambda _: ListEvents())
    app = ConsoleApp(desk, source="events.db", decider=Decider(store))
    taken, frames = 0, []
    async with app.run_test(size=FILM) as pilot:
        for upto, seconds, words, key in scenes():
            fresh = events[taken:upto]
            for event in fresh:
                store.append(event)
            taken = max(taken, upto)
            now = (events[upto - 1].ts or 0.0) + 1.0
            sessions = tuple(store.sessions())
            state = {s.session: "live" for s in sessions}
            waiting = tuple(store.requests(pending=True))
            batch = Batch(now, sessions, state, waiting, {"research-loop": tuple(fresh)})
            app.post_message(Arrived(batch))
            await settled(app, pilot, words)
            if key:
                await pilot.press(key)
            frames.append(Frame(await settled(app, pilot, words), seconds))
            if key:
                await pilot.press("escape")
    return frames


def make(folder: Path) -> None:
    """Write all pictures to *folder*, whatever terminal this is."""
    for name in _UNSET:
        os.environ.pop(name, None)
    os.environ["TZ"] = "UTC"
    time.tzset()
    with patch.object(arming, "ON_SCREEN", 0.0):
        for name, (app, keys) in pictures().items():
            svg = asyncio.run(picture(app, *keys))
            (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
        frames = asyncio.run(shoot())
    longest = max(range(len(frames)), key=lambda number: frames[number].seconds)
    (folder / "demo.svg").write_text(film(frames, still=longest), encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
