"""``doctor``: each fault is named with how to mend it; a sound machine passes."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent_process import Agent
from commands import Done, command
from loopguard_console.doctor import store as store_area
from loopguard_console.doctor.configuration import configuration
from loopguard_console.doctor.loops import tiers
from loopguard_console.doctor.mend import mend
from loopguard_console.doctor.store import has_wal_reset_fault
from loopguard_core.config import Config
from loopguard_core.policies import registry
from loopguard_core.store.door import open_store
from loopguard_core.verdict import TIERS
from processes import environment


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and a folder without settings to stand in."""
    (tmp_path / "home" / "work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path / "home" / "work")
    return tmp_path / "home"


def wrong(done: Done) -> list[dict[str, Any]]:
    return [f for f in done.objects if f.get("state") == "wrong"]


def recorded(tmp_path: Path, *, killed: bool) -> Path:
    """A store with one session whose agent has ended, or was killed while it waited."""
    store = tmp_path / "events.db"
    with Agent(store) as agent:
        agent.search(2)
        if killed:
            agent.send(do="search", query="q")
            with closing(open_store(str(store))) as opened:
                while not opened.requests(pending=True):
                    opened.changed(0.1)
        else:
            agent.end()
    return store


def test_a_sound_machine_passes_and_every_tier_is_seen_to_fire(tmp_path: Path) -> None:
    store = recorded(tmp_path, killed=False)
    before = store.stat().st_size
    done = command(store, "doctor", "--json")
    assert (done.code, wrong(done)) == (0, [])
    said = " ".join(f["what"] for f in done.objects)
    for word in ("warn fires at call", "block fires at call", "can be written", "no agent is"):
        assert word in said
    assert "an approval reached the waiting agent" in said
    text = command(store, "doctor")
    assert text.code == 0
    assert text.out.endswith("All is well.\n")
    assert store.stat().st_size == before
    assert not list(tmp_path.glob(".doctor-*"))


def test_before_the_first_agent_there_is_nothing_wrong(tmp_path: Path) -> None:
    done = command(tmp_path / "none" / "events.db", "doctor", "--json")
    assert done.code == 0
    assert not (tmp_path / "none").exists()


def test_a_threshold_out_of_reach_is_named(tmp_path: Path) -> None:
    Path("loopguard.toml").write_text('policy = "graded"\n[policies.graded]\nhalt_at = 90000\n')
    done = command(tmp_path / "events.db", "doctor", "--json")
    assert done.code == 1
    (found,) = wrong(done)
    assert "halt is set to 90000 but never fired" in found["what"]
    assert "loopguard.toml" in found["mend"]


def test_wrong_settings_are_named_with_their_place(tmp_path: Path) -> None:
    Path("loopguard.toml").write_text('mode = "perhaps"\n')
    (found,) = wrong(command(tmp_path / "events.db", "doctor", "--json"))
    assert "loopguard.toml" in found["what"]
    assert "perhaps" in found["what"]


@pytest.mark.parametrize(
    ("options", "state", "says"),
    [
        ("[policies.hermes]\nhard_stop = true", "wrong", "policy hermes: there is no option"),
        ("[policies.graded]\nblock_at = 5", "wrong", "policy graded: "),
        ("[policies.graded]\nblock_at = 3", "ok", "there are options of graded, not in force"),
    ],
)
def test_options_of_a_policy_that_is_not_in_force_are_examined_too(
    options: str, state: str, says: str
) -> None:
    Path("loopguard.toml").write_text(options)
    config, found = configuration()
    assert found.state == state and says in found.what
    assert config.policy_name == "progress"


def test_a_dead_agent_and_what_it_left_are_named_and_mended(tmp_path: Path) -> None:
    store = recorded(tmp_path, killed=True)
    done = command(store, "doctor", "--json")
    assert done.code == 1
    said = [f["what"] for f in wrong(done)]
    assert any("1 session whose process is gone" in what for what in said)
    assert any("1 request that nobody waits for" in what and "R1" in what for what in said)
    mended = command(store, "doctor", "--mend")
    assert mended.code == 0
    assert "mended: R1 is orphaned" in mended.out
    with closing(open_store(str(store))) as opened:
        assert opened.sessions()[0].ended


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_key_that_is_no_file_is_named_for_what_it_is(tmp_path: Path, kind: str) -> None:
    store = recorded(tmp_path, killed=False)
    key = tmp_path / "machine.key"
    key.unlink()
    if kind == "folder":
        key.mkdir(0o755)
    else:
        key.symlink_to(tmp_path / "elsewhere")
        (tmp_path / "elsewhere").write_bytes(b"k" * 32)
    said = [f["what"] for f in command(store, "doctor", "--json").objects if "key" in f["what"]]
    assert sum(f"it is a {kind}, not a file" in what for what in said) == 1
    assert "the store and its key are yours alone" in said
    command(store, "doctor", "--mend")
    assert key.stat().st_mode & 0o777 != 0o600


def test_what_others_may_read_is_named_and_mended(tmp_path: Path) -> None:
    store = recorded(tmp_path, killed=False)
    store.chmod(0o644)
    (tmp_path / "machine.key").chmod(0o640)
    said = [f["what"] for f in wrong(command(store, "doctor", "--json"))]
    assert any("events.db can be read by others (0644)" in what for what in said)
    assert any("machine.key can be read by others (0640)" in what for what in said)
    assert command(store, "doctor", "--mend").code == 0
    assert store.stat().st_mode & 0o777 == 0o600


def test_a_folder_in_which_anybody_may_replace_the_store_is_named_and_mended(
    tmp_path: Path,
) -> None:
    store = recorded(tmp_path, killed=False)
    for mode, named in ((0o1777, False), (0o777, True)):
        tmp_path.chmod(mode)
        said = [f["what"] for f in wrong(command(store, "doctor", "--json"))]
        assert any("anybody may replace the store" in what for what in said) is named
    assert command(store, "doctor", "--mend").code == 0
    assert tmp_path.stat().st_mode & 0o777 == 0o775


def test_a_read_only_store_is_named(tmp_path: Path) -> None:
    store = recorded(tmp_path, killed=False)
    store.chmod(0o400)
    done = command(store, "doctor", "--json")
    assert done.code == 1
    assert any("is read-only" in f["what"] for f in wrong(done))


READ_ONLY = """
import os, sys
from loopguard_console.doctor.store import examine
place = sys.argv[1]
examine(place)  # what is imported, once it is needed
if os.geteuid() == 0:
    os.chown(os.path.dirname(place), 65534, 65534)
    os.chown(place, 65534, 65534)
    os.setuid(65534)
os.chmod(os.path.dirname(place), 0o500)
print(*(f"{f.what}; {f.mend}" for f in examine(place)), sep="\\n")
os.chmod(os.path.dirname(place), 0o700)
"""


def test_a_store_in_a_folder_where_nothing_can_be_written_is_named() -> None:
    with tempfile.TemporaryDirectory() as name:
        store = recorded(Path(name), killed=False)
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(store)],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.stderr == ""
    assert f"{name} is read-only for this user; give this user write permission" in done.stdout
    assert "damaged" not in done.stdout and "its integrity is sound" in done.stdout


def test_a_store_of_a_newer_version_is_named(tmp_path: Path) -> None:
    store = recorded(tmp_path, killed=False)
    with sqlite3.connect(store) as db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    done = command(store, "doctor", "--json")
    assert done.code == 1
    assert any("newer" in f["what"] and "update" in f["mend"] for f in wrong(done))


def test_a_damaged_store_is_named(tmp_path: Path) -> None:
    store = recorded(tmp_path, killed=False)
    content = store.read_bytes()
    store.write_bytes(content[:4096] + b"\xff" * 8192 + content[12288:])
    assert any(
        "damaged" in f["what"] or "malformed" in f["what"]
        for f in wrong(command(store, "doctor", "--json"))
    )
    store.write_bytes(b"not a database, but a text of some length" * 30)
    (found,) = wrong(command(store, "doctor", "--json"))
    assert "not a SQLite database" in found["what"]
    (unmended,) = wrong(command(store, "doctor", "--mend", "--json"))
    assert "not all was mended" in unmended["what"]


def test_what_cannot_be_mended_keeps_nothing_else_from_it(tmp_path: Path) -> None:
    store = recorded(tmp_path, killed=False)
    wal = tmp_path / "events.db-wal"
    damaged = store.read_bytes()[:100] + b"\xff" * 20_000
    store.write_bytes(damaged)
    wal.write_bytes(b"")
    for file in (store, wal, tmp_path / "machine.key"):
        file.chmod(0o644)
    tmp_path.chmod(0o777)
    done = command(store, "doctor", "--mend")
    assert f"mended: nobody else may write in {tmp_path}" in done.out
    assert done.out.count("not all was mended: ") == 1
    for file in (store, wal, tmp_path / "machine.key"):
        assert f"mended: {file} is yours alone" in done.out
        assert file.stat().st_mode & 0o777 == 0o600
    assert tmp_path.stat().st_mode & 0o777 == 0o775
    assert store.read_bytes() == damaged


def test_a_file_that_cannot_be_mended_keeps_no_other_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = recorded(tmp_path, killed=True)
    store.chmod(0o644)
    (tmp_path / "machine.key").chmod(0o644)
    chmod = Path.chmod

    def immutable(path: Path, mode: int) -> None:
        if path == store:
            raise PermissionError(1, "Operation not permitted", str(path))
        chmod(path, mode)

    monkeypatch.setattr(Path, "chmod", immutable)
    done = list(mend(str(store)))
    (kept,) = (one for one in done if not isinstance(one, str))
    assert str(kept) == f"{store}: Operation not permitted"
    assert f"{tmp_path / 'machine.key'} is yours alone" in done and "R1 is orphaned" in done


def test_nothing_is_mended_from_inside_an_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = recorded(tmp_path, killed=False)
    store.write_bytes(b"not a database, but a text of some length" * 30)
    store.chmod(0o644)
    monkeypatch.setenv("LOOPGUARD_SESSION", "s1")
    done = command(store, "doctor", "--mend")
    assert done.code == 1 and "inside the guarded agent" in done.err
    assert store.stat().st_mode & 0o777 == 0o644


def test_without_a_store_there_is_nothing_to_mend(tmp_path: Path) -> None:
    done = command(tmp_path / "none" / "events.db", "doctor", "--mend")
    assert done.code == 0 and done.out.endswith("All is well.\n")


def test_a_locked_store_is_named(tmp_path: Path) -> None:
    store = recorded(tmp_path, killed=False)
    with sqlite3.connect(store, isolation_level=None) as db:
        db.execute("BEGIN EXCLUSIVE")
        done = command(store, "doctor", "--json")
        db.execute("ROLLBACK")
    db.close()
    assert done.code == 1
    assert any("locked" in f["what"] for f in wrong(done))


def test_a_log_out_of_bounds_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_area, "WAL_BOUND", 1_000)
    with Agent(tmp_path / "events.db") as agent:
        agent.search(2)
        done = command(tmp_path / "events.db", "doctor", "--json")
    assert any("write-ahead log has grown" in f["what"] for f in wrong(done))


def test_a_hook_that_cannot_start_is_named(tmp_path: Path, home: Path) -> None:
    assert command(None, "install", "claude-code").code == 0
    done = command(tmp_path / "events.db", "doctor", "--json")
    assert (done.code, wrong(done)) == (0, [])
    assert any("claude-code is connected" in f["what"] for f in done.objects)
    settings = home / ".claude" / "settings.json"
    gone = json.loads(settings.read_text())
    del gone["hooks"]["PreToolUse"]
    settings.write_text(json.dumps(gone))
    (found,) = wrong(command(tmp_path / "events.db", "doctor", "--json"))
    assert "PreToolUse" in found["what"]
    assert found["mend"] == "loopguard-console install claude-code --user"


@pytest.mark.parametrize("name", registry.names())
def test_every_policy_fires_whatever_it_promises(name: str, tmp_path: Path) -> None:
    options = {"hard_stop_enabled": True} if name.startswith("hermes") else {}
    config = Config({"policy": name, "policies": {name: options}})
    with closing(open_store(str(tmp_path / "events.db"))) as store:
        found = tiers(config, store)
    assert not [f for f in found if f.state == "wrong"]
    fired = {t.word for t in TIERS if any(f"{t.word} fires" in f.what for f in found)}
    assert fired == {
        "progress": {"warn", "block", "halt"},
        "tool-loop-guard": {"halt"},
        "dsh": {"warn", "block"},
        "nous": {"warn"},
    }.get(name, {"warn", "block", "halt"})


def test_which_sqlite_has_the_wal_reset_fault() -> None:
    faulty = [(3, 7, 0), (3, 40, 1), (3, 44, 5), (3, 45, 0), (3, 50, 6), (3, 51, 2)]
    mended = [(3, 44, 6), (3, 44, 9), (3, 50, 7), (3, 51, 3), (3, 52, 0), (4, 0, 0)]
    assert all(map(has_wal_reset_fault, faulty))
    assert not any(map(has_wal_reset_fault, mended))
