"""The SQLite stores of hermes-agent and opencode open as their exports do."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from importing import DATA, calls, opened
from loopguard_core.importers import Unreadable
from loopguard_core.store.door import open_store


def test_a_hermes_store_opens_as_its_export_does(tmp_path: Path) -> None:
    exported = [json.loads(line) for line in (DATA / "hermes.jsonl").read_text().splitlines()]
    path = tmp_path / "state.db"
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE sessions (id TEXT, source TEXT, model TEXT, parent_session_id TEXT,"
            " started_at REAL, ended_at REAL, end_reason TEXT)"
        )
        db.execute(
            "CREATE TABLE messages (id INTEGER, session_id TEXT, role TEXT, content TEXT,"
            " tool_calls TEXT, tool_call_id TEXT, tool_name TEXT, timestamp REAL, active INTEGER,"
            " compacted INTEGER)"
        )
        for session in exported:
            messages = session.pop("messages")
            _insert(db, "sessions", session)
            for message in messages:
                if isinstance(message.get("tool_calls"), list):
                    message["tool_calls"] = json.dumps(message["tool_calls"])
                _insert(db, "messages", {**message, "session_id": session["id"]})
    assert [e for _, e in opened(path)] == [e for _, e in opened("hermes.jsonl")]


def test_an_opencode_store_opens_as_its_export_does(tmp_path: Path) -> None:
    exported = json.loads((DATA / "opencode.json").read_text())
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, version TEXT, title TEXT,"
            " time_created INTEGER)"
        )
        db.execute(
            "CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT)"
        )
        db.execute("CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT)")
        info = exported["info"]
        row = {k: info[k] for k in ("id", "directory", "version", "title")}
        _insert(db, "session", {**row, "time_created": info["time"]["created"]})
        for message in exported["messages"]:
            about = message["info"]
            row = {"id": about.pop("id"), "session_id": info["id"], "data": json.dumps(about)}
            _insert(db, "message", row)
            for number, part in enumerate(message["parts"]):
                part.pop("id", None)
                key = f"p{number:02d}"
                held = {"message_id": row["id"], "session_id": info["id"], "data": json.dumps(part)}
                _insert(db, "part", {"id": key, **held})
    ((_, events),) = opened(path)
    assert calls(events) == calls(opened("opencode.json")[0][1])
    assert [e.type for e in events] == [e.type for e in opened("opencode.json")[0][1]]


def test_other_databases_are_said_to_be_none(tmp_path: Path) -> None:
    open_store(str(tmp_path / "events.db")).close()
    with pytest.raises(Unreadable, match="--store"):
        opened(tmp_path / "events.db")
    with sqlite3.connect(tmp_path / "other.db") as db:
        db.execute("CREATE TABLE t (x)")
    with pytest.raises(Unreadable, match="not a transcript"):
        opened(tmp_path / "other.db")
    broken = tmp_path / "broken.db"
    broken.write_bytes((tmp_path / "other.db").read_bytes()[:50])
    with pytest.raises(Unreadable):
        opened(broken)


def _insert(db: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    names = ", ".join(row)
    marks = ", ".join("?" * len(row))
    db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))
