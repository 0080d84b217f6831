"""In a narrow terminal no line of a list is broken by the terminal; in a pipe a row stays one line."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from commands import Done, command
from loopguard_console import output
from loopguard_console.cli import main
from loopguard_core.shim import LoopGuard

SAMPLES = Path(__file__).parents[1] / "sample_sessions"


class Terminal(io.StringIO):
    """What is printed to a terminal."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, width: int, *line: str | Path) -> list[str]:
    """The lines that a command prints in a terminal of *width* cells."""
    size = os.terminal_size((width, 24))
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_: size)
    out = Terminal()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([str(part) for part in line])
    return out.getvalue().splitlines()


def words(lines: list[str]) -> list[str]:
    """What *lines* say, but for times and sizes."""
    return [word for word in " ".join(lines).split() if not word[0].isdigit()]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "events.db"
    with LoopGuard("researcher", policy="graded", store=str(place), say=lambda _: None) as guard:
        for _ in range(3):
            decision = guard.before_call("search", {"query": "quantum computing and more " * 3})
            if decision.run:
                guard.after_call(decision, "nothing")
        yield place


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_row_is_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, store: Path, width: int
) -> None:
    for line in (["sessions", "--all"], ["pending"]):
        for text in shown(monkeypatch, width, "--store", store, *line):
            assert cell_len(text) <= width, text


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", ["research-loop", "failing-command", "parallel-batch"])
def test_no_call_of_a_chain_is_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, width: int
) -> None:
    store = tmp_path / "events.db"
    assert command(store, "import", SAMPLES / f"{name}.jsonl").code == 0
    for text in shown(monkeypatch, width, "--store", store, "show", name):
        assert cell_len(text) <= width, text


def test_all_that_a_wide_list_says_stands_in_a_narrow_one(
    monkeypatch: pytest.MonkeyPatch, store: Path
) -> None:
    for line in (["pending"], ["sessions", "--all"]):
        wide, narrow = (shown(monkeypatch, n, "--store", store, *line) for n in (300, 70))
        assert len(narrow) > len(wide)
        assert words(narrow) == words(wide)


@pytest.mark.parametrize("width", [0, 40, 80, 200])
def test_a_reason_is_whole_in_any_width(
    monkeypatch: pytest.MonkeyPatch, store: Path, width: int
) -> None:
    (request,) = command(store, "pending", "--json").objects
    reason = request["verdict"]["reason"]
    assert len(reason) > 80
    if width:
        lines = shown(monkeypatch, width, "--store", store, "pending")
    else:
        lines = command(store, "pending").out.splitlines()
    assert reason in " ".join(" ".join(lines).split())


def test_who_decided_stands_below_a_call_where_it_does_not_fit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = tmp_path / "events.db"
    command(store, "import", SAMPLES / "research-loop.jsonl")
    wide, narrow = (
        shown(monkeypatch, n, "--store", store, "show", "research-loop") for n in (300, 80)
    )
    (decided,) = (text for text in wide if "R1 approved by" in text)
    released = re.search(r"\d released", decided)
    said = decided[decided.index("R1 approved") :]
    (below,) = (text.strip() for text in narrow if "R1 approved by" in text)
    assert below == (f"{released[0]}  {said}" if released else said)


def test_a_row_is_one_line_where_nobody_looks(store: Path) -> None:
    done: Done = command(store, "pending")
    assert len(done.out.splitlines()) == 2
    assert output.room() == 0


@pytest.mark.parametrize("width", [60, 80])
def test_what_the_doctor_says_is_broken_between_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, width: int
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    wide, narrow = (
        shown(monkeypatch, n, "--store", tmp_path / "events.db", "doctor") for n in (400, width)
    )
    assert all(cell_len(text) <= width or len(text.split()) == 1 for text in narrow), narrow
    assert words(narrow) == words(wide)
