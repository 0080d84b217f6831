"""The codec: what goes out comes back, and what is not an event is said with its place."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopguard_core.events import Event, EventError, decode, dump, encode, expand, portable

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet=st.characters(blacklist_categories=[])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.text().filter(lambda k: k not in {"type", "session", "seq", "ts"}), json_values
    )
)
def test_any_event_survives_a_round_trip_with_its_unknown_fields(data: dict[str, Any]) -> None:
    event = Event("somebody_elses_type", "s", seq=3, ts=1.5, data=data)
    assert decode(encode(event)) == event


def test_what_json_cannot_carry_is_named_and_never_raises() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    deep: Any = 0
    for _ in range(2_000):
        deep = [deep]

    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    for value in (
        cycle,
        deep,
        Hostile(),
        10**5_000,
        math.nan,
        {1: 2, None: 3},
        b"\xff",
        {"a": {1, 2}},
    ):
        json.loads(dump(value))
        json.dumps(portable(value))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "not JSON"),
        ("[1]", "JSON object"),
        ('{"session":"s"}', "needs a type"),
        ('{"type":"call"}', "needs the field tool"),
        ('{"type":"call","tool":3}', "tool is not a string"),
        ('{"type":"call_end","call":"c","outcome":"fine"}', "outcome is not one of"),
        ('{"type":"halt","ts":"noon"}', "ts is not a number"),
        ('{"type":"halt","seq":-1}', "seq is not"),
        ('{"type":"halt","ts":1' + "0" * 400 + "}", "ts is not a number"),
        ('{"type":"call","tool":"ls","dt":"soon"}', "dt is not a number of seconds"),
        ('{"type":"call","tool":"ls","duration":true}', "duration is not a number"),
        ('{"type":"call","tool":"ls","traits":"r"}', "traits is not an object"),
        ('{"type":"call","tool":"ls","host_spans":[[1]]}', "host_spans is not a list"),
        ('{"type":"call","tool":"ls","ids":{"exact":"a"}}', "ids is not an object with a record"),
        ('{"type":"grant","grant":"g","scope":"tool","budget":"3"}', "budget is not a whole"),
    ],
)
def test_a_line_that_is_no_event_is_said_with_its_place(line: str, says: str) -> None:
    with pytest.raises(EventError, match=says) as caught:
        decode(line, "run.jsonl line 7")
    assert str(caught.value).startswith("run.jsonl line 7: ")


def test_a_recorded_call_becomes_its_start_and_its_end() -> None:
    recorded = [
        Event("user_message"),
        Event("call", data={"tool": "ls", "args": {}, "result": "x", "ok": False, "message": "m"}),
        Event(
            "call", data={"tool": "ls", "args": {}, "result": "no", "denied": True, "message": "m"}
        ),
    ]
    full = list(expand(recorded))
    assert [(at, e.type, e.seq) for at, e in full] == [
        (0, "user_message", 1),
        (1, "call_start", 2),
        (1, "call_end", 3),
        (2, "call_start", 4),
        (2, "call_end", 5),
    ]
    assert [e.data.get("outcome") for _, e in full if e.type == "call_end"] == ["error", "denied"]
    assert [e.data.get("last") for _, e in full if e.type == "call_end"] == [False, None]
