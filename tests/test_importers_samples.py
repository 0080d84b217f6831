"""The samples of real tools open and are what the table says."""

from __future__ import annotations

from pathlib import Path

import pytest

from importing import calls, opened

SAMPLES = Path(__file__).parents[1] / "sample_sessions"


@pytest.mark.parametrize(
    ("name", "format", "outcomes"),
    [
        ("inspect-research.eval", "inspect", ["ok"] * 5 + ["error"] * 2),
        (
            "mini-swe-agent-tests.traj.json",
            "mini-swe-agent",
            ["ok", *["error"] * 4, "ok", "error", "pending"],
        ),
        ("pydantic-ai-spans.json", "otel", [*["error"] * 3, "ok", "ok", "error"]),
    ],
)
def test_recordings_of_real_tools(name: str, format: str, outcomes: list[str]) -> None:
    ((recording, events),) = opened(SAMPLES / name)
    assert recording.format == format
    assert [o for _, _, o in calls(events)] == outcomes
    table = (SAMPLES / "README.md").read_text()
    assert f"| `{name}` | {len(outcomes)} |" in table


def test_calls_of_one_answer_are_one_batch() -> None:
    ((_, events),) = opened(SAMPLES / "pydantic-ai-spans.json")
    messages = [e.data["message"] for e in events if e.type == "call_start"]
    assert messages[3] == messages[4]
    assert len(set(messages)) == 5
