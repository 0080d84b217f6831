"""The numbers of a session, against a naive recount."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loopguard_core.events import Event, expand
from loopguard_core.stats import SessionStats

calls = st.lists(
    st.tuples(
        st.sampled_from(["read", "sh"]),
        st.sampled_from([{"a": 1, "b": 2}, {"b": 2, "a": 1}, "raw", None]),
        st.sampled_from(["ok", "error", "blocked", "denied", "cancelled", "pending"]),
    ),
    max_size=60,
)


def recorded(made: list[tuple[str, Any, str]]) -> SessionStats:
    events = [
        Event("call", data={"tool": tool, "args": args, "outcome": outcome, "result": ""})
        for tool, args, outcome in made
    ]
    return SessionStats().add_all(event for _, event in expand(events))


def naive_pingpong(keys: list[object]) -> int:
    best = 0
    for start in range(len(keys)):
        length = 1
        while start + length < len(keys) and keys[start + length] != keys[start + length - 1]:
            if length >= 2 and keys[start + length] != keys[start + length - 2]:
                break
            length += 1
        best = max(best, length)
    return best if best >= 4 else 0


def naive_top(made: list[tuple[str, Any, str]], keys: list[object]) -> str:
    rank = {
        key: (max(len(list(g)) for k, g in groupby(keys) if k == key), keys.count(key))
        for key in keys
    }
    best = max(rank.values(), default=(0, 0))
    return next((m[0] for m, key in zip(made, keys, strict=True) if rank[key] == best), "")


@given(calls)
def test_the_fold_equals_a_naive_recount(made: list[tuple[str, Any, str]]) -> None:
    got = recorded(made).to_json()
    keys: list[object] = [
        (tool, str(sorted(args.items()) if isinstance(args, dict) else args))
        for tool, args, _ in made
    ]
    outcomes = [outcome for *_, outcome in made]
    failed = [outcome in ("error", "blocked", "denied") for outcome in outcomes]
    runs = [len(list(group)) for _, group in groupby(keys)]
    longest = max(runs, default=0)
    first = sum(runs[: runs.index(longest)]) if runs else 0
    judged = [f for f, o in zip(failed, outcomes, strict=True) if f or o == "ok"]
    windows = [keys[max(0, i - 19) : i + 1] for i in range(len(keys))]
    assert got == {
        "calls": len(made),
        "distinct": len(set(keys)),
        "longest_run": longest,
        "max_in_20": max((w.count(k) for w in windows for k in w), default=0),
        "pingpong": naive_pingpong(keys),
        "run_failures": sum(failed[first : first + longest]),
        "failures": sum(failed),
        "longest_failure_streak": max(
            (len(list(g)) for bad, g in groupby(judged) if bad), default=0
        ),
        "without_result": outcomes.count("pending"),
        "turns": 0,
        "agents": 1 if made else 0,
        "top_tool": naive_top(made, keys),
    }


def test_turns_agents_and_repeated_ids() -> None:
    start = {"call": "c1", "tool": "sh", "args": {}, "agent": "a"}
    events = [
        Event("user_message"),
        Event("turn_start"),
        Event("call_start", data=start),
        Event("call_start", data=start),
        Event("call_end", data={"call": "nobody", "outcome": "error"}),
        Event("call_start", data={**start, "call": "c2", "agent": "b"}),
        Event("gap", data={"count": 3}),
    ]
    got = SessionStats().add_all(events).to_json()
    assert (got["turns"], got["agents"], got["calls"], got["without_result"]) == (1, 2, 2, 2)


def test_a_format_that_does_not_say_what_failed_claims_nothing() -> None:
    got = recorded([("sh", {}, "ok")]).to_json(failures_known=False)
    assert got["failures"] is got["run_failures"] is got["longest_failure_streak"] is None
