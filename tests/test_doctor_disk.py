"""What ``doctor`` says of the place of a store and of its key."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

import pytest

from loopguard_console.doctor import disk
from loopguard_console.doctor.finding import WRONG, Finding
from loopguard_core.events import Event
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import key_file


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "events.db"
    open_store(str(place)).close()
    return place


def wrong(place: Path) -> list[Finding]:
    found = [f for f in disk.examine(str(place)) if f.state == WRONG]
    assert all(f.mend for f in found)
    return found


def test_a_sound_place_has_no_fault(place: Path) -> None:
    assert wrong(place) == []
    assert disk.examine(str(place.with_name("missing.db"))) == []


def test_little_room_is_said(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "LITTLE_ROOM", 10**18)
    (finding,) = wrong(place)
    assert "prune" in finding.mend


@pytest.mark.parametrize(("most", "faults"), [(10**12, 0), (200_000, 1)])
def test_a_limit_on_the_size_of_files_is_said(
    place: Path, monkeypatch: pytest.MonkeyPatch, most: int, faults: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (most, resource.RLIM_INFINITY))
    found = wrong(place)
    assert len(found) == faults
    assert all("200.0k" in f.what and "ulimit -f" in f.mend for f in found)


def test_a_store_under_two_names_is_said(place: Path) -> None:
    other = place.with_name("other.db")
    other.hardlink_to(place)
    for name in (place, other):
        (finding,) = [f for f in disk.examine(str(name)) if f.state == WRONG]
        assert "2 names (hard links)" in finding.what and "find" in finding.mend


def test_a_key_that_cannot_be_used_is_said(place: Path) -> None:
    key = Path(key_file(str(place)))
    key.write_bytes(b"short")
    assert [f.state for f in wrong(place)] == [WRONG]
    key.unlink()
    assert wrong(place) == [], "nothing was recorded with it"
    with contextlib.closing(open_store(str(place))) as store:
        store.append(Event("session_start", "s"))
    key.unlink()
    (missing,) = wrong(place)
    assert missing.state == WRONG and "is missing" in missing.what and "--mend" in missing.mend


def test_a_network_file_system_is_known(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    real = tmp_path.resolve()
    mounts.write_text(f"disk / ext4 rw 0 0\nserver:/x {real} nfs4 rw 0 0\nt {real}x tmpfs rw 0 0\n")
    assert disk.file_system(tmp_path, mounts) == "nfs4"
    assert disk.file_system(tmp_path.parent, mounts) == "ext4"
    assert disk.file_system(tmp_path, tmp_path / "none") == ""
    monkeypatch.setattr(disk, "file_system", lambda folder: "nfs4")
    (finding,) = wrong(place)
    assert "nfs4" in finding.what
