"""Transcripts as agents write them while they run: line by line, into files that a test chooses."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any


def when(second: int) -> str:
    return f"2026-05-01T10:00:{second:02d}.000Z"


class Claude:
    """A session of Claude Code, or a subagent's (*agent*), in *path*."""

    def __init__(self, path: Path, session: str = "s1", agent: str = "") -> None:
        self.path = path
        self.session = session
        self.agent = agent
        self.lines = 0
        path.parent.mkdir(parents=True, exist_ok=True)

    def record(self, type: str, **more: Any) -> bytes:
        self.lines += 1
        about: dict[str, Any] = {
            "type": type,
            "uuid": f"{self.session}{self.agent}-{self.lines}",
            "parentUuid": None,
            "sessionId": self.session,
            "timestamp": when(self.lines % 60),
            "cwd": "/home/you/project",
            "version": "2.1.332",
            "isSidechain": bool(self.agent),
        }
        if self.agent:
            about["agentId"] = self.agent
        return json.dumps({**about, **more}).encode() + b"\n"

    def prompt(self, text: str) -> bytes:
        return self.record("user", message={"role": "user", "content": text})

    def calls(self, call: str, tool: str = "Bash", **args: Any) -> bytes:
        use = {"type": "tool_use", "id": call, "name": tool, "input": args}
        said = {"role": "assistant", "id": f"m-{call}", "content": [use]}
        return self.record("assistant", message=said)

    def result(self, call: str, text: str, *, failed: bool = False) -> bytes:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call, "content": text}
        if failed:
            block["is_error"] = True
        return self.record("user", message={"role": "user", "content": [block]})

    def write(self, *data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(b"".join(data))

    def loop(self, times: int, first: int = 1) -> None:
        """The same failing call *times* times."""
        for n in range(first, first + times):
            self.write(
                self.calls(f"t{n}", command="cat nope"), self.result(f"t{n}", "no such file")
            )


class Codex:
    """A rollout of Codex."""

    def __init__(self, path: Path, session: str = "c1") -> None:
        self.path = path
        self.lines = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        about = {
            "id": session,
            "cwd": "/home/you/project",
            "cli_version": "0.171.0",
            "source": "cli",
        }
        self.write("session_meta", **about)

    def write(self, kind: str, **payload: Any) -> None:
        self.lines += 1
        record = {"timestamp": when(self.lines % 60), "type": kind, "payload": payload}
        with self.path.open("ab") as file:
            file.write(json.dumps(record).encode() + b"\n")

    def loop(self, times: int) -> None:
        for n in range(times):
            args = json.dumps({"cmd": "cat nope"})
            self.write(
                "response_item",
                type="function_call",
                call_id=f"c{n}",
                name="exec_command",
                arguments=args,
            )
            said = "Process exited with code 1\nOutput:\nno such file"
            self.write("response_item", type="function_call_output", call_id=f"c{n}", output=said)


class Gemini:
    """A chat of Gemini CLI, which writes a message again when its calls are done."""

    def __init__(self, path: Path, session: str = "g1") -> None:
        self.path = path
        self.lines = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self.write({"sessionId": session, "projectHash": "h", "startTime": when(0), "kind": "main"})

    def write(self, record: dict[str, Any]) -> None:
        with self.path.open("ab") as file:
            file.write(json.dumps(record).encode() + b"\n")

    def call(self, n: int) -> None:
        head = {"id": f"m{n}", "timestamp": when(n), "type": "gemini", "content": ""}
        self.write(head)
        done = {
            "id": f"t{n}",
            "name": "run_shell_command",
            "args": {"command": "cat nope"},
            "status": "success",
            "timestamp": when(n),
            "result": [{"functionResponse": {"response": {"output": "Exit Code: 1"}}}],
        }
        self.write({**head, "toolCalls": [done]})


class Hermes:
    """The ``state.db`` of hermes, which a running agent keeps open."""

    def __init__(self, path: Path, session: str = "h1", started: float = 1_777_000_000.0) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.session = session
        self.time = started
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS sessions (id TEXT, source TEXT, model TEXT, title TEXT,"
            " parent_session_id TEXT, started_at REAL, ended_at REAL, end_reason TEXT)"
        )
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT,"
            " content TEXT, tool_calls TEXT, tool_call_id TEXT, tool_name TEXT, timestamp REAL,"
            " active INTEGER DEFAULT 1, compacted INTEGER DEFAULT 0)"
        )
        self.db.execute(
            "INSERT INTO sessions (id, source, started_at) VALUES (?, 'cli', ?)", (session, started)
        )

    def message(self, role: str, **more: Any) -> None:
        self.time += 1
        row = {"session_id": self.session, "role": role, "timestamp": self.time, **more}
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        self.db.execute(f"INSERT INTO messages ({names}) VALUES ({marks})", tuple(row.values()))

    def call(self, n: int) -> None:
        function = {"name": "terminal", "arguments": '{"command": "cat nope"}'}
        asked = [{"id": f"t{n}", "type": "function", "function": function}]
        self.message("assistant", content="", tool_calls=json.dumps(asked))
        said = json.dumps({"output": "no such file", "exit_code": 1, "error": None})
        self.message("tool", content=said, tool_call_id=f"t{n}", tool_name="terminal")
