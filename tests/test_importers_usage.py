"""Tokens and money: what each format says of them, each answer once, and only where it is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from importing import opened
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.guard import Guard
from loopguard_core.importers.usage import money, tokens
from loopguard_core.policies.registry import create
from loopguard_core.recording.judging import judge
from loopguard_core.recording.replay import Recording
from loopguard_core.spending import Spending
from loopguard_core.store.door import open_store
from shared import shared

ISO = "2026-05-01T10:00:0{}Z"


def used(events: list[Event]) -> list[dict[str, Any]]:
    return [e.data for e in events if e.type == "usage"]


def lines(place: Path, *records: Any) -> Path:
    place.write_text("".join(json.dumps(r) + "\n" for r in records))
    return place


def only(place: Path) -> list[Event]:
    ((_, events),) = opened(place)
    return events


def claude(number: int, message: str, block: dict[str, Any], usage: dict[str, Any]) -> Any:
    said = {"role": "assistant", "id": message, "content": [block], "usage": usage}
    return {
        "type": "assistant",
        "uuid": f"u{number}",
        "sessionId": "s",
        "timestamp": ISO.format(number),
        "message": said,
    }


def test_claude_repeats_its_usage_on_each_record_of_a_message(tmp_path: Path) -> None:
    early = {"input_tokens": 10, "cache_read_input_tokens": 500, "output_tokens": 1}
    late = {**early, "cache_creation_input_tokens": 40, "output_tokens": 77}
    use = {"type": "tool_use", "name": "Bash", "input": {}}
    file = lines(
        tmp_path / "s.jsonl",
        claude(1, "m1", {"type": "text", "text": "I look."}, early),
        claude(2, "m1", {**use, "id": "c1"}, early),
        claude(3, "m1", {**use, "id": "c2"}, late),
        claude(4, "m2", {**use, "id": "c3"}, early),
        {"type": "cost-state", "sessionId": "s", "totalCostUSD": 0.25},
    )
    assert used(only(file)) == [
        {"message": "m1", "input": 10, "output": 1, "cache_read": 500},
        {"message": "m1", "output": 76, "cache_write": 40},
        {"message": "m2", "input": 10, "output": 1, "cache_read": 500},
        {"of": "session", "cost_usd": 0.25},
    ]


def codex(number: int, kind: str, **payload: Any) -> Any:
    return {"timestamp": ISO.format(number), "type": kind, "payload": payload}


def counted(number: int, total: int, last: int) -> Any:
    def usage(tokens: int) -> dict[str, int]:
        cached = {"cached_input_tokens": tokens // 2, "reasoning_output_tokens": 1}
        return {"input_tokens": tokens, **cached, "output_tokens": 5, "total_tokens": tokens + 5}

    info = {"total_token_usage": usage(total), "last_token_usage": usage(last)}
    return codex(number, "event_msg", type="token_count", info=info)


def test_codex_counts_an_answer_once_and_takes_what_was_cached_out(tmp_path: Path) -> None:
    call = {"type": "function_call", "name": "exec", "arguments": "{}"}
    file = lines(
        tmp_path / "rollout.jsonl",
        codex(0, "session_meta", id="s", cwd="/"),
        codex(1, "event_msg", type="token_count", info=None),
        codex(1, "response_item", call_id="c1", **call),
        counted(2, 100, 100),
        counted(2, 100, 100),  # only its rate limits were news
        codex(3, "response_item", type="function_call_output", call_id="c1", output="x"),
        codex(4, "response_item", call_id="c2", **call),
        counted(5, 400, 300),
    )
    assert used(only(file)) == [
        {"message": "response-1", "input": 50, "output": 5, "cache_read": 50},
        {"message": "response-2", "input": 150, "output": 5, "cache_read": 150},
    ]


GEMINI = {
    "sessionId": "s",
    "projectHash": "p",
    "messages": [
        {
            "id": "g1",
            "type": "gemini",
            "content": "",
            "tokens": {"input": 120, "output": 10, "cached": 25, "thoughts": 15, "total": 145},
            "toolCalls": [{"id": "c1", "name": "ls", "args": {}, "status": "success"}],
        }
    ],
}
PI = {
    "type": "message",
    "id": "a",
    "message": {
        "role": "assistant",
        "content": [{"type": "toolCall", "id": "c1", "name": "ls", "arguments": {}}],
        "usage": {
            "input": 7,
            "output": 3,
            "cacheRead": 90,
            "cacheWrite": 5,
            "totalTokens": 105,
            "cost": {"input": 0.1, "total": 0.5},
        },
    },
}
COPILOT = {
    "type": "session.usage_record",
    "id": "x",
    "parentId": None,
    "data": {
        "usage": {"inputTokens": 30, "outputTokens": 4, "cacheReadTokens": 20, "cost": 1.0},
    },
}
OPENCODE = {
    "info": {"id": "ses_1"},
    "messages": [
        {
            "info": {"role": "assistant", "id": "m", "cost": 9.0, "tokens": {"input": 9}},
            "parts": [
                {
                    "type": "step-finish",
                    "cost": 0.02,
                    "tokens": {
                        "input": 11,
                        "output": 6,
                        "reasoning": 2,
                        "cache": {"read": 8, "write": 1},
                    },
                }
            ],
        }
    ],
}
HERMES = {
    "id": "h",
    "source": "cli",
    "started_at": 1.0,
    "ended_at": 2.0,
    "messages": [],
    "input_tokens": 70,
    "output_tokens": 35,
    "estimated_cost_usd": 0.4,
    "cost_status": "estimated",
}
MINI = {
    "trajectory_format": "mini-swe-agent-1.1",
    "messages": [
        {
            "role": "assistant",
            "content": "",
            "extra": {
                "cost": 0.75,
                "response": {"usage": {"prompt_tokens": 8, "completion_tokens": 2}},
            },
        }
    ],
}
ATIF = {
    "schema_version": "ATIF-v1.4",
    "session_id": "t",
    "steps": [
        {
            "step_id": 1,
            "source": "agent",
            "message": "hm",
            "metrics": {
                "prompt_tokens": 50,
                "completion_tokens": 5,
                "cached_tokens": 40,
                "cost_usd": 0.1,
            },
        }
    ],
}
V0 = [
    {
        "id": 0,
        "source": "agent",
        "action": "run",
        "args": {"command": "ls"},
        "tool_call_metadata": {
            "model_response": {
                "id": "r",
                "usage": {
                    "prompt_tokens": 46,
                    "completion_tokens": 4,
                    "total_tokens": 50,
                    "cache_read_input_tokens": 30,
                    "cache_creation_input_tokens": 10,
                },
            }
        },
        "llm_metrics": {"accumulated_cost": cost},
    }
    for cost in (0.5, 1.25)
]
SWE = {
    "trajectory": [{"action": "ls", "observation": "x"}],
    "info": {
        "exit_status": "exit_cost",
        "model_stats": {"instance_cost": 3.0, "tokens_sent": 100, "tokens_received": 9},
    },
}
LINES = {"pi", "copilot", "hermes"}


@pytest.mark.parametrize(
    ("name", "said", "expected"),
    [
        ("gemini", GEMINI, [{"message": "g1", "input": 95, "output": 25, "cache_read": 25}]),
        (
            "pi",
            PI,
            [{"input": 7, "output": 3, "cache_read": 90, "cache_write": 5, "cost_usd": 0.5}],
        ),
        ("copilot", COPILOT, [{"input": 10, "output": 4, "cache_read": 20}]),
        (
            "opencode",
            OPENCODE,
            [{"input": 11, "output": 8, "cache_read": 8, "cache_write": 1, "cost_usd": 0.02}],
        ),
        ("hermes", HERMES, [{"of": "session", "input": 70, "output": 35, "cost_usd": 0.4}]),
        ("mini", MINI, [{"input": 8, "output": 2, "cost_usd": 0.75}]),
        ("atif", ATIF, [{"input": 10, "output": 5, "cache_read": 40, "cost_usd": 0.1}]),
        (
            "openhands",
            V0,
            [
                {"message": "r", "input": 6, "output": 4, "cache_read": 30, "cache_write": 10},
                {"cost_usd": 0.5},
                {"cost_usd": 0.75},
            ],
        ),
        ("swe", SWE, [{"of": "session", "input": 100, "output": 9, "cost_usd": 3.0}]),
    ],
)
def test_each_format_in_our_terms(
    tmp_path: Path, name: str, said: Any, expected: list[dict[str, Any]]
) -> None:
    if name in LINES:
        file = lines(tmp_path / f"{name}.jsonl", said)
    else:
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(said))
    assert used(only(file)) == expected


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (
            [
                {"type": "thread.started", "thread_id": "t"},
                {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 5}},
                {
                    "type": "turn.completed",
                    "usage": {"input_tokens": 40, "cached_input_tokens": 8, "output_tokens": 7},
                },
            ],
            [{"input": 10, "output": 5}, {"input": 22, "output": 2, "cache_read": 8}],
        ),
        (
            [
                {"type": "init", "session_id": "s"},
                {
                    "type": "result",
                    "status": "success",
                    "stats": {
                        "total_tokens": 66,
                        "input_tokens": 50,
                        "input": 40,
                        "cached": 10,
                        "output_tokens": 16,
                    },
                },
            ],
            [{"of": "session", "input": 40, "output": 16, "cache_read": 10}],
        ),
        (
            [
                {
                    "type": "step_finish",
                    "timestamp": 1,
                    "sessionID": "ses_1",
                    "part": {
                        "type": "step-finish",
                        "cost": 0.5,
                        "tokens": {"input": 9, "output": 1, "reasoning": 0, "cache": {"read": 3}},
                    },
                }
            ],
            [{"input": 9, "output": 1, "cache_read": 3, "cost_usd": 0.5}],
        ),
    ],
    ids=["codex exec", "gemini stream", "opencode run"],
)
def test_what_agents_print_of_a_run(
    tmp_path: Path, records: list[Any], expected: list[dict[str, Any]]
) -> None:
    assert used(only(lines(tmp_path / "run.jsonl", *records))) == expected


def test_of_spans_that_tell_of_the_same_answer_the_innermost_counts(tmp_path: Path) -> None:
    def span(own: str, parent: str, start: int, **attributes: Any) -> Any:
        about = {"trace_id": "t", "span_id": own}
        at = {"start_time": ISO.format(start), "end_time": ISO.format(start + 1)}
        named = {k.replace("__", "."): v for k, v in attributes.items()}
        return {"name": own, "context": about, "parent_id": parent, **at, "attributes": named}

    chat = {"gen_ai__operation__name": "chat"}
    file = lines(
        tmp_path / "spans.jsonl",
        span("agent", "", 1, gen_ai__operation__name="invoke_agent", gen_ai__usage__input_tokens=9),
        span("outer", "agent", 2, **chat, gen_ai__usage__input_tokens=999),
        span(
            "inner",
            "outer",
            2,
            **chat,
            gen_ai__usage__input_tokens=20,
            gen_ai__usage__output_tokens=3,
            gen_ai__usage__cache_read__input_tokens=15,
            gen_ai__usage__cost=0.02,
        ),
        span("tool", "agent", 4, gen_ai__operation__name="execute_tool", gen_ai__tool__name="ls"),
    )
    assert used(only(file)) == [{"input": 5, "output": 3, "cache_read": 15, "cost_usd": 0.02}]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (None, {}),
        ("many", {}),
        ({"input_tokens": "9", "output_tokens": True}, {}),
        ({"input_tokens": -1, "output_tokens": float("nan")}, {}),
        ({"input_tokens": 1e300, "output_tokens": 0.5}, {}),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 99}}, {"cache_read": 99}),
        ({"input": 3, "output": 2, "cached": 1, "total": 6}, {"input": 3, "output": 2, "cache_read": 1}),
    ],
)  # fmt: skip
def test_what_is_no_count_is_none(said: Any, expected: dict[str, int]) -> None:
    assert tokens(said, inside=True) == expected


def test_money_is_never_made_up() -> None:
    assert money(None, 0, False, "3", float("inf"), float("nan"), -1.0) == {}
    assert money(None, 0.5, 0.7) == {"cost_usd": 0.5}


# -- what is made of it ------------------------------------------------------------------------------


def test_an_answer_belongs_to_its_calls_wherever_its_usage_stands() -> None:
    spending = Spending()
    for row, said in [(0, 100), (1, 10), (1, 1), (3, 1000)]:
        spending.add(row, {"input": said, "cost_usd": said / 1000})
    spending.add(3, {"of": "session", "cost_usd": 5.0})
    assert spending.between(0, 0).tokens == 100
    assert spending.between(1, 2).tokens == 11
    assert spending.between(1, 3).tokens == 1011
    assert spending.between(2, 2).cost is None
    assert (spending.total.tokens, spending.total.cost) == (1111, 5.0)


def session(late: bool, ts: bool = True) -> list[Event]:
    """Four answers with two equal calls each; usage stands before or after the calls of its answer."""
    out: list[Event] = []

    def add(kind: str, at: float, **data: Any) -> None:
        out.append(Event(kind, "s", seq=len(out) + 1, ts=at if ts else None, data=data))

    for turn in range(4):
        usage = {"message": f"m{turn}", "input": 10**turn}
        if not late:
            add("usage", turn * 10, **usage)
        for half in "ab":
            add("call_start", turn * 10 + 1, call=f"c{turn}{half}", tool="t", args={}, message=f"m{turn}")  # fmt: skip
        if late:
            add("usage", turn * 10 + 1, **usage)
        for half in "ab":
            add("call_end", turn * 10 + 2, call=f"c{turn}{half}", outcome="ok", result="same")
    return out


@pytest.mark.parametrize("late", [False, True])
def test_a_recording_sums_what_the_repeats_used_up(late: bool) -> None:
    recording = Recording.of(session(late), Guard(create("progress"), mode="observe"))
    assert recording.spending.between(0, 1).tokens == 1
    assert recording.spending.between(2, 7).tokens == 1110
    assert recording.spending.total.tokens == 1111
    assert not recording.marks


@pytest.mark.parametrize("policy", ["progress", "graded", "nous", "dsh"])
@given(places=st.lists(st.tuples(st.integers(0, 20), st.floats(0, 1e6)), max_size=6))
def test_usage_changes_no_verdict_wherever_it_stands(
    policy: str, places: list[tuple[int, float]]
) -> None:
    def said(events: list[Event]) -> list[Any]:
        recording = Recording(Guard(create(policy), mode="enforce"))
        recording.append(events)
        rows = [row.to_json() | {"at": 0} for row in judge(events, create(policy))]
        return [rows, list(recording.tiers), recording.guard.counts() and len(recording)]

    without = [e for e in session(True) if e.type != "usage"]
    events = list(without)
    for place, ts in places:
        events.insert(place, Event("usage", "s", ts=ts, data={"input": 5, "message": "m1"}))
    for number, event in enumerate(events, 1):
        event.seq = number
    found = said(events)
    for number, event in enumerate(without, 1):
        event.seq = number
    assert found == said(without)


def test_what_was_imported_with_its_usage_is_known_the_next_time(tmp_path: Path) -> None:
    from commands import command

    usage = {"input_tokens": 10, "output_tokens": 1}
    use = {"type": "tool_use", "name": "Bash", "input": {}}
    file = tmp_path / "s.jsonl"
    records = [claude(n, f"m{n}", {**use, "id": f"c{n}"}, usage) for n in range(1, 6)]
    store = tmp_path / "store.db"
    for part in (2, 4, 5, 5):
        lines(file, *records[:part])
        done = command(store, "import", str(file))
        assert (done.code, "rewritten" in done.err) == (0, False)
    kinds = [e.type for e in open_store(str(store)).read("s")]
    assert kinds == ["session_start"] + ["usage", "call_start"] * 5


def test_totals_of_real_sessions_are_those_that_they_state() -> None:
    rollout = shared("sessions", "codex", "codex_0.118_poll_loop_exec.jsonl")
    stated: dict[str, Any] = {}
    for line in rollout.read_text("utf-8").splitlines():
        payload = json.loads(line)["payload"]
        if payload.get("type") == "token_count" and payload.get("info"):
            stated = payload["info"]["total_token_usage"]
    recording = Recording.of(only(rollout), Guard(Config().make_policy(), mode="observe"))
    assert recording.spending.total.tokens == stated["total_tokens"]
    log = shared("sessions", "inspect", "gen_0.3.285_loop.json")
    (model,) = json.loads(log.read_text("utf-8"))["stats"]["model_usage"].values()
    sample = Recording.of(only(log), Guard(Config().make_policy(), mode="observe"))
    assert sample.spending.total.tokens == model["total_tokens"]
