"""``stats``: the numbers of real sessions, and input that cannot be read."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from commands import command
from importing import DATA
from loopguard_console.cli import cli
from shared import SHARED, shared

EXPECTED = SHARED / "sessions" / "EXPECTED.tsv"
TEXT = ("format", "file", "top_tool")


def expected() -> list[dict[str, str]]:
    if not EXPECTED.exists():
        return []
    with EXPECTED.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def numbers(*args: str | Path) -> list[dict[str, Any]]:
    done = CliRunner().invoke(cli, ["stats", "--json", *map(str, args)], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("row", [pytest.param(row, id=row["file"]) for row in expected()])
def test_real_sessions_have_the_expected_numbers(row: dict[str, str]) -> None:
    name, _, part = row["file"].partition("#")
    sessions = numbers(shared("sessions", name))
    if part:
        found = [s for s in sessions if part in (s["part"], s["session"])]
    else:
        found = [s for s in sessions if s["parent"] is None or len(sessions) == 1]
    assert len(found) == 1, [(s["session"], s["part"]) for s in sessions]
    wanted = {
        name: value if name in TEXT else None if value == "-" else int(value)
        for name, value in row.items()
        if name != "file"
    }
    assert {name: found[0][name] for name in wanted} == wanted


def test_one_object_a_session_in_ascii() -> None:
    first, second = numbers(DATA / "ours.jsonl")
    assert (first["session"], second["session"]) == ("a", "b")
    done = CliRunner().invoke(cli, ["stats", str(DATA / "ours.jsonl"), "--json"])
    assert done.stdout.isascii()


def test_people_get_a_table_and_what_was_skipped(tmp_path: Path) -> None:
    whole = (DATA / "ours.jsonl").read_text()
    (tmp_path / "cut.jsonl").write_text(whole[:-9])
    done = CliRunner().invoke(cli, ["stats", str(tmp_path / "cut.jsonl")])
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0].split()[:2] == ["session", "calls"]
    assert "cut" in done.stderr


def test_standard_input_is_a_file_too() -> None:
    done = CliRunner().invoke(
        cli, ["stats", "-", "--json"], input=(DATA / "ours.jsonl").read_bytes()
    )
    assert [json.loads(line)["session"] for line in done.stdout.splitlines()] == ["a", "b"]


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_files_without_a_session_are_no_answer(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = tmp_path / "half.jsonl"
    file.write_text('{"type":"call"}\n')
    done = command(None, "stats", *options, file)
    assert (done.code, done.out) == (2, "")
    assert "no session in it yet" in done.err and "nothing to count" in done.err


def test_what_no_memory_holds_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_much(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("loopguard_console.commands.stats.open_recordings", too_much)
    done = command(None, "stats", "/dev/zero")
    assert (done.code, done.err) == (1, "loopguard-console: there is not enough memory for that\n")
