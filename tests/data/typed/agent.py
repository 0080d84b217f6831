"""What an author writes with the shim, as ``mypy --strict`` sees it. It is read by a test and not run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, assert_type

from loopguard_core.shim import Config, ConfigError, Decision, LoopGuard, TurnHalted
from loopguard_core.store.door import open_store

T = TypeVar("T")
told: list[str] = []


def heard(decision: Decision, advice: str) -> None:
    told.append(f"{decision.tool}: {advice}")


guard = LoopGuard(
    "researcher",
    session="nightly",
    parent=None,
    cwd="/tmp",
    store=open_store("events.db"),
    on_advice=heard,
    say=told.append,
    raise_on_halt=False,
    mode="ask",
    policies={"hermes": {"hard_stop_enabled": True}},
)
LoopGuard("two", store="events.db")
LoopGuard(store=3)  # type: ignore[arg-type]
LoopGuard(on_advice=told.append)  # type: ignore[arg-type]

# -- functions: they keep their arguments, and a refused call gives a string


def search(query: str, *, limit: int = 10) -> str:
    return query * limit


search = guard.tool(search)
assert_type(search("x", limit=3), str)
search(3)  # type: ignore[arg-type]
search("x", pages=3)  # type: ignore[call-arg]


@guard.tool
def rows(query: str) -> list[int]:
    return [len(query)]


assert_type(rows("x"), list[int] | str)
rows("x").append(1)  # type: ignore[union-attr]


@guard
def read(path: str) -> bytes:
    return path.encode()


assert_type(read("x"), bytes | str)


@guard.tool(name="look", annotations={"readOnlyHint": True})
def look(at: Mapping[str, Any]) -> dict[str, Any]:
    return dict(at)


assert_type(look({}), dict[str, Any] | str)


@guard.tool
def anything(query: str) -> Any:
    return query


anything("x").whatever()


@guard.tool
def same(value: T) -> T:
    return value


assert_type(same(3), Any)


class Tools:
    @guard.tool
    def find(self, what: str) -> int:
        return len(what)

    @guard.tool(name="seek")
    async def seek(self, what: str) -> int:
        return len(what)


assert_type(Tools().find("x"), int | str)
Tools().find(3)  # type: ignore[arg-type]
assert_type(guard.tool(Tools().find)("x"), int | str)

# -- what is awaited


@guard.tool
async def fetch(url: str) -> bytes:
    return url.encode()


async def main() -> None:
    assert_type(await fetch("x"), bytes | str)
    assert_type(await Tools().seek("x"), int | str)
    decision = await guard.before_call_async("search", {"query": "x"}, call="c", wait_limit=3.0)
    assert_type(decision, Decision)


# -- turns and explicit calls


class Researcher(LoopGuard):
    def ask(self) -> str:
        return self.agent


def run() -> int:
    try:
        with Researcher("researcher") as mine:
            assert_type(mine.ask(), str)
            mine.new_turn("find me a paper")
            mine.new_turn("heartbeat", human=False)
            mine.used(input=3, output=4, cache_read=1, cache_write=1, cost_usd=0.1, message="m")
            decision = mine.before_call("search", {"query": "x"}, message="m", agent="a")
            if not decision.run:
                assert_type(decision.message, str)
                assert_type(decision.request, str)
                assert_type(decision.ends_turn, bool)
                assert_type(mine.after_call(decision), str | None)
            assert_type(mine.after_call(decision, "text", outcome="error", duration=0.5), str)
            assert_type(mine.after_call(decision, [1]), list[int] | str)
            assert_type(mine.take_advice(), list[str])
            mine.close("done")
    except TurnHalted as halted:
        assert_type(halted.message, str)
        assert_type(halted.window, list[str])
        assert_type((halted.tool, halted.signature, halted.request), tuple[str, str, str])
        return halted.count
    except ConfigError as error:
        print(error)
    return len(Config({"mode": "ask"}).mode)
