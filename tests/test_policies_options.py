"""Making policies: names, options, own match functions, thresholds for one tool, and every wrong way."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_core.events import from_json
from loopguard_core.policies.options import PolicyError
from loopguard_core.policies.registry import create, describe, names
from loopguard_core.recording.judging import judge
from loopguard_core.verdict import Tier


def tiers(policy: str | list[str], options: Any, calls: list[tuple[str, Any]], **more: Any) -> str:
    """The strongest tier of every call, a letter each; more fields of the calls are keywords."""
    events = [
        from_json({"type": "call", "tool": tool, "args": args, "result": "same", **more})
        for tool, args in calls
    ]
    rows = judge(events, create(policy, options))
    return "".join("." if not (v := row.verdict) or not v.tier else v.tier.word[0] for row in rows)


def lowered(tool: str, args: Any) -> Any:
    """A match function for the tests: only the query matters, in any case."""
    return args["q"].lower()


WRONG: list[tuple[Any, Any, str]] = [
    ("herms", {}, "no policy 'herms'; known: "),
    (7, {}, "no policy 7"),
    ([], {}, "empty"),
    (["dsh", "dsh"], {}, "stands twice"),
    (["dsh", "nous"], {"hermes": {}}, "'hermes', which is not one of the policies"),
    ("hermes", {"hard_stop": True}, "no option 'hard_stop' here; known: "),
    ("hermes", {"hard_stop_enabled": "maybe"}, "hard_stop_enabled is true or false"),
    ("hermes", {"exact_failure_block_after": 0}, "whole number from 1 (calls), not 0"),
    ("hermes", {"exact_failure_block_after": "many"}, "not 'many'"),
    ("hermes", {"hard_stop_enabled": True, "no_progress_warn_after": 6}, "can never fire"),
    ("hermes", {"warn_after": {"exact": 2}}, "warn_after: there is no option 'exact'"),
    ("hermes", {"warn_after": 3}, "table of names and values"),
    ("hermes", {"idempotent_tools": "read_file"}, "list of tool names"),
    ("hermes-seed", {"exact_failure_warn_after": 2}, "no option"),
    ("hermes-seed", {"hard_stop_enabled": True, "exact_warn_after": 9}, "can never fire"),
    ("hermes-0.22", {"loop_caps": {"max_web_searches": -1}}, "whole number from 0"),
    ("tool-loop-guard", {"window": 1}, "window is a whole number from 2"),
    ("tool-loop-guard", {"threshold": 1}, "threshold is a whole number from 2"),
    ("tool-loop-guard", {"window": 3, "threshold": 4}, "can never be reached in a window of 3"),
    ("tool-loop-guard", {"threshold": True}, "not True"),
    ("tool-loop-guard", {"tools": {"t": {"threshold": 9}}}, "tools.t: threshold 9 can never be"),
    ("graded", {"warn_at": 3}, "block_at 3 can never fire"),
    ("graded", {"warn_at": 1}, "must lie above the first call"),
    ("graded", {"warn_at": 0, "block_at": 0, "halt_at": 0}, "every tier is off"),
    ("graded", {"count": "sometimes"}, "count is consecutive or cumulative_in_task"),
    ("graded", {"mutating": {"block": 4}}, "mutating: halt 3 can never fire"),
    ("dsh", {"softThreshold": 8}, "hardThreshold 8 must exceed softThreshold 8"),
    ("dsh", {"softThreshold": 1.5}, "softThreshold is a whole number"),
    ("dsh", {"softThreshold": 0, "hardThreshold": 0}, "can never fire"),
    ("dsh", {"resultHashChars": 0}, "resultHashChars is a whole number from 1"),
    ("nous", {"thresholds": 3}, "thresholds is a list"),
    ("nous", {"thresholds": [1, "4"]}, "can ever fire"),
    ("nous", {"excluded_tools": [1]}, "list of tool names"),
    ("dsh", {"match": {"t": "nowhere"}}, "match.t is a function or its place as 'module:function'"),
    ("dsh", {"match": {"t": "no.such.module:key"}}, "cannot be loaded"),
    ("dsh", {"match": {"t": "json:nothing"}}, "cannot be loaded"),
    ("dsh", {"match": {"t": "json:__doc__"}}, "is not a function"),
    ("dsh", [], "table of names and values"),
]


@pytest.mark.parametrize(("policy", "options", "said"), WRONG, ids=lambda v: str(v)[:40])
def test_what_cannot_be_meant_is_one_line_with_its_place(
    policy: Any, options: Any, said: str
) -> None:
    with pytest.raises(PolicyError) as raised:
        create(policy, options, where="loopguard.toml")
    assert said in str(raised.value)
    assert str(raised.value).startswith("loopguard.toml")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", names())
def test_every_policy_says_what_it_is_and_is_made_without_options(name: str) -> None:
    assert name.split("-")[0] in describe(name)
    policy = create(name)
    assert policy.name == name
    assert policy.counts() == []


def test_options_are_read_as_upstream_reads_them() -> None:
    flat = {"hard_stop_enabled": "on", "exact_failure_block_after": "3"}
    nested = {"hard_stop_enabled": 1, "hard_stop_after": {"exact_failure": 3}}
    both = {**flat, "exact_failure_block_after": 9, "hard_stop_after": {"exact_failure": 3}}
    for options in (flat, nested, both):
        assert tiers("hermes", options, [("x", {})] * 4, ok=False) == ".wwb"
    assert tiers("nous", {"thresholds": [2, 2, 0, "3"]}, [("x", {})] * 4) == ".w.."


CALLS = [("x", {"q": "A"}), ("x", {"q": "a"}), ("x", {"q": "A"}), ("x", {"q": "a"})]
EVERY: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # policy: options under which the fourth identical call has a verdict, fields of the calls
    "hermes": ({"exact_failure_warn_after": 4, "same_tool_failure_warn_after": 99}, {"ok": False}),
    "hermes-0.22": (
        {"exact_failure_warn_after": 4, "same_tool_failure_warn_after": 99},
        {"ok": False},
    ),
    "hermes-seed": ({"exact_warn_after": 4}, {"ok": False}),
    "tool-loop-guard": ({"threshold": 4}, {}),
    "graded": ({"warn_at": 4, "block_at": 5, "halt_at": 6}, {}),
    "dsh": ({}, {}),
    "nous": ({"thresholds": [4]}, {}),
}


@pytest.mark.parametrize("name", list(EVERY))
@pytest.mark.parametrize("match", [{"x": lowered}, {"*": f"{__name__}:lowered"}])
def test_own_match_functions_make_calls_the_same(name: str, match: Any) -> None:
    options, fields = EVERY[name]
    assert tiers(name, options, CALLS, **fields) == "...."
    assert tiers(name, {**options, "match": match}, CALLS, **fields)[:3] == "..."
    assert tiers(name, {**options, "match": match}, CALLS, **fields)[3] in "wh"


@pytest.mark.parametrize("name", list(EVERY))
def test_a_match_function_that_fails_or_declines_leaves_the_call_to_the_policy(name: str) -> None:
    options, fields = EVERY[name]

    def failing(tool: str, args: Any) -> Any:
        raise RuntimeError

    for function in (failing, lambda tool, args: None):
        got = tiers(name, {**options, "match": {"*": function}}, [("x", {})] * 4, **fields)
        assert got == tiers(name, options, [("x", {})] * 4, **fields)


def test_match_functions_have_their_own_records() -> None:
    plain, mine = create("dsh"), create("dsh", {"match": {"x": lowered}})
    other = create("dsh", {"match": {"y": lowered}})
    assert len({p.schemes[0].name for p in (plain, mine, other)}) == 3


def test_a_key_function_under_its_upstream_name() -> None:
    options = {"key_fn": lambda tool, args: args["q"].lower()}
    assert tiers("tool-loop-guard", options, CALLS) == "..hh"


PER_TOOL: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    # policy: options, those of the tool "x", fields of the calls
    "hermes": ({}, {"exact_failure_warn_after": 3}, {"ok": False}),
    "hermes-0.22": ({}, {"exact_failure_warn_after": 3}, {"ok": False}),
    "hermes-seed": ({}, {"exact_warn_after": 3}, {"ok": False}),
    "tool-loop-guard": ({}, {"threshold": 4}, {}),
    "graded": ({}, {"warn_at": 3, "block_at": 4, "halt_at": 5}, {}),
    "dsh": ({"softThreshold": 2}, {"softThreshold": 3}, {}),
    "nous": ({"thresholds": [2]}, {"thresholds": [3]}, {}),
}


@pytest.mark.parametrize("name", list(PER_TOOL))
def test_a_tool_can_have_its_own_thresholds(name: str) -> None:
    options, own, fields = PER_TOOL[name]
    options = {**options, "tools": {"x": own}}
    first = {
        tool: next(
            at for at, t in enumerate(tiers(name, options, [(tool, {})] * 6, **fields)) if t != "."
        )
        for tool in ("x", "y")
    }
    assert first["x"] == first["y"] + 1


def test_mutating_tools_have_a_ladder_of_their_own_when_it_is_asked_for() -> None:
    calls: list[tuple[str, object]] = [("Write", {})] * 4
    assert tiers("graded", {}, calls) == ".wbh"
    assert tiers("graded", {"mutating": {}}, calls) == ".bhh"
    assert tiers("graded", {"mutating": {"warn": 2, "block": 3, "halt": 5}}, calls) == ".wbb"


def test_side_by_side_the_strongest_wins_and_says_whose_it_is() -> None:
    events = [from_json({"type": "call", "tool": "x", "args": {}, "result": "r"})] * 5
    policy = create(["nous", "graded"], {"graded": {"warn_at": 4, "block_at": 5, "halt_at": 6}})
    rows = list(judge(events, policy))
    said = [(row.verdict.tier, row.verdict.policy) for row in rows if row.verdict is not None]
    assert said[2:] == [(Tier.WARN, "nous"), (Tier.WARN, "graded"), (Tier.BLOCK, "graded")]
    assert policy.name == "nous+graded"
    assert len({row.verdict.signature for row in rows if row.verdict is not None}) == 1
    policy.reset(signature=rows[0].verdict.signature if rows[0].verdict else "")
    assert policy.counts() == []


@pytest.mark.parametrize("name", list(EVERY))
def test_counters_can_be_looked_at_and_cleared(name: str) -> None:
    options, fields = EVERY[name]
    policy = create(name, options)
    events = [
        from_json({"type": "call", "tool": tool, "args": {}, "result": "r", **fields})
        for tool in ("y", "x", "x", "x")
    ]
    rows = list(judge(events, policy))
    found = [count for count in policy.counts() if count.tool == "x" and count.count == 3]
    assert found, policy.counts()
    signature = rows[-1].to_json()["signature"]
    assert signature in {count.key for count in found}
    step = found[0].next
    assert step is not None and step[1] >= 4
    policy.reset(signature=signature)
    assert not [count for count in policy.counts() if count.key == signature]
    list(judge(events, policy))
    policy.reset(tool="x")
    assert {count.tool for count in policy.counts()} <= {"y"}
    policy.reset()
    assert policy.counts() == []
