"""``show``, and the console's chain, fold what repeats and never what a person decided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import command
from loopguard_console.chains import chain_lines, recordings_of
from loopguard_console.viewing.view import View
from loopguard_core.events import from_json
from loopguard_core.recording.replay import Recording
from plays import Play, fresh

#: equal calls, and what a person said at some of them
DECIDED = {3: "R1 approved", 4: "R2 modified", 7: "R3 approved late", 8: "R4 denied"}
CALLS = 10


def events() -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [{"type": "session_start", "agent": "coder"}]
    for number in range(1, CALLS + 1):
        call = f"c{number}"
        told.append({"type": "call_start", "call": call, "tool": "Bash", "args": {"command": "x"}})
        request, _, how = DECIDED.get(number, "").partition(" ")
        late = how.endswith(" late")
        if request:
            answer = {"resolution": "expired"} if late else {"resolution": how, "by": "you@desk"}
            told.append(
                {"type": "request_opened", "request": request, "call": call, "tier": "block"}
            )
            told.append({"type": "request_resolved", "request": request, **answer})
        stopped = how == "denied" or late
        told.append({"type": "call_end", "call": call, "outcome": "blocked" if stopped else "ok"})
        if late:
            grant = {"grant": "g1", "scope": "tool", "key": "none", "request": request, "calls": 1}
            told.append({"type": "grant", **grant, "by": "you@desk"})
    told.append({"type": "session_end"})
    return [
        {"session": "s", "seq": seq, "ts": 1_790_000_000.0 + 10 * seq, **event}
        for seq, event in enumerate(told, 1)
    ]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    recording = tmp_path / "s.jsonl"
    recording.write_text("".join(json.dumps(event) + "\n" for event in events()), encoding="utf-8")
    place = tmp_path / "events.db"
    assert command(place, "import", recording).code == 0
    return place


def test_every_decision_is_told_where_calls_fold(store: Path) -> None:
    lines = command(store, "show", "s").out.splitlines()
    for number, said in DECIDED.items():
        request, _, how = said.partition(" ")
        (line,) = (text for text in lines if f"{how} by you@desk" in text)
        assert line.split()[0] == str(number) and request in line
    folded = {text.split()[0]: text for text in lines if " x2 " in text}
    assert set(folded) == {"1-2", "5-6", "9-10"}


def test_a_folded_line_tells_when_the_first_call_was_made(store: Path) -> None:
    folded, alone = (command(store, "show", "s", *more).out for more in ((), ("--unfold",)))
    when = {
        line.split()[0]: line.split()[1]
        for line in alone.splitlines()
        if line.split()[0].isdecimal() and "Bash" in line
    }
    (line,) = (text for text in folded.splitlines() if text.split()[0] == "5-6")
    assert line.split()[1] == when["5"] != when["6"]


def test_outcomes_of_a_folded_line_are_whole(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = [{"type": "session_start"}]
    for call in ("c1", "c2"):
        told.append({"type": "call_start", "call": call, "tool": "Bash", "args": {}})
    told += [{"type": "call_end", "call": "c1", "outcome": "ok"}, {"type": "session_end"}]
    recording = tmp_path / "open.jsonl"
    recording.write_text("".join(json.dumps({"session": "s", **event}) + "\n" for event in told))
    command(tmp_path / "events.db", "import", recording)
    assert " ok/pending" in command(tmp_path / "events.db", "show", "s").out


@pytest.mark.parametrize("live", [False, True])
def test_the_console_gives_each_decided_call_a_line(live: bool) -> None:
    known = [from_json(event) for event in events()]
    (whole,) = recordings_of(known)
    views = [View(whole, live=False)]
    if live:
        (begun,) = recordings_of(known[:1])
        views.append(View(begun, live=True))
        for event in known[1:]:
            views[-1].append([event])
    for view in views:
        lines = [view.line(number) for number in range(len(view.lines))]
        alone = {line.first + 1 for line in lines if not line.is_mark and line.first == line.last}
        assert set(DECIDED) <= alone
        assert {(line.first + 1, line.last + 1) for line in lines if line.folds} == {
            (1, 2),
            (5, 6),
            (9, 10),
        }


def test_calls_that_an_override_let_run_stand_apart_from_those_that_were_stopped() -> None:
    play = Play()
    play.call()
    play.call()
    play.say("grant", grant="G1", scope="tool", key="search", budget=2, by="you@desk")
    for _ in range(4):
        play.call()
    lines = [*chain_lines(Recording.of(play.log, fresh()))]
    (let,) = (line for line in lines if "released" in line)
    assert let.split()[0] == "3-4" and "2 released" in let
    assert lines[-1].split()[0] == "5-6" and "blocked" in lines[-1]
