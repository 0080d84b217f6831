"""A user's ``match`` function that fails: the agent goes on, and the person is told once which one, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import command
from loopguard_core.policies import registry
from loopguard_core.shim import LoopGuard
from loopguard_core.store.memory import MemoryStore


def broken(tool: str, args: Any) -> Any:
    """A match function that expects what is not there."""
    return args["q"]


class Mute(Exception):
    """An error that cannot even be said."""

    def __str__(self) -> str:
        raise RuntimeError


def mute(tool: str, args: Any) -> Any:
    raise Mute


def guard(said: list[str], policy: str | list[str], **match: Any) -> LoopGuard:
    names = [policy] if isinstance(policy, str) else policy
    options = {name: {"match": match} for name in names}
    return LoopGuard(
        "a", store=MemoryStore(), say=said.append, mode="observe", policy=policy, policies=options
    )


def asked(guarded: LoopGuard, *tools: str, **args: Any) -> None:
    for tool in tools:
        decision = guarded.before_call(tool, args)
        assert decision.run
        guarded.after_call(decision, "found")


@pytest.mark.parametrize("policy", registry.names())
def test_it_is_said_once_with_its_tool_and_its_error(policy: str) -> None:
    said: list[str] = []
    with guard(said, policy, search=broken, read=broken) as guarded:
        guarded.new_turn("go")
        asked(guarded, "search", "search", page=1)
        asked(guarded, "search", "read", q="ufo")
        (line,) = said
        assert f"policy {policy}, match.search failed for a call of search: KeyError" in line
        asked(guarded, "read", "search", page=2)
    assert len(said) == 2 and "match.read failed for a call of read" in said[1]


def test_a_function_for_all_tools_is_said_once_and_one_policy_hides_no_other() -> None:
    said: list[str] = []
    with guard(said, ["graded", "dsh"], **{"*": mute}) as guarded:
        asked(guarded, "a\x1b[2J\nb", "c", "d")
    assert len(said) == 2 and all(
        "match.* failed for a call of a\\x1b[2J\\nb: Mute(" in line for line in said
    )
    assert "policy graded" in said[0] and "policy dsh" in said[1]


def test_one_that_works_or_declines_is_not_spoken_of() -> None:
    said: list[str] = []
    with guard(said, "graded", **{"*": lambda tool, args: None}) as guarded:
        asked(guarded, "search", q=1)
    with guard(said, "graded", search=broken) as guarded:
        asked(guarded, "search", q=1)
    assert not said


def test_it_is_said_once_where_the_guard_is_folded_anew() -> None:
    said: list[str] = []
    with guard(said, "graded", search=broken) as guarded:
        asked(guarded, "search", page=1)
        assert guarded.live._journal.resume()
        asked(guarded, "search", page=1)
    assert len(said) == 1


def test_who_judges_a_recording_is_told_beside_the_answer(tmp_path: Path) -> None:
    recording = tmp_path / "calls.jsonl"
    call = {"type": "call", "tool": "search", "args": {"page": 1}, "result": "found"}
    recording.write_text(f"{json.dumps(call)}\n" * 3)
    config = tmp_path / "loopguard.toml"
    config.write_text(f'[policies.graded.match]\nsearch = "{__name__}:broken"\n')
    store = tmp_path / "events.db"
    for line in (
        ["judge", str(recording), "--policy", "graded"],
        ["compare", str(recording), "--policies", "graded"],
    ):
        done = command(store, *line, "--config", str(config))
        assert done.err.count("match.search failed for a call of search: KeyError") == 1
        assert "Traceback" not in done.err and done.out
