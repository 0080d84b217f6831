"""``compare``: where each policy would first step in, and what its stops would have cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from commands import command
from loopguard_console.deciding import Decider
from loopguard_console.whatif import answers
from loopguard_core.events import Event, decode
from loopguard_core.policies import registry
from loopguard_core.recording.comparing import compare
from loopguard_core.recording.labels import STUCK
from loopguard_core.store.door import open_store
from loopguard_core.traits import TraitTable

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


def labelled(tmp_path: Path) -> str:
    """Six equal calls: the 2nd was fine, the 3rd and 5th stuck, and one that stands alone is stuck, too."""
    calls = [{**call({"q": "x"}, "same"), "call": f"c{n}", "session": "s"} for n in range(1, 7)]
    alone = {**call({"q": "y"}, "new"), "call": "c7", "session": "s"}
    labels = [
        {"type": "label", "session": "s", "on": c, "text": text}
        for c, text in (
            ("c2", "stuck"),
            ("c2", "was fine"),  # the last word counts
            ("c3", "stuck"),
            ("c5", "stuck"),
            ("c6", "not sure"),
            ("c7", "stuck"),
            ("c9", "stuck"),  # no such call
        )
    ]
    return recording(tmp_path / "labelled.jsonl", *calls, alone, *labels)


def test_labels_are_held_against_each_policy_and_detector(tmp_path: Path) -> None:
    done = command(None, "compare", labelled(tmp_path), "--policies", "graded,nous", "--json")
    graded, nous = (row["labels"] for row in done.objects)
    assert graded == {
        "stuck": 3,
        "fine": 1,
        "stuck_stopped": 3,  # the last as a call of a turn that was over
        "stuck_warned": 0,
        "stuck_missed": 0,
        "fine_stopped": 0,
        "fine_warned": 1,
        "detectors": {
            "repeated_tool_calls": {
                "stuck_stopped": 2,
                "stuck_warned": 0,
                "fine_stopped": 0,
                "fine_warned": 1,
            }
        },
    }
    assert (nous["stuck_warned"], nous["stuck_missed"], nous["fine_warned"]) == (2, 1, 0)


def test_people_get_a_second_table_where_calls_are_labelled(tmp_path: Path) -> None:
    done = command(None, "compare", labelled(tmp_path), "--policies", "graded,nous")
    first, second = done.out.split("\n\n")
    assert len(first.splitlines()) == 3
    head, graded, detector, nous, *_ = (line.split() for line in second.splitlines())
    assert head == [
        "recording",
        "policy",
        "detector",
        "stuck",
        "stopped",
        "warned",
        "missed",
        "fine",
        "stopped",
        "warned",
    ]
    assert graded[-8:] == ["graded", "3", "3", "0", "0", "1", "0", "1"]
    assert detector == ["repeated_tool_calls", "2", "0", "0", "1"]
    assert nous == ["nous", "3", "0", "2", "1", "1", "0", "0"]


def test_a_label_that_the_console_kept_is_counted(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    store.append(Event("session_start", "s", ts=1.0))
    for number in range(3):
        about = {"call": f"c{number}", "tool": "t", "args": {}, "message": f"m{number}"}
        store.append(Event("call_start", "s", ts=2.0, data=about))
        ended = {"call": f"c{number}", "outcome": "ok", "result": "same"}
        store.append(Event("call_end", "s", ts=3.0, data=ended))
    Decider(store).remark("s", "label", "c2", STUCK)
    (graded,) = compare([("s", store.read("s"))], {"graded": registry.create("graded")})
    assert graded.labels is not None and graded.labels.counts["stuck_stopped"] == 1
    out = tmp_path / "s.jsonl"
    assert command(tmp_path / "events.db", "export", "s", "--out", str(out)).code == 0
    (row,) = command(None, "compare", str(out), "--policies", "graded", "--json").objects
    assert row["labels"]["stuck_stopped"] == 1


def test_what_if_says_it_in_words(tmp_path: Path) -> None:
    events = [decode(line) for line in Path(labelled(tmp_path)).read_text().splitlines()]
    (nous,) = answers(events, {"nous": registry.create("nous")}, TraitTable())
    assert "misses 1 of 3 labelled stuck · stops 0 of 1 labelled fine" in nous.words
