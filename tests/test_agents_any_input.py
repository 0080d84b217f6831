"""Whatever an agent sends: its adapter answers, or says in one line what is missing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopguard_core.agents import claude_code, codex, copilot, gemini, opencode
from loopguard_core.agents.host import Answer, HostError
from loopguard_core.events import dump, load

ADAPTERS = {
    "claude-code": (claude_code.ADAPTER, claude_code.EVENTS),
    "codex": (codex.ADAPTER, codex.EVENTS),
    "gemini": (gemini.ADAPTER, gemini.EVENTS),
    "copilot": (copilot.ADAPTER, copilot.EVENTS),
    "opencode": (opencode.ADAPTER, ("turn", "before", "after", "failed", "end")),
}

FIELDS = [
    "session_id",
    "sessionId",
    "session",
    "cwd",
    "directory",
    "hook_event_name",
    "tool_name",
    "toolName",
    "tool",
    "tool_input",
    "toolArgs",
    "args",
    "tool_use_id",
    "call",
    "tool_response",
    "toolResult",
    "error",
    "is_interrupt",
    "duration_ms",
    "output",
    "exit",
    "prompt",
    "text",
    "source",
    "reason",
    "agent_id",
    "agentId",
    "parentAgentId",
    "parent",
    "agent_type",
    "agentType",
    "tool_calls",
    "llm_request",
    "stopReason",
]

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
ANSWERS = st.builds(
    Answer,
    st.booleans(),
    st.text(max_size=8),
    args=VALUES,
    ends_turn=st.booleans(),
    notice=st.text(max_size=8),
)


@pytest.mark.parametrize("name", ADAPTERS)
@given(st.data())
def test_any_json_is_heard_or_refused(name: str, data: Any) -> None:
    adapter, events = ADAPTERS[name]
    event = data.draw(st.sampled_from([*events, "Unknown", ""]))
    fields = data.draw(st.dictionaries(st.sampled_from(FIELDS), VALUES))
    likely = {
        "session_id": "s",
        "sessionId": "s",
        "session": "s",
        "tool_name": "t",
        "toolName": "t",
    }
    if data.draw(st.booleans()):
        fields["tool_calls"] = data.draw(VALUES)
        fields["duration_ms"] = data.draw(st.integers() | st.just(10**400))
    sent = {**(likely if data.draw(st.booleans()) else {}), **fields, "hook_event_name": event}
    try:
        heard = adapter.hear(sent, event)
    except HostError:
        return
    answer = data.draw(ANSWERS)
    for said in (adapter.before(heard, answer), adapter.after(heard, answer.message)):
        assert said is None or isinstance(load(dump(said)), dict)
    if not answer.run:
        assert adapter.before(heard, answer), "a refusal is never silence"
