"""A policy is a fold: the same calls give the same verdicts, from any point on, at any window."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.events import Event, from_json
from loopguard_core.policies.base import Policy
from loopguard_core.policies.registry import create, names
from loopguard_core.recording.judging import judge

SETTINGS: dict[str, dict[str, Any]] = {
    "hermes": {"hard_stop_enabled": True, "exact_failure_block_after": 3},
    "hermes-seed": {"hard_stop_enabled": True, "exact_block_after": 3},
    "hermes-0.22": {"hard_stop_enabled": True, "no_progress_block_after": 4},
    "tool-loop-guard": {"window": 4, "threshold": 3},
    "dsh": {"softThreshold": 2, "hardThreshold": 3},
    "nous": {"thresholds": [2, 3], "excluded_tools": ["todo"]},
}
CALLS = st.builds(
    lambda tool, args, result, kind, message: from_json(
        {"type": "call", "tool": tool, "args": {"n": args}, "result": result, **kind, **message}
    ),
    st.sampled_from(["read_file", "terminal", "todo", "write_file"]),
    st.integers(0, 1),
    st.sampled_from(["same", "other"]),
    st.sampled_from([{"ok": True}, {"ok": True}, {"ok": False}, {"ok": False, "denied": True}]),
    st.sampled_from([{}, {}, {"message": "m1"}, {"message": "m2"}]),
)
BETWEEN = st.sampled_from(
    [
        {"type": "user_message"},
        {"type": "turn_start", "reason": "heartbeat"},
        {"type": "assistant_text"},
        {"type": "system_message"},
        {"type": "reset"},
        {"type": "reset", "scope": "tool", "key": "read_file"},
    ]
).map(from_json)
EVENTS = st.lists(CALLS | CALLS | CALLS | CALLS | BETWEEN, max_size=30)


def rows(events: list[Event], policy: Policy) -> list[dict[str, Any]]:
    return [row.to_json() for row in judge(events, policy)]


def counters(policy: Policy) -> list[str]:
    return sorted(f"{count!r} {sorted(count.thresholds.items())}" for count in policy.counts())


@settings(max_examples=60)
@given(EVENTS)
def test_the_same_events_give_the_same_verdicts(events: list[Event]) -> None:
    for name in names():
        one, other = create(name, SETTINGS.get(name)), create(name, SETTINGS.get(name))
        assert rows(events, one) == rows(events, other)
        assert counters(one) == counters(other)


@settings(max_examples=60)
@given(EVENTS, st.integers(0, 30))
def test_a_fold_resumed_from_any_prefix_goes_on_the_same(events: list[Event], cut: int) -> None:
    # a message is one unit, so the cut does not go through one
    while 0 < cut < len(events) and events[cut - 1].data.get("message") is not None:
        cut += 1
    head, tail = events[:cut], events[cut:]
    for at, event in enumerate(events):  # recorded calls have ids, whatever part of them is read
        event.data.setdefault("call", f"c{at}") if event.type == "call" else None
    for name in names():
        whole = create(name, SETTINGS.get(name))
        want = rows(events, whole)
        policy = create(name, SETTINGS.get(name))
        first = rows(head, policy)
        twin = policy.copy()
        before = counters(policy)
        second = rows(tail, twin)
        assert counters(policy) == before, f"{name}: a copy shares state with its original"
        got = first + [{**row, "at": row["at"] + len(head)} for row in second]
        assert got == want, name
        assert counters(twin) == counters(whole), name


@settings(max_examples=60)
@given(EVENTS)
def test_asking_and_looking_record_nothing(events: list[Event]) -> None:
    for name in names():
        quiet, asked = create(name, SETTINGS.get(name)), create(name, SETTINGS.get(name))
        want = rows(events, quiet)

        def spied(policy: Policy = asked) -> Any:
            peek = policy.peek

            def twice(call: Any) -> Any:
                peek(call)
                policy.counts()
                return peek(call)

            policy.peek = twice  # type: ignore[method-assign]
            return policy

        assert rows(events, spied()) == want, name


@given(
    st.lists(st.integers(0, 4), max_size=60),
    st.integers(2, 9).flatmap(lambda w: st.tuples(st.just(w), st.integers(2, w))),
)
def test_the_windowed_count_is_a_naive_recount(keys: list[int], sizes: tuple[int, int]) -> None:
    window, threshold = sizes
    events = [from_json({"type": "call", "tool": "t", "args": {"k": key}}) for key in keys]
    policy = create("tool-loop-guard", {"window": window, "threshold": threshold})
    for at, row in enumerate(rows(events, policy)):
        recount = keys[max(0, at - window + 1) : at + 1].count(keys[at])
        assert row["count"] == recount
        assert row["before"] == ("halt" if recount >= threshold else "allow")
    left = Counter(keys[-window:])
    assert sorted(count.count for count in policy.counts()) == sorted(left.values())


@settings(max_examples=40)
@given(EVENTS)
def test_policies_side_by_side_say_what_the_strongest_of_them_says(events: list[Event]) -> None:
    events = [e for e in events if not e.data.get("denied")]
    alone = [rows(events, create(name)) for name in ("nous", "dsh")]
    both = rows(events, create(["nous", "dsh"]))
    order = (None, "allow", "warn", "block", "halt")
    for index, row in enumerate(both):
        if row["before"] == "block":
            break
        parts = [said[index] for said in alone]
        assert order.index(row["after"]) == max(order.index(part["after"]) for part in parts)
