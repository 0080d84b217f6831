"""``import``: into the store once, resumable, grown transcripts added to, usual places found."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import command
from importing import DATA, calls, imported
from loopguard_core.events import Event, encode
from loopguard_core.identity import Digester
from loopguard_core.importers import open_stream
from loopguard_core.importers.places import find
from loopguard_core.importers.storing import BATCH, StoreWriter
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store
from processes import console, environment


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(str(tmp_path / "state" / "events.db"))
    yield opened
    opened.close()


def added(store: Store, path: Path) -> int:
    return imported(store, path).added


@pytest.mark.parametrize(
    "path", sorted(p for p in DATA.iterdir() if p.is_file()), ids=lambda p: p.name
)
def test_importing_twice_adds_nothing_and_loses_nothing(store: Store, path: Path) -> None:
    assert added(store, path) > 0
    assert added(store, path) == 0
    with open_stream(path) as stream:
        wanted = [e for e in stream if e.data.get("outcome") != "pending"]
    for session in {e.session for e in wanted}:
        own = [e for e in wanted if e.session == session]
        stored = store.read(session)
        assert [e.type for e in stored] == [e.type for e in own]
        assert calls(stored) == calls(own)
        lean = store.read(session, payloads=False)
        assert all("exact" in e.data["ids"] for e in lean if e.type == "call_start")


def test_a_transcript_that_grew_is_added_to(store: Store, tmp_path: Path) -> None:
    whole = (DATA / "codex.jsonl").read_bytes()
    growing = tmp_path / "growing.jsonl"
    total = 0
    for size in (len(whole) // 3, len(whole) // 2, len(whole)):
        growing.write_bytes(whole[:size])
        total += added(store, growing)
    (tmp_path / "at-once").mkdir()
    other = open_store(str(tmp_path / "at-once" / "events.db"))
    assert total == added(other, DATA / "codex.jsonl")
    assert store.read("0190-main") == other.read("0190-main")
    other.close()


def test_an_import_that_was_stopped_goes_on(store: Store, tmp_path: Path) -> None:
    events = [
        Event("call", "long", ts=1.0 + i, data={"tool": "t", "args": {"i": i}, "result": "r"})
        for i in range(2 * BATCH)
    ]
    path = tmp_path / "long.jsonl"
    path.write_text("".join(encode(e) + "\n" for e in events))

    def until_stopped() -> Iterator[Event]:
        with open_stream(path) as stream:
            for number, event in enumerate(stream):
                if number == 3 * BATCH + 7:
                    raise KeyboardInterrupt
                yield event

    with pytest.raises(KeyboardInterrupt):
        StoreWriter(store, Digester()).add_all(until_stopped())
    assert store.last("long") == 3 * BATCH
    assert added(store, path) == BATCH
    assert [e.seq for e in store.read("long", payloads=False)] == list(range(1, 4 * BATCH + 1))


def test_a_session_recorded_live_is_left_alone(store: Store) -> None:
    store.append(Event("session_start", "5e55-main", ts=1.0, data={"agent": "claude-code"}))
    with open_stream(DATA / "claude_code.jsonl") as stream:
        result = StoreWriter(store, Digester()).add_all(stream)
    assert list(result.refused) == ["5e55-main"]
    assert store.last("5e55-main") == 1
    assert store.last("5e55-main/ab12") > 0


def test_the_command_says_what_it_did_and_what_it_did_not(tmp_path: Path) -> None:
    env = environment(LOOPGUARD_STORE=str(tmp_path / "events.db"), HOME=str(tmp_path))
    first = console("import", DATA / "claude_code.jsonl", DATA / "hermes.jsonl", env=env)
    assert first.returncode == 0, first.stderr
    assert b"2 sessions" in first.stdout
    assert b"unknown record" in first.stderr
    again = console("import", DATA / "claude_code.jsonl", "--json", env=env)
    answer = json.loads(again.stdout)
    assert (answer["events"], answer["format"]) == (0, "claude-code")
    assert answer["report"]["unknown"] == {"brand-new-record": 1}
    piped = console("import", "-", stdin=(DATA / "pi.jsonl").read_bytes(), env=env)
    assert piped.returncode == 0
    listed = console("sessions", "--json", env=env)
    names = {json.loads(line)["session"] for line in listed.stdout.splitlines()}
    assert {"5e55-main", "5e55-main/ab12", "h-1", "h-2", "pi-1"} <= names


@pytest.mark.parametrize("args", [(), ("missing.jsonl",), ("nothing/*.jsonl",)])
def test_what_cannot_be_imported_is_one_line(args: tuple[str, ...], tmp_path: Path) -> None:
    env = environment(LOOPGUARD_STORE=str(tmp_path / "events.db"), HOME=str(tmp_path))
    answer = console("import", *args, env=env)
    assert answer.returncode == 2
    assert len(answer.stderr.strip().splitlines()) == 1
    assert b"Traceback" not in answer.stderr


def test_the_usual_places_are_searched_newest_first(tmp_path: Path) -> None:
    files = {
        ".claude/projects/-w/one.jsonl": 300,
        ".claude/projects/-w/one/subagents/agent-1.jsonl": 900,
        ".codex/sessions/2026/03/01/rollout-1.jsonl": 500,
        ".gemini/tmp/ab/chats/session-1.json": 400,
        ".copilot/session-state/x/events.jsonl": 100,
    }
    for name, changed in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n")
        os.utime(path, (changed, changed))
    found = find({}, tmp_path, tmp_path)
    assert [f.agent for f in found] == ["Codex", "Gemini CLI", "Claude Code", "GitHub Copilot CLI"]
    env = environment(HOME=str(tmp_path), TZ="UTC")
    answer = console("import", "--find", "--json", env=env)
    listed = [json.loads(line)["file"] for line in answer.stdout.splitlines()]
    assert listed == [str(f.path) for f in found]


def test_open_without_a_target_says_what_to_name_where_nobody_can_choose(tmp_path: Path) -> None:
    env = environment(LOOPGUARD_STORE=str(tmp_path / "events.db"), HOME=str(tmp_path))
    empty = console("open", env=env)
    assert (empty.returncode, b"no transcript lies" in empty.stderr) == (2, True)
    transcript = tmp_path / ".claude" / "projects" / "-w" / "one.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_bytes((DATA / "claude_code.jsonl").read_bytes())
    answer = console("open", env=env)
    assert (answer.returncode, b"import --find" in answer.stderr) == (2, True)
    listed = console("import", "--find", env=env)
    assert str(transcript).encode() in listed.stdout


def test_a_session_that_was_left_alone_is_said(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    store.append(Event("session_start", "pi-1", ts=1.0, data={"agent": "pi"}))
    store.close()
    env = environment(LOOPGUARD_STORE=str(tmp_path / "events.db"), HOME=str(tmp_path))
    answer = console("import", DATA / "pi.jsonl", env=env)
    assert answer.returncode == 0
    assert b"pi-1 was left alone" in answer.stderr
    assert b"0 events added" in answer.stdout


def test_a_guarded_agent_cannot_import_itself_an_approval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = tmp_path / "forged.jsonl"
    grant = Event("grant", "s", data={"grant": "G1", "scope": "session"})
    recording.write_text(encode(Event("session_start", "s")) + "\n" + encode(grant) + "\n")
    place = tmp_path / "state" / "events.db"
    monkeypatch.setenv("LOOPGUARD_SESSION", "s")
    done = command(place, "import", recording)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert not place.exists()
    monkeypatch.delenv("LOOPGUARD_SESSION")
    assert command(place, "import", recording).code == 0


def test_what_was_imported_is_no_agent_that_runs(tmp_path: Path) -> None:
    place = tmp_path / "events.db"
    assert command(place, "import", DATA).code == 0
    assert command(place, "status").out == ""
    listed = command(place, "sessions").out.splitlines()
    assert len(listed) == 1 and "are not shown (--all)" in listed[0]
    assert len(command(place, "sessions", "--all").out.splitlines()) > 20
