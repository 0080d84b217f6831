"""The sample sessions: making them again changes nothing, and a replay gives the recorded verdicts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from loopguard_console.chains import recordings_of
from loopguard_console.guards import guard_of
from loopguard_core.events import Event, decode
from loopguard_core.verdict import Verdict
from processes import environment

SAMPLES = Path(__file__).parents[1] / "sample_sessions"
NAMES = sorted(path.name for path in SAMPLES.glob("*.jsonl"))


def events(name: str) -> list[Event]:
    return [decode(line) for line in (SAMPLES / name).read_text().splitlines()]


def test_making_them_again_gives_the_same_bytes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SAMPLES / "make.py"), str(tmp_path)],
        env=environment(HOME=str(tmp_path), TZ="Asia/Tokyo"),
        capture_output=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr.decode()
    made = {path.name: path.read_text() for path in tmp_path.glob("*.jsonl")}
    assert sorted(made) == NAMES
    for name in NAMES:
        assert made[name] == (SAMPLES / name).read_text(), f"{name}: run sample_sessions/make.py"


@pytest.mark.parametrize("name", NAMES)
def test_a_replay_gives_the_recorded_verdicts(name: str) -> None:
    recorded = events(name)
    guard = guard_of(recorded[0])
    assert any("verdict" in event.data for event in recorded)
    for event in recorded:
        verdict = guard.apply(event)
        if event.type in ("call_start", "call_end"):
            stored = event.data.get("verdict")
            assert verdict == (None if stored is None else Verdict.from_json(stored))


@pytest.mark.parametrize("name", NAMES)
def test_the_table_says_what_is_in_it(name: str) -> None:
    (recording,) = recordings_of(events(name))
    readme = (SAMPLES / "README.md").read_text()
    assert f"| `{name}` | {len(recording)} |" in readme


def test_nothing_in_them_names_a_machine() -> None:
    text = "".join((SAMPLES / name).read_text() for name in NAMES)
    assert not any(word in text for word in ("/tmp", "/home", '"pid"', '"host"', '"user"'))


def test_legitimate_work_is_left_alone() -> None:
    for name in ("legitimate-polling.jsonl", "edit-test-cycle.jsonl"):
        (recording,) = recordings_of(events(name))
        assert recording.worst == 0
