"""What a repetition has cost: on the screen, in the reports, and in numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import command
from loopguard_console.guards import guard_of
from loopguard_console.inspector.card import card
from loopguard_console.inspector.costs import dollars, last_of_streak, many, since_first
from loopguard_console.report import markdown, page
from loopguard_console.viewing.view import View
from loopguard_core.config import Config
from loopguard_core.importers import open_recordings
from loopguard_core.recording.replay import Recording


def paid(place: Path, *, money: bool = True) -> Path:
    """A session of pi: another call, then the same one five times, a minute and 250,000 tokens each."""
    records: list[object] = [{"type": "session", "id": "s", "cwd": "/", "timestamp": stamp(0)}]
    for number in range(6):
        call = {"type": "toolCall", "id": f"c{number}", "name": "look"}
        arguments = {"at": "the first" if number == 0 else "the same"}
        usage = {"input": 249_000, "output": 1_000, "cost": {"total": 0.85 if money else 0}}
        content = [{**call, "arguments": arguments}]
        answer = {"role": "assistant", "content": content, "usage": usage}
        records.append(line(number, answer))
        result = {"role": "toolResult", "toolCallId": f"c{number}", "content": "nothing"}
        records.append(line(number, result))
    file = place / "pi.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def stamp(minute: int) -> str:
    return f"2026-05-01T10:{minute:02d}:00Z"


def line(minute: int, message: object) -> dict[str, object]:
    return {"type": "message", "timestamp": stamp(minute), "message": message}


def recorded(file: Path, policy: str = "progress") -> Recording:
    (one,) = open_recordings(file)
    return Recording.of(one.events, guard_of(None, Config({"policy": policy})))


def test_tokens_and_money_are_counted_from_the_first_repeat(tmp_path: Path) -> None:
    recording = recorded(paid(tmp_path))
    assert since_first(recording, 1) == ""
    assert since_first(recording, 2) == "1 repeat in 1:00 · 250 k tokens · $0.85"
    assert since_first(recording, 5) == "4 repeats in 4:00 · 1.0 M tokens · $3.40"
    assert last_of_streak(recording, 2) == 5


def test_the_card_says_it(tmp_path: Path) -> None:
    view = View(recorded(paid(tmp_path), "graded"), live=False)
    view.go(5)
    assert "used up   1.0 M tokens · $3.40" in card(view, None, 60).plain


def test_no_price_is_invented(tmp_path: Path) -> None:
    assert (
        since_first(recorded(paid(tmp_path, money=False)), 5) == "4 repeats in 4:00 · 1.0 M tokens"
    )


def test_the_reports_say_it(tmp_path: Path) -> None:
    recording = recorded(paid(tmp_path))
    for report in ("".join(markdown(recording)), "".join(page(recording))):
        assert "4 repeats in 4:00 · 1.0 M tokens · $3.40" in report
        assert "1.5 M tokens · $5.10" in report


def test_stats_has_columns_for_it_where_a_transcript_says_it(tmp_path: Path) -> None:
    file = str(paid(tmp_path))
    (row,) = command(None, "stats", file, "--json").objects
    assert (row["tokens"], row["cost_usd"]) == (1_500_000, 5.1)
    head, first = command(None, "stats", file).out.splitlines()
    assert "tokens" in head and "cost" in head and "$5.10" in first and "1.5 M" in first
    plain = tmp_path / "plain.jsonl"
    plain.write_text('{"type": "call", "tool": "t", "args": {}, "result": "x"}\n')
    (row,) = command(None, "stats", str(plain), "--json").objects
    assert (row["tokens"], row["cost_usd"]) == (None, None)
    assert "tokens" not in command(None, "stats", str(plain)).out


@pytest.mark.parametrize(
    ("count", "words"),
    [
        *((1, "1"), (999, "999"), (1000, "1.0 k"), (9949, "9.9 k"), (9950, "10 k")),
        *((12_345, "12 k"), (999_499, "999 k"), (999_500, "1.0 M"), (3_210_000_000, "3.2 G")),
    ],
)
def test_counts_in_words(count: int, words: str) -> None:
    assert many(count) == words


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        *((3.4, "$3.40"), (1234.5, "$1,234.50"), (0.042, "$0.04"), (0.0042, "$0.0042")),
        (0.00005, "under $0.0001"),
    ],
)
def test_amounts_in_words(cost: float, words: str) -> None:
    assert dollars(cost) == words
