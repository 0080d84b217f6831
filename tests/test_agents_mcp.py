"""MCP's messages: whatever JSON a client or a server sends, nothing raises and nothing is lost."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loopguard_core.agents import mcp

_NAMES = [
    "id",
    "method",
    "params",
    "result",
    "error",
    "content",
    "name",
    "arguments",
    "_meta",
    "tools",
    "requestId",
    "taskId",
    "task",
    "requestState",
    "progressToken",
    "annotations",
    "serverInfo",
    "message",
    "isError",
]
names = st.sampled_from(_NAMES)
scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
inner = st.dictionaries(names, scalars | st.lists(scalars, max_size=2), max_size=3)
values = scalars | inner | st.lists(inner, max_size=2)
messages = st.dictionaries(names, values | st.dictionaries(names, values, max_size=3), max_size=5)


@given(messages, messages)
def test_any_message_can_be_looked_at(message: dict[str, Any], other: dict[str, Any]) -> None:
    for look in (
        mcp.method,
        mcp.key,
        mcp.is_call,
        mcp.is_response,
        mcp.tool,
        mcp.arguments,
        mcp.cancels,
        mcp.retried,
        mcp.task_started,
        mcp.task_asked,
        mcp.listed,
        mcp.server_name,
        mcp.outcome,
    ):
        look(message)
    mcp.suspended(message, other)
    mcp.progress(message, 1, "x")


@given(messages, st.text())
def test_an_answer_keeps_what_it_does_not_change(message: dict[str, Any], text: str) -> None:
    before = json.dumps(message, sort_keys=True)
    advised = mcp.advised(message, text)
    changed = mcp.changed(message, {"q": 1})
    refused = mcp.refusal(message, text)
    assert json.dumps(message, sort_keys=True) == before, "the message itself stays"
    for name in message.keys() - {"result", "error"}:
        assert advised[name] == message[name]
    for name in message.keys() - {"params"}:
        assert changed[name] == message[name]
    assert mcp.arguments(changed) == {"q": 1}
    assert refused["id"] == message.get("id")
    assert refused["result"]["content"] == [{"type": "text", "text": text}]


def test_requests_are_told_apart_by_type_too() -> None:
    assert mcp.key({"id": 1}) != mcp.key({"id": "1"})
    assert mcp.key({"id": None}) == mcp.key({}) == ""


def test_a_result_is_recorded_as_what_the_model_reads() -> None:
    text = {"type": "text", "text": "a"}
    image = {"type": "image", "data": "…", "mimeType": "image/png"}
    for result, outcome, recorded in (
        ({"content": [text, text]}, "ok", "a\na"),
        ({"content": [text], "isError": True}, "error", "a"),
        ({"content": [text, image]}, "ok", [text, image]),
        ({"content": [], "structuredContent": {"n": 1}}, "ok", {"n": 1}),
        ({"content": [], "_meta": {"trace": 7}}, "ok", {"content": []}),
    ):
        assert mcp.outcome({"id": 1, "result": result}) == (outcome, recorded)
    assert mcp.outcome({"id": 1, "error": {"code": 1, "message": "no"}}) == ("error", "no")


def test_progress_stays_below_what_a_server_would_say() -> None:
    asked = {"params": {"_meta": {"progressToken": 7}}}
    told = [mcp.progress(asked, step, "waiting") for step in (1, 2, 3)]
    numbers = [t["params"]["progress"] for t in told if t is not None]
    assert numbers == sorted(set(numbers)) and max(numbers) < 1e-6
