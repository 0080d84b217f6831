"""Judging and comparing recordings: rows in order, refused calls judged on, and what it would have cost."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_core.events import Event, expand, from_json
from loopguard_core.guard import Guard
from loopguard_core.policies.registry import create, names
from loopguard_core.recording.comparing import compare
from loopguard_core.recording.judging import judge
from loopguard_core.verdict import Tier


def call(tool: str = "look", args: Any = None, result: Any = "same", **more: Any) -> Event:
    data = {"type": "call", "tool": tool, "args": args, "result": result, "ok": True, **more}
    return from_json(data)


def tiers(events: list[Event], policy: str, **options: Any) -> list[tuple[Any, Any]]:
    rows = [row.to_json() for row in judge(events, create(policy, options))]
    return [(row["before"], row["after"]) for row in rows]


def test_a_row_says_what_repeated_how_often_and_what_to_do() -> None:
    row = list(judge([call(args={"q": 1})] * 3, create("graded")))[2].to_json()
    assert (row["at"], row["before"], row["after"]) == (2, "block", None)
    assert (row["count"], row["threshold"], row["detector"]) == (3, 3, "repeated_tool_calls")
    assert row["signature"].startswith("look:")
    assert "look has now been requested 3 times in a row" in row["reason"]


def test_split_calls_are_judged_where_they_start_and_keep_their_order() -> None:
    events = [
        Event("call_start", data={"call": "a", "tool": "slow", "args": {}}),
        Event("call_start", data={"call": "b", "tool": "quick", "args": {}}),
        Event("call_end", data={"call": "b", "outcome": "ok", "result": "x"}),
        Event("call_end", data={"call": "a", "outcome": "ok", "result": "y"}),
        Event("call_start", data={"call": "c", "tool": "never ends", "args": {}}),
    ]
    rows = list(judge(events, create("graded")))
    assert [(row.at, row.tool) for row in rows] == [(0, "slow"), (1, "quick"), (4, "never ends")]
    assert [row.after is None for row in rows] == [False, False, True]


def test_rows_come_while_the_input_is_still_open() -> None:
    seen: list[int] = []

    def endless() -> Any:
        for index in range(5):
            seen.append(index)
            yield call()

    assert next(judge(endless(), create("graded"))).at == 0
    assert len(seen) <= 2


def test_each_session_has_its_own_counters() -> None:
    events = [call(session=name) for name in "abababab"]
    stopped = [row.stops for row in judge(events, create("graded"))]
    assert stopped == [False] * 4 + [True] * 4


def test_denied_calls_are_seen_by_those_whose_original_sees_them() -> None:
    denied = [call(ok=False, denied=True)] * 10
    assert tiers(denied, "hermes", hard_stop_enabled=True) == [(None, None)] * 10
    assert tiers(denied, "hermes-seed", hard_stop_enabled=True)[5] == ("block", None)
    assert tiers(denied, "tool-loop-guard")[2] == ("halt", None)
    assert tiers(denied, "dsh")[9] == ("allow", "allow")


def test_dsh_counts_denied_calls_past_its_hard_threshold_and_then_blocks() -> None:
    events = [call(ok=False, denied=True)] * 9 + [call(ok=False)]
    rows = list(judge(events, create("dsh")))
    assert [row.to_json()["count"] for row in rows] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 9]
    assert rows[9].to_json()["before"] == "block"


def test_a_comparison_counts_first_tiers_stops_and_what_they_would_have_cost() -> None:
    polling = [call(result=f"state {n}") for n in range(6)]
    policies = {name: create(name) for name in ("graded", "tool-loop-guard", "dsh")}
    found = {c.policy: c for c in compare([("poll", polling)], policies)}
    graded = found["graded"]
    assert graded.first == {Tier.WARN: 2, Tier.BLOCK: 3, Tier.HALT: 4}
    assert (graded.calls, graded.stops, graded.not_run, graded.stopped_progress) == (6, 4, 4, 4)
    assert found["tool-loop-guard"].first[Tier.HALT] == 3
    assert found["dsh"].to_json()["not_run"] == 0


def test_a_halt_ends_the_turn_and_repeated_results_are_no_progress() -> None:
    events = [*[call()] * 4, call("other"), Event("user_message"), call("other")]
    (found,) = compare([("loop", events)], {"graded": create("graded")})
    assert (found.stops, found.not_run, found.stopped_progress) == (2, 3, 0)


def test_comparing_leaves_the_policies_as_they_were() -> None:
    policy = create("tool-loop-guard")
    list(compare([("loop", [call()] * 5)], {"it": policy}))
    assert policy.counts() == []


@pytest.mark.parametrize("policy", names())
def test_records_that_say_nothing_are_made_again(policy: str) -> None:
    (scheme,) = create(policy).schemes
    broken = [
        {},
        {"a": 1, "s": 2},
        {"s": "a", "f": "r", "g": [0]},
        {"x": [], "r": None, "b": ["1"]},
    ]
    plain = [event for _, event in expand([call(args={"path": "a"})] * 9)]
    forged = [
        from_json({**event.to_json(), "ids": {scheme.name: broken[at // 2 % len(broken)]}})
        for at, event in enumerate(plain)
    ]
    assert [row.to_json() for row in judge(forged, create(policy))] == [
        row.to_json() for row in judge(plain, create(policy))
    ]
    guard, other = Guard(create(policy)), Guard(create(policy))
    for event, same in zip(forged, plain, strict=True):
        assert guard.apply(event) == other.apply(same)


def test_an_annotation_counts_for_the_result_as_well() -> None:
    hints = {"readOnlyHint": True}
    rows = list(
        judge(
            [call("fetch_it", {"id": 1}, f"a\nread {n} times", traits=hints) for n in range(9)],
            create("progress"),
        )
    )
    assert rows[-1].before is not None
    assert rows[-1].before.stops


@pytest.mark.parametrize("policy", names())
def test_a_verdict_names_the_match_function_behind_it(policy: str) -> None:
    options: dict[str, Any] = {"match": {"*": lambda tool, args: "one"}}
    reads = [call("read_file", {"n": n}) for n in range(9)]
    rows = list(judge(reads, create(policy, options)))
    said = [v for row in rows for v in (row.before, row.after) if v is not None and v.tier]
    assert said and all("identity by a match function" in verdict.traits for verdict in said)
    plain = list(judge([call("read_file", {"n": 1})] * 9, create(policy)))
    given = [v for row in plain for v in (row.before, row.after) if v is not None]
    assert not any("identity by a match function" in verdict.traits for verdict in given)


@pytest.mark.parametrize("policy", ["hermes", "hermes-seed", "hermes-0.22"])
def test_a_list_of_readers_is_named(policy: str) -> None:
    rows = list(judge([call("read_file", {"path": "a"})] * 4, create(policy)))
    assert rows[-1].after is not None
    assert "read-only" in rows[-1].after.traits
