"""Input that is not what a command can read: one clear line, exit code 2, no traceback."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from commands import Done, command
from importing import DATA

COMMANDS = ("open", "stats", "judge", "compare")
READERS = (*COMMANDS, "import")


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Path]:
    """A file or folder of each kind that cannot be read."""
    made = {
        "missing": b"",
        "empty.jsonl": b"",
        "blank.jsonl": b"\n\n \n",
        "binary": b"\x7fELF\x02\x01\x01\0" + bytes(range(256)) * 4,
        "prose.txt": b"Dear diary,\nnothing happened today.\n",
        "unknown.json": b'{"something": "else"}',
        "cut.json": b'[{"role": "user", "content": "hel',
        "latin.txt": "Grüße".encode("latin-1"),
        "random.jsonl": b'"M\xa4H\xe3\x07/p\x84m\n;\x14m\xfa\xbe\x81~\n' * 9,
        "cut.gz": gzip.compress(b'{"type":"call","tool":"x"}\n' * 99)[:20],
    }
    for name, content in made.items():
        if name != "missing":
            (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    return {name: tmp_path / name for name in (*made, "folder")}


def one_line(done: Done) -> bool:
    return done.code == 2 and done.out == "" and done.err.count("\n") == 1


@pytest.mark.parametrize("name", READERS)
def test_what_cannot_be_read_is_said(name: str, inputs: dict[str, Path], tmp_path: Path) -> None:
    for kind, path in inputs.items():
        stored = name in ("open", "import")
        done = command(tmp_path / "none.db", name, str(path)) if stored else None
        done = done or command(None, name, str(path))
        if name == "open" and kind == "missing":
            assert done.code == 2
            continue
        assert one_line(done), (kind, done)
        assert str(path) in done.err


@pytest.mark.parametrize("name", COMMANDS)
def test_a_transcript_cut_in_the_middle_is_read_as_far_as_it_goes(
    name: str, tmp_path: Path
) -> None:
    whole = (DATA / "claude_code.jsonl").read_bytes()
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(whole[: len(whole) * 2 // 3])
    done = command(None, name, str(cut), "--json")
    assert done.code in (0, 3)
    assert done.objects
    assert "cut" in done.err


def test_a_file_without_one_readable_line_is_passed_over_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'"type\n"type\n')
    (tmp_path / "ours.jsonl").write_bytes((DATA / "ours.jsonl").read_bytes())
    for done in (
        command(None, "stats", str(tmp_path), "--json"),
        command(tmp_path / "e.db", "import", str(tmp_path), "--json"),
    ):
        assert done.code == 0 and done.objects
        assert "skipped" in done.err and "a.jsonl:1: not JSON" in done.err


def test_a_folder_says_what_it_passed_over(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"note{number}.txt").write_text("no transcript")
    (tmp_path / "ours.jsonl").write_bytes((DATA / "ours.jsonl").read_bytes())
    done = command(None, "compare", str(tmp_path), "--policies", "graded", "--json")
    assert done.code == 0
    assert done.err.count("\n") < 9
    assert "more files" in done.err


def test_a_format_can_be_named() -> None:
    file = str(DATA / "ours.jsonl")
    assert command(None, "stats", file, "--format", "loopguard").code == 0
    done = command(None, "stats", file, "--format", "nobody")
    assert one_line(done)
    assert "claude-code" in done.err
