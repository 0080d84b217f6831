"""The fold of ``progress``: deterministic, resumable anywhere, the same by records as by payloads."""

from __future__ import annotations

import marshal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.events import Event, expand, from_json
from loopguard_core.freezing import freeze, thaw
from loopguard_core.guard import Guard
from loopguard_core.identity import Digester, Payload
from loopguard_core.policies.registry import create
from loopguard_core.recording.judging import judge
from loopguard_core.traits import TraitTable

TOOLS = ("read_file", "Bash", "web_search", "todo_write", "send_message", "job_status", "", "spin")
ARGS: tuple[Any, ...] = (
    {"path": "a.py"},
    {"path": "./a.py", "offset": 0, "limit": 10},
    {"command": "sleep 5 && ls", "description": "look"},
    {"command": "sed -n '1,20p' a.py"},
    {"query": "ants"},
    {"to": "usr", "text": "hello"},
    {"to": "usr", "text": "hello again"},
    '{"id": 1}',
    "{broken",
    None,
    [1],
)
RESULTS: tuple[Any, ...] = (
    "",
    "ok",
    "No results found",
    "took 12 ms",
    "took 13 ms",
    "at 2026-01-01T00:00:00Z",
    "at 2026-01-01T00:00:01Z",
    "503 service unavailable",
    "Error: a.py not found",
    {"id": 7, "rows": []},
    "line\n" * 200,
    "line\n" * 200 + "Done in 1.2s",
    "line\n" * 200 + "Done in 1.3s",
)
calls = st.fixed_dictionaries(
    {
        "type": st.just("call"),
        "tool": st.sampled_from(TOOLS),
        "args": st.sampled_from(ARGS),
        "result": st.sampled_from(RESULTS),
        "ok": st.booleans(),
    },
    optional={
        "denied": st.booleans(),
        "agent": st.sampled_from(("", "sub")),
        "message": st.sampled_from(("m1", "m2")),
        "dt": st.sampled_from((0.1, 3.0, 40.0)),
    },
)
others = st.sampled_from(
    (
        {"type": "user_message"},
        {"type": "turn_start"},
        {"type": "assistant_text", "text": "so"},
        {"type": "reset", "scope": "tool", "key": "Bash"},
        {"type": "session_start", "resumed": True},
    )
)
logs = st.lists(st.one_of(calls, calls, calls, others), max_size=40)
loops = st.builds(
    lambda lap, times: (lap * times)[:40],
    st.lists(calls, min_size=1, max_size=4),
    st.integers(1, 12),
)


def full(log: list[dict[str, Any]]) -> list[Event]:
    return [event for _, event in expand(from_json(dict(e)) for e in log)]


def verdicts(guard: Guard, events: list[Event]) -> list[Any]:
    said = []
    for event in events:
        verdict = guard.apply(event)
        said.append(None if verdict is None else verdict.to_json())
    return said


def fresh() -> Guard:
    return Guard(create("progress"), mode="observe")


@given(st.one_of(logs, loops), st.integers(0, 80))
@settings(max_examples=60, deadline=None)
def test_a_fold_resumed_from_any_prefix_says_the_same(log: list[dict[str, Any]], cut: int) -> None:
    events = full(log)
    whole = verdicts(fresh(), events)
    first = fresh()
    before = verdicts(first, events[:cut])
    twin = first.copy()
    verdicts(first, events[cut:])
    assert before + verdicts(twin, events[cut:]) == whole


@given(st.one_of(logs, loops), st.integers(0, 80))
@settings(max_examples=40, deadline=None)
def test_a_frozen_fold_goes_on_in_another_process(log: list[dict[str, Any]], cut: int) -> None:
    events = by_records(full(log), None)
    whole = verdicts(fresh(), events)
    first = fresh()
    before = verdicts(first, events[:cut])
    state = marshal.loads(marshal.dumps(first.dump()))
    second = fresh()
    second.load(state)
    assert before + verdicts(second, events[cut:]) == whole


@given(st.one_of(logs, loops))
@settings(max_examples=60, deadline=None)
def test_records_alone_judge_like_payloads(log: list[dict[str, Any]]) -> None:
    events = full(log)
    whole = verdicts(fresh(), events)
    assert verdicts(fresh(), by_records(events, Recorder())) == whole


@given(st.one_of(logs, loops))
@settings(max_examples=40, deadline=None)
def test_a_process_for_each_call_records_what_judges_the_same(log: list[dict[str, Any]]) -> None:
    events = full(log)
    whole = verdicts(fresh(), events)
    assert verdicts(fresh(), by_records(events, None)) == whole


def test_an_answer_that_came_long_ago_is_known_to_the_letter() -> None:
    """A process that lives took it in another way then, behind a failure, than it does now."""
    long = "line\n" * 200
    answers = ["no", long, "3 found", "nine\nten\n11", long]
    fetch = {"type": "call", "tool": "fetch", "args": {"u": 1}}
    events = full([{**fetch, "result": answer, "ok": answer != "no"} for answer in answers])
    counted = []
    for recorder in (None, Recorder()):
        guard = fresh()
        verdicts(guard, by_records(events, recorder))
        counted.append([count.count for count in guard.counts()])
    assert counted == [[2], [2]]


class Recorder:
    """Takes records as a guard does: one for the whole session."""

    def __init__(self) -> None:
        self.guard = fresh()


def by_records(events: list[Event], recorder: Recorder | None) -> list[Event]:
    """The events with the records of their payloads instead of the payloads.

    Without a *recorder* every record is taken by a guard that has seen nothing before.
    """
    out, asked = [], {}
    digester, table = Digester(), TraitTable()
    for event in events:
        data = dict(event.data)
        guard = recorder.guard if recorder is not None else fresh()
        if event.type == "call_start":
            args = Payload(data.pop("args"), digester)
            data["ids"] = guard.reading.request(data["tool"], args)
            asked[data["call"]] = (data["tool"], args, data["ids"])
        elif event.type == "call_end":
            tool, args, ids = asked[data["call"]]
            result = Payload(data.pop("result"), digester)
            guard.traits = table
            data["ids"] = guard.reading.outcome(tool, args, result, data["outcome"] == "ok", ids)
        told = Event(event.type, event.session, seq=event.seq, ts=event.ts, data=data)
        if recorder is not None:
            guard.apply(told)
        out.append(told)
    return out


@given(st.one_of(logs, loops))
@settings(max_examples=40, deadline=None)
def test_asking_records_nothing_and_counting_changes_nothing(log: list[dict[str, Any]]) -> None:
    events = full(log)
    whole = verdicts(fresh(), events)
    guard, said = fresh(), []
    for event in events:
        if event.type == "call_start":
            guard.rule(event)
            guard.rule(event)
        guard.counts()
        verdict = guard.apply(event)
        said.append(None if verdict is None else verdict.to_json())
    assert said == whole


@given(st.one_of(logs, loops))
@settings(max_examples=40, deadline=None)
def test_every_objection_says_what_why_and_how_often(log: list[dict[str, Any]]) -> None:
    for row in judge([from_json(dict(e)) for e in log], create("progress")):
        for verdict in (row.before, row.after):
            assert verdict is None or verdict.signature.startswith(f"{row.tool}:")
            if verdict is not None and verdict.tier:
                assert verdict.detector and verdict.count > 0 and verdict.reason.endswith(".")
                assert verdict.count >= verdict.threshold > 0


@given(st.one_of(logs, loops))
@settings(max_examples=30, deadline=None)
def test_the_state_is_plain(log: list[dict[str, Any]]) -> None:
    guard = fresh()
    verdicts(guard, full(log))
    state = {k: v for k, v in vars(guard.policy).items() if k in ("_agents", "_started")}
    assert freeze(thaw(freeze(state))) == freeze(state)
