"""What a verdict of ``progress`` says of itself, its counters and its options."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_core.events import from_json
from loopguard_core.policies.options import PolicyError
from loopguard_core.policies.registry import create
from loopguard_core.recording.judging import Row, judge
from loopguard_core.traits import Traits, TraitTable
from loopguard_core.verdict import Tier


def rows(
    calls: list[dict[str, Any]],
    options: dict[str, Any] | None = None,
    traits: TraitTable | None = None,
) -> list[Row]:
    events = [from_json({"type": "call", **call}) for call in calls]
    return list(judge(events, create("progress", options), traits=traits))


def first(found: list[Row], tier: Tier) -> int:
    """The number of the first call with *tier*, 0 for never."""
    for number, row in enumerate(found, 1):
        if row.verdict is not None and row.verdict.tier >= tier:
            return number
    return 0


def test_a_verdict_names_traits_and_normalisations() -> None:
    calls = [
        {
            "tool": "Bash",
            "args": {"command": "ls  x", "description": f"{n}"},
            "result": f"a, took {n} ms",
        }
        for n in range(5)
    ]
    verdict = rows(calls)[-1].after
    assert verdict is not None and verdict.tier is Tier.WARN
    assert {
        "ignored fields normalised",
        "white space normalised",
        "volatile parts ignored",
    } <= set(verdict.traits)


def test_traits_come_from_the_configuration() -> None:
    table = TraitTable({"send": Traits(identity_fields=("to",), mutating=True, source="config")})
    calls = [{"tool": "send", "args": {"to": "a", "x": n}, "result": "ok"} for n in range(7)]
    found = rows(calls, traits=table)
    assert first(found, Tier.BLOCK) == 6
    verdict = found[-1].before
    assert verdict is not None and "traits from config" in verdict.traits
    assert first(rows(calls), Tier.WARN) == 0


def test_thresholds_are_options_also_for_one_tool() -> None:
    calls = [{"tool": "spin", "args": {}, "result": "same"} for _ in range(40)]
    assert first(rows(calls), Tier.BLOCK) == 6
    assert first(rows(calls, {"warn_at": 2, "block_at": 4, "halt_at": 8}), Tier.BLOCK) == 4
    assert first(rows(calls, {"warn_at": 2, "block_at": 4, "halt_at": 8}), Tier.HALT) == 8
    assert first(rows(calls, {"tools": {"spin": {"block_at": 12}}}), Tier.BLOCK) == 12
    assert first(rows(calls, {"block_at": 0}), Tier.BLOCK) == 0
    assert first(rows(calls), Tier.HALT) == 16


@pytest.mark.parametrize(
    "options",
    [
        {"warn_at": 1},
        {"block_at": 3, "warn_at": 3},
        {"halt_at": 5},
        {"warn_at": 0, "block_at": 0},
        {"warn_at": "soon"},
        {"speed": 3},
        {"tools": {"x": {"block_at": 1}}},
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match="progress"):
        create("progress", options)


def test_own_match_functions_make_calls_equal() -> None:
    options = {"match": {"ask": lambda tool, args: args["q"].split()[0]}}
    calls = [{"tool": "ask", "args": {"q": f"ants {n}"}, "result": "a page"} for n in range(7)]
    assert first(rows(calls, options), Tier.BLOCK) == 6


def test_counters_climb_towards_their_thresholds() -> None:
    policy = create("progress")
    call = {"type": "call", "tool": "read_file", "args": {"path": "a"}, "result": "same"}
    list(judge([from_json(dict(call)) for _ in range(4)], policy))
    (count,) = policy.counts()
    assert (count.count, count.detector, count.tier) == (4, "repetition", Tier.WARN)
    assert count.next == (Tier.BLOCK, 6)
    assert count.key.startswith("read_file:") and count.tool == "read_file"


def test_counters_of_varying_calls_stand_under_the_tool() -> None:
    policy = create("progress")
    calls = [
        {
            "type": "call",
            "tool": "read_file",
            "args": {"path": f"f{n}"},
            "result": f"f{n} not found",
            "ok": False,
        }
        for n in range(5)
    ]
    list(judge([from_json(c) for c in calls], policy))
    (count,) = policy.counts()
    assert (count.key, count.detector, count.tier) == ("read_file", "variation", Tier.WARN)


def test_a_reset_clears_a_tool_a_signature_or_all() -> None:
    for given in ({}, {"tool": "spin"}, {"signature": "spin"}):
        policy = create("progress")
        call = {"type": "call", "tool": "spin", "args": {}, "result": "same"}
        found = list(judge([from_json(dict(call)) for _ in range(6)], policy))
        verdict = found[-1].before
        assert verdict is not None and verdict.stops
        if "signature" in given:
            given = {"signature": verdict.signature}
        policy.reset(**given)
        assert policy.counts() == []
        again = next(iter(judge([from_json(dict(call))], policy))).before
        assert again is not None and not again.stops
