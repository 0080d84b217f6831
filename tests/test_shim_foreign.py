"""Foreign objects: whatever stands in a call, is raised by a tool or is guarded as one never trips the agent."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from loopguard_core.shim import LoopGuard
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store


class Boom(Exception):
    """What the objects below raise."""


def boom(*_: object) -> Any:
    raise Boom


class Words(str):
    """A string whose own methods raise."""

    __slots__ = ()
    __eq__ = __hash__ = __len__ = __str__ = __repr__ = encode = isascii = startswith = boom  # type: ignore[assignment]


class Mapping(dict[str, object]):
    """A dict whose own methods raise."""

    __iter__ = __len__ = __repr__ = items = keys = values = boom


class Changing(dict[str, object]):
    """A dict that grows while it is looked at."""

    def items(self) -> Any:
        for name in super().__iter__():
            self["more"] = 1
            yield name, self[name]


class Nothing:
    """An object that can neither be compared nor printed."""

    __eq__ = __hash__ = __bool__ = __str__ = __repr__ = boom


class Several:
    """As an array is: comparing it gives no truth."""

    def __eq__(self, other: object) -> Any:
        return Nothing()

    __hash__ = None  # type: ignore[assignment]


class Silent(Exception):
    """An error that cannot say what it is."""

    __str__ = __repr__ = add_note = boom


class Number(int):
    """A number that does not print."""

    __str__ = __repr__ = __int__ = __index__ = bit_length = boom


class Leaving:
    """What ends the process, or seems to be asked to, where it is looked at."""

    def __init__(self, leave: Any) -> None:
        self.leave = leave

    def __str__(self) -> str:
        if isinstance(self.leave, BaseException):
            raise self.leave
        self.leave()
        return "left"

    __repr__ = __str__


class Leaver(dict[str, object]):
    """A dict that does, wherever it is looked at."""

    def __iter__(self) -> Any:
        raise SystemExit

    __len__ = __repr__ = items = keys = values = __iter__


class Posing:
    """What says that it is of another class, as a proxy or a mock does."""

    def __init__(self, pose: Any) -> None:
        self.pose = pose

    @property
    def __class__(self) -> Any:
        return self.pose() if self.pose is boom else self.pose

    @__class__.setter
    def __class__(self, pose: Any) -> None: ...


class Unnamed(type):
    """A class that cannot say what it is called."""

    __name__ = property(boom)


class Nameless(metaclass=Unnamed):
    __str__ = __repr__ = boom


VALUES: list[object] = [
    *(Leaving(how) for how in (SystemExit(1), KeyboardInterrupt(), GeneratorExit(), sys.exit)),
    Leaver(a=1),
    *(Posing(pose) for pose in (str, bool, int, float, dict, list, bytes, type(None), boom)),
    Nameless(),
    Words("text"),
    Mapping(a=1),
    Changing(a=1),
    Nothing(),
    Several(),
    Number(4),
    {"in": [Words("text"), Mapping(a=1), Nothing(), Several(), Number(4)]},
    {"key": Silent()},
    (n for n in "ab"),
    memoryview(b"\xff"),
]
NAMES: dict[str, object] = {
    "nothing": None,
    "number": 5,
    "bytes": b"name",
    "words": Words("name"),
    "unprintable": Nothing(),
    "list": ["name"],
    "dict": {},
}
POLICIES = ("progress", "hermes", "tool-loop-guard", "graded", "nous", "dsh")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("LOOPGUARD_SESSION", raising=False)
    monkeypatch.chdir(tmp_path)
    opened = open_store(str(tmp_path / "events.db"))
    yield opened
    opened.close()


@pytest.mark.parametrize("policy", POLICIES)
def test_every_value_is_guarded_and_recorded(policy: str, store: Store) -> None:
    said: list[str] = []
    with LoopGuard("t", session="s", store=store, policy=policy, say=said.append) as guard:
        for value in VALUES:
            for args in (value, {"q": value}, [value]):
                decision = guard.before_call("look", args)
                assert decision.ids, "it was judged"
                assert decision.args is args
                assert guard.after_call(decision, value) is value
    events = store.read("s")
    kinds = [e.type for e in events]
    assert kinds.count("call_start") == kinds.count("call_end") == 3 * len(VALUES)
    assert not [line for line in said if "error" in line]


@pytest.mark.parametrize("kind", NAMES)
def test_what_should_be_a_name_is_taken_as_one(kind: str, store: Store) -> None:
    value: Any = NAMES[kind]
    said: list[str] = []
    with LoopGuard("t", session="s", store=store, say=said.append) as guard:
        for more in ({}, {"call": value}, {"message": value}, {"agent": value}):
            decision = guard.before_call(value, "q", **more)
            assert decision.ids
            guard.after_call(decision, "r", duration=value)
        guard.before_call("look", "q", annotations=value)
        guard.new_turn(value)
    assert not [line for line in said if "error" in line]
    assert [type(e.data["tool"]) for e in store.read("s") if e.type == "call_start"] == [str] * 5


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, TimeoutError])
def test_what_comes_from_outside_reaches_the_agent_also_through_a_value(
    raised: type[BaseException], store: Store
) -> None:
    def handler(*_: object) -> None:
        raise raised

    usual = signal.default_int_handler
    before = signal.signal(signal.SIGINT, usual if raised is KeyboardInterrupt else handler)
    came = Leaving(lambda: signal.raise_signal(signal.SIGINT))
    try:
        with LoopGuard("t", session="s", store=store) as guard:
            with pytest.raises(raised):
                guard.before_call("look", {"q": came})
            decision = guard.before_call("look", "q")
            with pytest.raises(raised):
                guard.after_call(decision, [came])
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_outcome_that_is_no_word_is_not_repeated(store: Store) -> None:
    said: list[str] = []
    duration: Any = Posing(float)
    outcomes: list[Any] = ["key=hunter2", ["hunter2"], None, Words("hunter2"), "hunter2" * 9]
    with LoopGuard("t", session="s", store=store, say=said.append) as guard:
        for outcome in outcomes:
            decision = guard.before_call("look", "q")
            guard.after_call(decision, "r", outcome=outcome, duration=duration)
    ends = [e.data["outcome"] for e in store.read("s") if e.type == "call_end"]
    assert ends == ["error"] * 5
    assert "hunter2" not in "".join(said)


def test_a_model_of_annotations_is_read_as_its_fields(store: Store) -> None:
    class Model:
        def __iter__(self) -> Iterator[tuple[str, object]]:
            yield "readOnlyHint", True

    with LoopGuard("t", session="s", store=store) as guard:
        guard.before_call("unheard_of", "q", annotations=Model())  # type: ignore[arg-type]
    (start,) = [e for e in store.read("s") if e.type == "call_start"]
    assert start.data["traits"] == {"readOnlyHint": True}


def test_an_unknown_outcome_is_said_and_can_be_exported(store: Store) -> None:
    said: list[str] = []
    with LoopGuard("t", session="s", store=store, say=said.append) as guard:
        guard.after_call(guard.before_call("look", "q"), "r", outcome="failed")
    (end,) = [e for e in store.read("s") if e.type == "call_end"]
    assert end.data["outcome"] == "error"
    assert "not failed" in said[0]


def test_an_error_that_cannot_be_printed_is_raised_as_it_is(store: Store) -> None:
    error = Silent()

    def fails() -> None:
        raise error

    with LoopGuard("t", session="s", store=store, policy="graded", say=boom) as guard:
        for _ in range(2):
            with pytest.raises(Silent) as raised:
                guard.tool(fails)()
            assert raised.value is error


def test_a_listener_that_raises_is_not_the_agents_trouble(store: Store) -> None:
    def advised(decision: object, text: str) -> None:
        raise Silent

    with LoopGuard("t", store=store, policy="graded", say=boom, on_advice=advised) as guard:
        upper = guard.tool(str.upper)
        given = [upper("a") for _ in range(3)]
    assert given[0] == "A"
    assert given[1].startswith("A\n\n[loopguard]")
    assert "not run" in given[2]


class Shelf:
    """Something with methods to guard."""

    def find(self, book: str, floor: int = 1) -> str:
        return f"{book} on {floor}"

    @classmethod
    def near(cls, book: str) -> str:
        return f"near {book}"

    async def __call__(self, book: str) -> str:
        return f"lent {book}"


def test_a_method_of_an_object_is_known_by_its_arguments(store: Store) -> None:
    shelf = Shelf()
    with LoopGuard("t", session="s", store=store, policy="graded", mode="enforce") as guard:
        find, near = guard.tool(shelf.find), guard.tool(shelf.near)
        assert [find(f"b{n}") for n in range(6)] == [f"b{n} on 1" for n in range(6)]
        assert [near(f"b{n}") for n in range(6)] == [f"near b{n}" for n in range(6)]
        assert find("b", floor=2) == "b on 2"
        guard.tool(functools.partial(shelf.find, "x"))(floor=3)
    starts = [e.data for e in store.read("s") if e.type == "call_start"]
    assert starts[0]["args"] == {"book": "b0", "floor": 1}
    assert starts[6]["args"] == {"book": "b0"}
    assert starts[-1]["tool"] == "find"


def test_an_object_that_is_awaited_is_guarded_like_a_function(store: Store) -> None:
    with LoopGuard("t", session="s", store=store) as guard:
        lend = guard.tool(Shelf(), name="lend")
        assert asyncio.run(lend("b")) == "lent b"
    (end,) = [e for e in store.read("s") if e.type == "call_end"]
    assert end.data["result"] == "lent b"


NAMED = {
    "nul": "a\0b",
    "long": "x" * 1_000_000,
    "surrogate": "\ud800",
    "emoji": "\u00e9\U0001f600",
    "path": "../..",
    "option": "-rf",
}


@pytest.mark.parametrize("kind", NAMED)
def test_any_text_names_a_session_that_can_be_continued(kind: str, store: Store) -> None:
    name = NAMED[kind]
    for calls in (1, 2):
        with LoopGuard(name, session=name, store=store, policy="graded") as guard:
            guard.after_call(guard.before_call("look", "q"), "r")
            environ = {**os.environ, "PYTHONPATH": ""}
            done = subprocess.run([sys.executable, "-I", "-S", "-c", ""], env=environ, timeout=60)
            assert done.returncode == 0
        (known,) = store.sessions()
        assert known.calls == calls
    assert "LOOPGUARD_SESSION" not in os.environ


def test_an_object_can_name_a_session(store: Store) -> None:
    with LoopGuard("t", session=UUID(int=7), store=store) as guard:  # type: ignore[arg-type]
        guard.before_call("look", "q")
    (known,) = store.sessions()
    assert known.session == str(UUID(int=7))
