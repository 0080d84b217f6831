"""``compare``: where each policy would first step in, and what its stops would have cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from commands import command
from loopguard_core.policies import registry

SAMPLES = Path(__file__).parents[1] / "sample_sessions"


def call(args: Any, result: str) -> dict[str, Any]:
    return {"type": "call", "tool": "search", "args": args, "result": result, "ok": True}


def recording(place: Path, *events: dict[str, Any]) -> str:
    place.write_text("".join(json.dumps(event) + "\n" for event in events))
    return str(place)


def test_first_steps_calls_that_would_not_run_and_stops_of_progress(tmp_path: Path) -> None:
    moving = [call({"q": "x"}, f"page {number}") for number in range(6)]
    file = recording(tmp_path / "moving.jsonl", {"type": "user_message"}, *moving)
    done = command(None, "compare", file, "--policies", "graded,dsh,nous", "--json")
    graded, dsh, nous = done.objects
    assert graded == {
        "recording": file,
        "policy": "graded",
        "calls": 6,
        "first_warn": 2,
        "first_block": 3,
        "first_halt": 4,
        "stops": 4,
        "not_run": 4,
        "stopped_progress": 4,
    }
    assert (dsh["stops"], dsh["stopped_progress"]) == (0, 0)
    assert (nous["first_warn"], nous["stops"]) == (3, 0)


def test_without_names_every_policy_is_asked(tmp_path: Path) -> None:
    file = recording(tmp_path / "a.jsonl", *[call({}, "same")] * 3)
    asked = [row["policy"] for row in command(None, "compare", file, "--json").objects]
    assert asked == registry.names()


def test_each_session_of_a_file_is_compared_by_itself(tmp_path: Path) -> None:
    events = [{**call({}, "same"), "session": name} for name in ("a", "b") for _ in range(3)]
    file = recording(tmp_path / "two.jsonl", *events)
    rows = command(None, "compare", file, "--policies", "graded", "--json").objects
    assert [(r["recording"].rpartition("#")[2], r["first_block"]) for r in rows] == [
        ("a", 3),
        ("b", 3),
    ]


def test_people_get_a_table_of_a_whole_folder() -> None:
    done = command(None, "compare", str(SAMPLES), "--policies", "progress,graded")
    assert done.code == 0
    head, *lines = done.out.splitlines()
    assert head.split()[:3] == ["recording", "policy", "calls"]
    named = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert len(lines) == 2 * len(named)
    assert {f"{SAMPLES / path.name}"[-20:] for path in SAMPLES.glob("*.jsonl")} <= {
        name[-20:] for name in named
    }
    assert "README.md" in done.err


def test_settings_come_from_a_file(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text(
        'policy = "graded"\n[policies.graded]\nwarn_at = 3\nblock_at = 4\nhalt_at = 5\n'
    )
    file = recording(tmp_path / "a.jsonl", *[call({}, "same")] * 3)
    args = ("--policies", "graded", "--config", str(settings), "--json")
    (row,) = command(None, "compare", file, *args).objects
    assert (row["first_warn"], row["first_block"]) == (3, None)
    judged = command(None, "judge", file, "--config", str(settings), "--json")
    assert [j["before"] for j in judged.objects] == ["allow"] * 3
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('policy = "graded"\n[policies.graded]\nwarn_at = "two"\n')
    for name in ("missing.toml", "wrong.toml"):
        done = command(None, "judge", file, "--config", str(tmp_path / name))
        assert (done.code, done.err.count("\n"), name in done.err) == (2, 1, True)


def test_an_unknown_policy_is_refused(tmp_path: Path) -> None:
    file = recording(tmp_path / "a.jsonl", call({}, "x"))
    for names in ("graded,nobody", "graded,,dsh"):
        done = command(None, "compare", file, "--policies", names)
        assert (done.code, done.err.count("\n")) == (2, 1)
