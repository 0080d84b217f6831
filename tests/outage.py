"""A server that goes away and comes back when a test wants it to, and the doors to it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loopguard_core.config import Config
from loopguard_core.events import Event, decode, encode
from loopguard_core.session import returning
from loopguard_core.session.doors import Doors
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import Stale, Store, StoreError, Taken
from loopguard_core.store.door import open_store

#: what is called on a store by an agent
_WRITES = ("append", "extend", "forget", "machine", "beat")
_READS = (
    "read",
    "last",
    "last_turn",
    "standing",
    "session",
    "sessions",
    "requests",
    "request",
    "changed",
    "attached",
)


class Line:
    """What lies between the agents and the server. ``mode``: up, away, deaf (answers are lost) or slow.

    Slow: what is written is given up by who wrote it, and reaches the server when it ``arrives``.

    ``tries``: what was asked while it was not up, ``(thread, method)``. ``before`` is told each method.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self.name = f"postgresql://{place.parents[1].name}/events"  # one server a test, for threads of an earlier one
        self.mode = "up"
        self.tries: list[tuple[str, str]] = []
        self.before: Callable[[str], object] = bool
        self._under_way: list[Callable[[], object]] = []

    def open(self) -> Store:
        """A connection. Raises ``StoreError`` while the server is away."""
        if self.mode != "up":
            self.tries.append((threading.current_thread().name, "open"))
            raise StoreError(f"the event store {self.name} cannot be reached; start it")
        return _Connection(self)

    def hold(self, store: Store, event: Event, expect: int | None) -> None:
        """*event* is under way to the server."""
        sent = decode(encode(event))
        self._under_way.append(lambda: store.append(sent, expect=expect))

    def arrive(self) -> int:
        """What was under way reaches the server; how much of it that takes."""
        taken = 0
        for write in self._under_way:
            with contextlib.suppress(Stale, Taken):
                write()
                taken += 1
        self._under_way.clear()
        return taken


class _Connection(Store):
    def __init__(self, line: Line) -> None:
        self.place = line.name
        self._line = line
        self._store = open_store(str(line.place))

    def close(self) -> None:
        self._store.close()


def _through(name: str) -> Any:
    def call(self: _Connection, *args: Any, **kwargs: Any) -> Any:
        self._line.before(name)
        line, error = self._line, StoreError(f"the event store {self.place} is away; wait")
        if line.mode == "up":
            return getattr(self._store, name)(*args, **kwargs)
        line.tries.append((threading.current_thread().name, name))
        if line.mode == "deaf" and name in _WRITES:
            getattr(self._store, name)(*args, **kwargs)
        if line.mode == "slow" and name == "append":
            line.hold(self._store, args[0], kwargs["expect"])
        raise error

    return call


for _name in (*_WRITES, *_READS):
    setattr(_Connection, _name, _through(_name))


class TestDoors(Doors):
    """The doors of an agent on a machine of its own."""

    __test__ = False

    def __init__(self, line: Line, config: Config) -> None:
        super().__init__(config, line.name)
        self._line = line

    def store(self) -> Store:
        return self._line.open()

    def anew(self) -> Store:
        return self._line.open()

    def server(self, patience: float = 0.0) -> Store:
        return self._line.open()


def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Line:
    """A server, and a state directory for the agents' machine."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(returning, "FIRST", 0.01)
    monkeypatch.setattr(returning, "LONGEST", 0.05)
    (tmp_path / "server").mkdir()
    return Line(tmp_path / "server" / "events.db")


class Heard(LiveSession):
    """A session; what it says to the person is in ``said``."""

    def __init__(self, config: Config, name: str, **more: Any) -> None:
        self.said: list[str] = []
        super().__init__(config, name, agent="a", say=self.said.append, **more)


def agent(line: Line, name: str = "s", *, attach: bool = False, **settings: Any) -> Heard:
    """A session that goes through *line*."""
    config = Config({"policy": "graded", **settings})
    return Heard(config, name, doors=TestDoors(line, config), attach=attach)
