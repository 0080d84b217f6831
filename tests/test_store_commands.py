"""``export`` and ``prune``, and what a store that is not as it should be makes of every command."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from agent_process import Agent
from commands import command
from importing import DATA
from loopguard_core.events import Event, decode
from loopguard_core.store.door import open_store
from processes import CONSOLE, environment


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store in which the sessions ``one`` and ``two`` have ended."""
    folder = tmp_path_factory.mktemp("made")
    place = folder / "events.db"
    for session in ("one", "two"):
        with Agent(place, session, unattended_wait_seconds=0) as agent:
            agent.search(3 if session == "one" else 1)
            agent.end()
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    """A copy of that store."""
    for file in made.iterdir():
        shutil.copy2(file, tmp_path)
    return tmp_path / "events.db"


def test_what_is_exported_can_be_read_again(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    done = command(store, "export", "one", "-o", str(out), "--json")
    assert done.objects == [{"file": str(out), "events": len(out.read_text().splitlines())}]
    assert out.stat().st_mode & 0o777 == 0o600
    (session,) = command(None, "stats", str(out), "--json").objects
    assert (session["session"], session["calls"], session["longest_run"]) == ("one", 3, 3)
    recorded = command(store, "show", "one", "--json").objects
    reopened = command(None, "open", str(out), "--json").objects
    assert [{**call, "session": "one"} for call in recorded] == [
        {**call, "session": "one"} for call in reopened
    ]
    everything = command(store, "export")
    events = [decode(line) for line in everything.out.splitlines()]
    assert {event.session for event in events} == {"one", "two"}
    again = command(store, "export", "-o", str(out))
    assert again.code == 2
    assert "--force" in again.err
    assert command(store, "export", "-o", str(out), "--force").code == 0


def test_a_folder_that_is_called_like_a_session_is_not_in_its_way(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    lines = command(store, "export", "one").out.splitlines()
    assert {decode(line).session for line in lines} == {"one"}
    for folder in ("./one", "other"):
        done = command(store, "export", folder)
        assert done.code == 2 and "no transcript in it" in done.err
    (tmp_path / "two").write_text(lines[0])
    assert decode(command(store, "export", "two").out.strip()).session == "one", "a file is a file"


def test_a_transcript_becomes_our_events_a_report_or_a_test(store: Path, tmp_path: Path) -> None:
    transcript = str(DATA / "claude_code.jsonl")
    lines = command(store, "export", transcript).out.splitlines()
    first, *_ = command(None, "stats", transcript, "--json").objects
    assert sum(decode(line).type == "call_start" for line in lines) >= first["calls"] > 0
    folder = tmp_path / "reports"
    folder.mkdir()
    done = command(store, "export", transcript, "one", "--as", "html", "-o", str(folder), "--json")
    assert {"one"} < {told["session"] for told in done.objects}
    assert all(Path(told["files"][0]).read_text().startswith("<!doctype") for told in done.objects)
    nobody = command(store, "export", "nobody", "--as", "test", "-o", str(folder))
    assert (nobody.code, nobody.err.count("\n")) == (2, 1)


def test_prune_says_what_would_go_and_keeps_what_is_in_use(store: Path) -> None:
    assert command(store, "prune").code == 2
    recent = command(store, "prune", "--days", "0", "--megabytes", "0", "--yes")
    assert (recent.code, recent.out.splitlines()[0]) == (0, "Nothing has to go.")
    assert "2 more would, but run, wait or were active within a day" in recent.out
    with contextlib.closing(open_store(str(store))) as opened:
        for name in ("old", "older"):
            opened.append(Event("session_start", name, ts=time.time() - 2 * 86_400))
            opened.append(Event("session_end", name, ts=time.time() - 2 * 86_400))
    wanted = command(store, "prune", "--days", "0", "--dry-run")
    assert "2 sessions would go: 4 events" in wanted.out
    first = command(store, "prune", "--days", "1", "--megabytes", "0", "--dry-run")
    assert "older than 1 day\n" in first.out
    assert len(command(store, "sessions", "--json", "--all").objects) == 4
    asked = command(store, "prune", "--days", "0")
    assert (asked.code, "--yes" in asked.err) == (2, True)
    with Agent(store, "three") as agent:
        agent.search(1)
        gone = command(store, "prune", "--days", "0", "--yes")
        assert "2 sessions forgotten" in gone.out
        assert "3 more would, but run, wait or were active within a day" in gone.out
    left = command(store, "sessions", "--json", "--all").objects
    assert {session["session"] for session in left} == {"one", "two", "three"}


READING = [("sessions",), ("show", "one"), ("pending",), ("status",), ("grants",), ("export",)]
DECIDING = [("approve", "R1"), ("halt", "one"), ("resume", "one"), ("reset", "one")]


@pytest.mark.parametrize("args", [*READING, *DECIDING], ids=" ".join)
def test_a_store_that_cannot_be_used_is_said_in_one_line(
    args: tuple[str, ...], store: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty.db").touch()
    (tmp_path / "text.db").write_text("not a database, but a text of some length\n" * 30)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()
    for place, said in (
        (tmp_path / "missing.db", "no such event store"),
        (tmp_path, "directory"),
        (tmp_path / "text.db", "not a SQLite database"),
        (other, "another program"),
    ):
        done = command(place, *args)
        assert done.code in (1, 2), (place, done)
        assert said in done.err
        assert (done.out, done.err.count("\n")) == ("", 1)
    with sqlite3.connect(store) as db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    done = command(store, *args)
    assert (done.code, "newer" in done.err) == (1, True)


@pytest.mark.parametrize("args", DECIDING, ids=" ".join)
def test_a_locked_store_makes_a_decision_fail_and_not_hang(
    args: tuple[str, ...], store: Path
) -> None:
    if "resume" in args:
        assert command(store, "halt", "one").code == 0
    with sqlite3.connect(store, isolation_level=None) as db:
        db.execute("BEGIN IMMEDIATE")
        done = command(store, *args)
        db.execute("ROLLBACK")
    db.close()
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "is locked" in done.err


def test_reading_does_not_mind_a_writer(store: Path) -> None:
    with sqlite3.connect(store, isolation_level=None) as db:
        db.execute("BEGIN IMMEDIATE")
        for args in READING:
            assert command(store, *args).code == 0
        db.execute("ROLLBACK")
    db.close()


def test_a_store_beside_which_nothing_can_be_written_is_still_read(store: Path) -> None:
    opened = open_store(str(store))
    opened.close()
    store.chmod(0o400)
    store.parent.chmod(0o500)
    try:
        assert command(store, "sessions", "--all").code == 0
        assert command(store, "show", "one").code == 0
    finally:
        store.parent.chmod(0o700)


def test_a_session_is_found_by_the_beginning_of_its_id(store: Path) -> None:
    assert command(store, "show", "on", "--json").objects[0]["tool"] == "search"
    for name in ("nobody", "", "\x1b[2J"):
        done = command(store, "show", name)
        assert done.code == 2
        assert "\x1b" not in done.err
    with Agent(store, "only") as agent:
        agent.search(1)
    done = command(store, "show", "on")
    assert (done.code, "2 sessions" in done.err) == (2, True)


def test_a_name_with_escapes_is_harmless_in_an_error() -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J\x9b31m"
    for args in (
        (nasty,),
        ("open", f"{nasty}/x"),
        ("stats", nasty),
        ("judge", nasty),
        ("sessions", nasty),
    ):
        done = command(None, *args)
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert not set("\x1b\x07\x9b") & set(done.err)


def test_foreign_text_stays_text(store: Path, tmp_path: Path) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J[bold]\u202e[/]\x9b31m\x00"
    event: dict[str, Any] = {
        "type": "call",
        "tool": nasty,
        "args": {nasty: nasty},
        "result": nasty,
        "ok": True,
    }
    start = {"type": "session_start", "agent": nasty, "cwd": nasty, "session": "three"}
    lines = [start, {"type": "user_message", "text": nasty, "session": "three"}]
    lines += [{**event, "session": "three"}] * 3
    recorded = tmp_path / "nasty.jsonl"
    recorded.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert command(store, "import", str(recorded)).code == 0
    named = [s["session"] for s in command(store, "sessions", "--all", "--json").objects]
    (session,) = set(named) - {"one", "two"}
    for args in (["sessions", "--all"], ["show", session], ["show", session, "--json"]):
        done = command(store, *args)
        assert done.code == 0
        assert not set("\x1b\x07\u202e\x9b\x00") & set(done.out + done.err)


def test_show_says_what_a_call_waits_for(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    same = '"session":"s","tool":"search","args":{"q":1}'
    lines = [f'{{"type":"call",{same},"result":"r"}}'] * 2
    lines.append(f'{{"type":"call_start","call":"c9",{same}}}')
    lines.append(
        '{"type":"request_opened","session":"s","request":"R7","call":"c9","tool":"search","tier":"block"}'
    )
    log.write_text("\n".join(lines) + "\n")
    store = tmp_path / "e.db"
    assert command(store, "import", str(log)).code == 0
    assert "waits R7" in command(store, "show", "s").out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("args", [("export",), ("sessions", "--all"), ("sessions", "--json")])
def test_output_that_cannot_be_written_is_one_line(args: tuple[str, ...], tmp_path: Path) -> None:
    store = tmp_path / "e.db"
    assert command(store, "import", DATA / "ours.jsonl").code == 0
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*CONSOLE, "--store", str(store), *args],
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1 and b"No space left" in done.stderr


def test_the_store_of_the_settings_is_that_of_every_command(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent writes there, so a person looks there; what is named on the command line comes first."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "loopguard.toml").write_text(f'store = "{store}"\n')
    monkeypatch.chdir(folder)
    monkeypatch.setenv("LOOPGUARD_STORE", str(tmp_path / "elsewhere.db"))
    assert {s["session"] for s in command(None, "sessions", "--all", "--json").objects} == {
        "one",
        "two",
    }
    assert "one" in command(None, "export", "one").out
    other = command(tmp_path / "other.db", "sessions")
    assert (other.code, "no such event store" in other.err) == (2, True)
    (folder / "loopguard.toml").write_text('store = "missing.db"\n')
    assert "missing.db: no such event store" in command(None, "sessions").err


def test_a_session_that_is_named_twice_is_written_once(store: Path) -> None:
    once = command(store, "export", "one").out
    assert once and command(store, "export", "one", "one").out == once


@pytest.mark.parametrize(
    ("limit", "said"),
    [(("--calls", "99999"), "at most 200 calls"), (("--minutes", "1e9"), "at most 480 minutes")],
)
def test_an_override_beyond_the_ceiling_says_it_in_the_units_that_were_given(
    store: Path, limit: tuple[str, str], said: str
) -> None:
    done = command(store, "override", "one", "--scope", "session", *limit)
    assert (done.code, said in done.err) == (1, True)
