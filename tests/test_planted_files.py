"""A pipe, a link, a device or a folder where a file is expected: nothing hangs, nothing is followed, and it is said."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from pathlib import Path

import pytest

from hooks import Host
from loopguard_console.remembered import Remembered
from loopguard_core import checkpoint, files
from loopguard_core.config import Config, ConfigError, load_config
from loopguard_core.events import Event
from loopguard_core.files import NotAFile
from loopguard_core.importers import Unreadable, open_stream
from loopguard_core.importers.beside import Families, subagent_files
from loopguard_core.importers.tail import Tail
from loopguard_core.session.doors import Doors
from loopguard_core.store.contract import Store, StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import machine_key, spool_file
from loopguard_core.store.search import open_index
from loopguard_core.store.spool import open_spool
from planted import KEPT, KINDS, plant
from sessions import loop, session, store_in

# SQLite cannot be interrupted where it waits for a pipe: then the whole process has to end.
pytestmark = pytest.mark.timeout(60, method="thread")

PLACE = "postgresql://agents@db.example/loopguard"


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_file_is_read_and_what_is_written_takes_the_place_of_a_link(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "one"
    elsewhere = plant(path, kind)
    with pytest.raises(NotAFile) as why:
        files.read(str(path))
    said = str(why.value.strerror)
    assert said.startswith("it is a") and said.endswith(", not a file")
    files.keep(str(path), b"ours")
    assert elsewhere.read_bytes() == KEPT
    if kind == "folder":
        assert path.is_dir()
    else:
        assert files.read(str(path)) == b"ours"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(list(tmp_path.iterdir())) == 2, "nothing half written stays"


def test_a_link_that_a_person_made_is_followed_where_that_is_meant(tmp_path: Path) -> None:
    plant(tmp_path / "one", "link")
    assert files.read(str(tmp_path / "one"), 4, follow=True) == KEPT[:4]
    plant(tmp_path / "two", "device")
    with pytest.raises(NotAFile, match="a device"):
        files.read(str(tmp_path / "two"), follow=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_hook_judges_whatever_stands_in_its_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    host = Host(tmp_path, config='policy = "graded"\nmode = "enforce"\n')
    host.send("SessionStart", source="startup")
    for _ in range(2):
        assert host.before("make").out == ""
        host.after("make")
    there = [p for p in sorted((tmp_path / "state").rglob("*")) if p.is_file()]
    assert {p.parent.name for p in there} >= {"config", "patterns", "pinned"}
    led = [plant(path, kind) for path in there]
    assert host.before("make", limit=20).denied
    assert {path.read_bytes() for path in led} == {KEPT}


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_a_hook_tells_the_agent_s_shells_of_its_session_in_a_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    plant(tmp_path / "env.sh", kind)
    monkeypatch.setenv("CLAUDE_ENV_FILE", str(tmp_path / "env.sh"))
    host = Host(tmp_path)
    said = host.send("SessionStart", source="startup", limit=20)
    assert "env.sh cannot be written: it is a" in said.err
    assert host.before().out == ""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["machine.key", "store.db-journal", "store.db-wal", "store.db-shm"]
)
def test_a_hook_answers_whatever_stands_beside_its_store(
    tmp_path: Path, name: str, kind: str
) -> None:
    host = Host(tmp_path, config='on_store_failure = "deny"\n')
    host.before("make")
    elsewhere = plant(tmp_path / name, kind)
    said = host.before("make", limit=20)
    assert said.denied
    assert f"{name} is a" in said.err or "machine.key: it is a" in said.err
    assert elsewhere.read_bytes() == KEPT
    (tmp_path / name).rmdir() if kind == "folder" else (tmp_path / name).unlink()
    assert host.before("make").out == ""


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "folder"])
@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("name", ["", "-journal", "-wal", "-shm"])
def test_a_store_says_what_stands_where_its_files_should(
    tmp_path: Path, name: str, read_only: bool, kind: str
) -> None:
    store = store_in(tmp_path)
    store.append(Event("note", "s"))
    store.close()
    path = tmp_path / f"events.db{name}"
    elsewhere = plant(path, kind)
    with pytest.raises(StoreError, match=r"is a (pipe|link|device), not a|not a SQLite database"):
        open_store(str(tmp_path / "events.db"), create=not read_only, read_only=read_only)
    assert elsewhere.read_bytes() == KEPT


def test_an_agent_goes_on_where_a_pipe_takes_the_place_of_its_log(tmp_path: Path) -> None:
    store, said = store_in(tmp_path), list[str]()
    live = session(store, said=said, mode="enforce")
    loop(live, 1)
    plant(tmp_path / "events.db-wal", "pipe")
    time.sleep(0.06)  # until it looks again
    assert [d.run for d in loop(live, 2)] == [True, False]
    assert sum("was taken away" in line for line in said) == 1
    live.end()
    assert open_store(str(tmp_path / "events.db")).read("s")[-1].type == "session_end"


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_that_is_none_is_said(tmp_path: Path, kind: str) -> None:
    plant(tmp_path / "machine.key", kind)
    with pytest.raises(StoreError, match=r"machine.key: it is a \w+, not a file; remove it"):
        machine_key(str(tmp_path / "events.db"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_that_is_none_is_not_used_and_keeps_no_other_from_going(
    tmp_path: Path, kind: str
) -> None:
    store = store_in(tmp_path)
    live = session(store)
    loop(live, 2)
    kept = checkpoint.Checkpoint(str(tmp_path / "guards"), b"k" * 32, store, "s", "d")
    kept.save(live.guard)
    (path,) = (tmp_path / "guards").iterdir()
    elsewhere = plant(path, kind)
    assert not kept.load(live.guard.copy())
    kept.save(live.guard)
    assert elsewhere.read_bytes() == KEPT
    old = tmp_path / "guards" / "old.state"
    old.write_bytes(b"")
    os.utime(old, (1.0, 1.0))
    plant(tmp_path / "guards" / "a", kind)
    os.utime(tmp_path / "guards" / "a", (1.0, 1.0), follow_symlinks=kind in ("pipe", "folder"))
    checkpoint.clear(str(tmp_path / "guards"))
    assert not old.exists()


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "link"])
def test_a_configuration_that_is_no_file_is_said(tmp_path: Path, kind: str) -> None:
    plant(tmp_path / "mine.toml", kind)
    with pytest.raises(ConfigError, match="which is not a file"):
        load_config(str(tmp_path), {"LOOPGUARD_CONFIG": str(tmp_path / "mine.toml")})


@pytest.mark.parametrize("kind", KINDS)
def test_what_waits_for_a_server_is_kept_whatever_stands_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    there = Path(spool_file(PLACE))
    elsewhere = plant(there, kind)
    spool = open_spool(PLACE)
    assert spool is not None
    spool.append(Event("note", "s"))
    assert Path(spool.aside).name.startswith("spool.db.damaged-")
    for slot in range(16):
        plant(there.with_name(f"{there.name}.lock{slot}"), kind)
    with pytest.raises(StoreError, match="it is a"), spool.alone("s"):
        pass
    spool.close()
    assert elsewhere.read_bytes() == KEPT


@pytest.mark.parametrize("kind", KINDS)
def test_a_note_that_a_server_is_away_is_read_only_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def away(*_: object, **__: object) -> Store:
        raise StoreError("it is away")

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("loopguard_core.session.doors.open_store", away)
    elsewhere = plant(Path(spool_file(PLACE)).with_name("away"), kind)
    with pytest.raises(StoreError, match="it is away"):
        Doors(Config({"store": PLACE})).store()
    assert elsewhere.read_bytes() == KEPT


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["-search", "-search-journal"])
def test_a_search_index_is_made_in_no_other_file(tmp_path: Path, name: str, kind: str) -> None:
    store = store_in(tmp_path)
    loop(session(store), 1)
    elsewhere = plant(tmp_path / f"events.db{name}", kind)
    with pytest.raises(StoreError, match="not a file"):
        open_index(store)
    assert elsewhere.read_bytes() == KEPT


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "link"])
def test_transcripts_of_agents_are_read_from_files_alone(tmp_path: Path, kind: str) -> None:
    own = tmp_path / "abc.jsonl"
    own.write_text('{"sessionId": "abc", "type": "user"}\n')
    plant(tmp_path / "agent-1.jsonl", kind)
    plant(tmp_path / "abc" / "subagents" / "agent-2.jsonl", kind)
    plant(tmp_path / "other.jsonl", kind)
    assert subagent_files(own, "abc") == []
    assert not Families().is_child(tmp_path / "agent-1.jsonl")
    with pytest.raises(OSError):
        Tail(tmp_path / "agent-1.jsonl", lambda: None)


def test_a_database_of_an_agent_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()
    plant(tmp_path / "state.db-journal", "pipe")
    with pytest.raises(Unreadable, match=r"state.db-journal is a pipe, not a file; remove it"):
        open_stream(path)


@pytest.mark.parametrize("kind", KINDS)
def test_the_console_begins_as_new_where_it_remembers_nothing(tmp_path: Path, kind: str) -> None:
    plant(tmp_path / "console.json", kind)
    remembered = Remembered(tmp_path / "console.json")
    remembered.keep("theme", "dark")
    assert remembered.text("theme") == "dark"
