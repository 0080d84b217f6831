"""Whoever replaces a file does it in one safe way: no planted name is followed, and a failure leaves what was there."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loopguard_console import exporting
from loopguard_console.errors import Failure, Refused
from loopguard_console.exporting import ExportError, picture
from loopguard_console.files import write_new
from loopguard_console.install.base import Place
from loopguard_console.install.files import Change, carry_out
from loopguard_console.remembered import Remembered
from loopguard_console.rules import Rule, RuleError, propose, write
from loopguard_console.wiring import wire
from loopguard_core import files

OURS = b"what somebody else has"


def _rule(folder: Path) -> Path:
    path = folder / "loopguard.toml"
    write(propose(str(folder), "search", Rule("polls", {"poller": True})))
    return path


def _install(folder: Path) -> Path:
    path = folder / "settings.json"
    carry_out(
        Change(path, path.read_bytes() if path.exists() else None, os.urandom(8).hex().encode())
    )
    return path


def _plugin(folder: Path) -> Path:
    where = Path(wire(["copilot"], Place("user", folder, folder)).argv[2]) / "hooks.json"
    where.unlink()
    wire(["copilot"], Place("user", folder, folder))
    return where


def _export(folder: Path) -> Path:
    path = folder / "events.jsonl"
    write_new(path, ["one\n", "two\n"], force=True)
    return path


def _remember(folder: Path) -> Path:
    path = folder / "console.json"
    Remembered(path).noted("here", "a note")
    return path


DOORS: list[Callable[[Path], Path]] = [_rule, _install, _plugin, _export, _remember]


@pytest.mark.parametrize("door", DOORS)
def test_a_link_under_a_name_that_can_be_guessed_is_not_followed(
    tmp_path: Path, door: Callable[[Path], Path]
) -> None:
    other = tmp_path / "other"
    other.write_bytes(OURS)
    here = tmp_path / "here"
    here.mkdir()
    path = door(here)
    content, mode = path.read_bytes(), path.stat().st_mode & 0o777
    assert mode == 0o600
    for name in (f"{path.name}.{os.getpid()}", f".{path.name}.{os.getpid()}", f"{path.name}.tmp"):
        path.with_name(name).symlink_to(other)
    path.unlink()
    assert door(here) == path
    assert other.read_bytes() == OURS
    assert not path.is_symlink() and len(path.read_bytes()) == len(content)
    assert sum(not each.is_symlink() for each in path.parent.glob(f"*{path.name}*")) == 1


def test_what_stands_under_the_name_in_between_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, path = tmp_path / "other", tmp_path / "one"
    other.write_bytes(OURS)
    monkeypatch.setattr(os, "urandom", bytes)
    planted = tmp_path / "one.00000000"
    planted.symlink_to(other)
    with pytest.raises(FileExistsError):
        files.replace(str(path), b"new")
    with pytest.raises(FileExistsError):
        files.create(str(path), [b"new"], others=[f"{path}_2"])
    assert planted.is_symlink() and other.read_bytes() == OURS and not path.exists()


def _planting(path: Path, kind: str) -> Iterator[str]:
    """An export while which somebody else puts something under its name."""
    yield "one\n"
    if kind == "link":
        path.symlink_to("nowhere")
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_bytes(OURS)
    yield "two\n"


def _one_name_each(*_: object, **__: object) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


@pytest.mark.parametrize("links", [True, False], ids=["", "no links"])
@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_what_comes_to_stand_there_while_an_export_is_written_stays(
    tmp_path: Path, kind: str, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", _one_name_each)
    path = tmp_path / "events.jsonl"
    with pytest.raises(Refused, match="--force replaces it"):
        write_new(path, _planting(path, kind))
    assert [each.name for each in tmp_path.iterdir()] == ["events.jsonl"]
    assert path.is_symlink() if kind == "link" else path.is_dir() or path.read_bytes() == OURS
    with pytest.raises(Refused):
        write_new(path, ["again"])
    if kind == "file":
        write_new(path, ["forced"], force=True)
        assert path.read_text() == "forced"


@pytest.mark.parametrize("links", [True, False], ids=["", "no links"])
@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_a_report_takes_the_next_name_where_one_is_taken_meanwhile(
    tmp_path: Path, kind: str, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", _one_name_each)
    path = tmp_path / "report.md"
    written = exporting._write(tmp_path, "report", ".md", _planting(path, kind))
    assert written.name == "report_2.md" and written.read_text() == "one\ntwo\n"
    assert written.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in tmp_path.iterdir()) == ["report.md", "report_2.md"]
    assert path.is_symlink() if kind == "link" else path.is_dir() or path.read_bytes() == OURS


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()]
)
def test_a_failure_in_the_middle_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, error: BaseException
) -> None:
    path = tmp_path / "one"
    path.write_bytes(OURS)

    def pieces() -> Iterator[bytes]:
        yield b"x" * 100_000
        raise error

    with pytest.raises(type(error)):
        files.replace(str(path), pieces(), synced=True)
    assert path.read_bytes() == OURS and list(tmp_path.iterdir()) == [path]
    with pytest.raises(type(error)):
        files.create(str(tmp_path / "two"), pieces())
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_does_not_take_it_is_said_and_the_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "loopguard.toml"
    path.write_text('mode = "ask"\n')
    edit = propose(str(tmp_path), "search", Rule("polls", {"poller": True}))
    change = Change(path, path.read_bytes(), b"new")

    def full(file: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RuleError, match="Input/output error"):
        write(edit)
    with pytest.raises(Failure, match="Input/output error"):
        carry_out(change)
    with pytest.raises(Failure, match="Input/output error"):
        write_new(path, ["new"], force=True)
    assert path.read_text() == 'mode = "ask"\n' and list(tmp_path.iterdir()) == [path]


def test_a_limit_on_the_size_of_files_is_said_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def limited(file: int) -> None:
        raise OSError(errno.EFBIG, "File too large")

    monkeypatch.setattr(os, "fsync", limited)
    with pytest.raises(Failure, match=r"\(ulimit -f\); raise that limit"):
        write_new(tmp_path / "one", ["new"])


def test_settings_named_by_a_link_stay_where_they_lie(tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.toml"
    kept.write_text('mode = "ask"\n')
    kept.chmod(0o640)
    project = tmp_path / "project"
    project.mkdir()
    (project / "loopguard.toml").symlink_to(kept)
    write(propose(str(project), "search", Rule("polls", {"poller": True})))
    assert (project / "loopguard.toml").is_symlink() and "poller" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o640


def test_an_export_that_is_broken_off_leaves_no_half_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnicodeEncodeError):
        picture("\ud800", tmp_path)
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(os, "fsync", _no_room)
    with pytest.raises(ExportError, match="No space left"):
        picture("<svg/>", tmp_path)
    assert not list(tmp_path.iterdir())


def _no_room(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")
