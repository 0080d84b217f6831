"""Runs a scripted agent through the real shim with a clock of its own, and writes down what the log says.

Making a recording again gives the same bytes: the clock is set by the script, ids are given or counted,
the key of the digests is fixed, and what names the machine is left out.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import threading
import time as real_time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import loopguard_core.session.stopping  # noqa: F401 - loaded when first needed; its clock must be set by then
from loopguard_core.events import Event, encode
from loopguard_core.shim import LoopGuard
from loopguard_core.store.contract import Request, Store
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import key_file

HUMAN = "you@laptop"
BEGIN = 1_790_000_000.0
_MACHINE = ("pid", "pid_started", "host", "user")

Answer = Callable[[Store, Request], object]


class Clock:
    """The time of a script: it stands still until ``pass_by``. Stands in for the module ``time``."""

    sleep = staticmethod(real_time.sleep)
    strftime = staticmethod(real_time.strftime)
    localtime = staticmethod(real_time.localtime)

    def __init__(self) -> None:
        self.now = BEGIN

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self.now = round(self.now + seconds, 3)

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now


class Player:
    """A scripted agent at work. ``call`` numbers its calls; ``answers`` are a person's, by request."""

    def __init__(self, guard: LoopGuard, store: Store, clock: Clock) -> None:
        self.guard = guard
        self.store = store
        self.clock = clock
        self.answers: dict[str, tuple[float, Answer]] = {}
        self._calls = 0

    def says(self, text: str) -> None:
        """A person's message."""
        self.clock.pass_by(4)
        self.guard.new_turn(text)

    def writes(self, text: str) -> None:
        """The agent answers without a call."""
        self.clock.pass_by(3)
        self.guard.live.note("assistant_text", {"text": text})

    def call(
        self,
        tool: str,
        args: object,
        result: str,
        *,
        ok: bool = True,
        think: float = 3,
        takes: float = 0.4,
    ) -> bool:
        """One call; whether it ran."""
        return self.batch([(tool, args, result, ok)], think=think, takes=takes)[0]

    def batch(
        self, calls: list[tuple[str, object, str, bool]], *, think: float = 3, takes: float = 0.4
    ) -> list[bool]:
        """Calls of one assistant message; which of them ran."""
        self.clock.pass_by(think)
        message = f"m{self._calls + 1}"
        decided = []
        for tool, args, result, ok in calls:
            self._calls += 1
            made = self.guard.before_call(tool, args, call=f"c{self._calls}", message=message)
            decided.append((made, result, ok))
        for made, result, ok in decided:
            if made.run:
                self.clock.pass_by(takes)
                outcome = "ok" if ok else "error"
                self.guard.after_call(made, result, outcome=outcome, duration=takes)
        return [made.run for made, _, _ in decided]

    def answer(self, stop: threading.Event) -> None:
        """The person: answers each request that waits as planned."""
        while not stop.is_set():
            for request in self.store.requests(pending=True):
                after, decide = self.answers.pop(request.request, (0.0, None))
                if decide is not None:
                    self.clock.pass_by(after)
                    decide(self.store, request)
            real_time.sleep(0.002)


@contextlib.contextmanager
def play(session: str, agent: str, out: Path, **settings: object) -> Iterator[Player]:
    """A player whose session is written to *out* when it is done. *settings* as in ``loopguard.toml``."""
    clock = Clock()
    with contextlib.ExitStack() as stack:
        place = str(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "events.db")
        key = Path(key_file(place))
        key.touch(0o600)
        key.write_bytes(b"sample".ljust(32, b"."))
        for module in _clocked():
            stack.enter_context(patch.object(module, "time", clock))
        store = stack.enter_context(contextlib.closing(open_store(place)))
        stop = threading.Event()
        with LoopGuard(
            agent,
            session=session,
            parent="",
            cwd="/project",
            store=store,
            say=lambda line: None,
            raise_on_halt=False,
            unattended_wait_seconds=3600,
            **{"policy": "progress", **settings},
        ) as guard:
            player = Player(guard, store, clock)
            human = threading.Thread(target=player.answer, args=(stop,), daemon=True)
            human.start()
            try:
                yield player
            finally:
                stop.set()
                human.join()
                clock.pass_by(1)
        events = store.read(session)
    lines = [encode(_portable(event)) for event in events]
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _clocked() -> list[ModuleType]:
    """Modules of the agent's side that look at the clock."""
    ours = [m for name, m in sys.modules.items() if name.startswith("loopguard_core")]
    return [m for m in ours if getattr(m, "time", None) is real_time]


def _portable(event: Event) -> Event:
    """The event without what names the machine, and with grants numbered by their place."""
    data = {k: v for k, v in event.data.items() if k not in _MACHINE}
    if event.type == "grant":
        data["grant"] = f"G{event.seq}"
    return Event(event.type, event.session, seq=event.seq, ts=event.ts, data=data)
