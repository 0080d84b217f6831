"""Answers that advance are news, whatever the words and whatever the tool: nothing is said of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from loopguard_core.events import from_json
from loopguard_core.policies.registry import create
from loopguard_core.recording.judging import judge

TOOLS: dict[str, dict[str, Any]] = {
    "do_it": {},
    "get_state": {},
    "job_status": {"id": 1},
    "Bash": {"command": "./show"},
    "mcp__x__thing": {"a": 1},
    "search_x": {"query": "a"},
    "next_item": {},
    "read_file": {"path": "a"},
    "update_all": {},
}
ANSWERS: dict[str, Callable[[int], str]] = {
    "of": lambda n: f"{n + 1}/40 files",
    "percent": lambda n: f"{n * 3}%",
    "bytes": lambda n: f"{n * 1024 + 7} bytes written",
    "loss": lambda n: f"epoch {n}, loss={1 / (n + 1):.4f}",
    "fraction": lambda n: json.dumps({"status": "running", "progress": n / 30}),
    "queue": lambda n: json.dumps({"state": "PENDING", "queuePosition": 30 - n}),
    "eta": lambda n: f"ETA {40 - n}s",
    "left": lambda n: f"remaining: 3m{59 - n}s",
    "position": lambda n: f"position 0m{n + 3}.{n}s",
    "rendered": lambda n: f"rendered up to {n}.5s",
    "job": lambda n: f"finished job {n + 100}",
    "worker": lambda n: f"worker-{n + 3} done",
    "version": lambda n: f"v1.{n}.0",
    "waiting": lambda n: f"{n} messages waiting",
    "failed": lambda n: f"failed: {n}, passed: {n * 4}",
    "missing": lambda n: f"Missing heartbeats: {n}",
    "unknown": lambda n: f"Unknown hosts: {n} of 40",
    "bar": lambda n: "[" + "#" * n + " " * (30 - n) + "]",
    "listing": lambda n: "\n".join(f"-rw-r--r-- {n * 100 + k} Nov 30 02:0{k} f" for k in range(6)),
    "jobs": lambda n: "\n".join(f"job-{k} {'done' if k < n else 'running'}" for k in range(24)),
    "shards": lambda n: "\n".join(f"shard {k}: {n * 10 + k} docs" for k in range(8)),
    "log": lambda n: "\n".join(f"02:00:{k + 3:02} job {n * 3 + k} ok" for k in range(8)),
    "offset": lambda n: json.dumps({"offset": n * 50, "total": 2000}),
    "program": lambda n: json.dumps({"output": f"{40 - n} to go", "exit_code": 0}),
    "parts": lambda n: json.dumps([{"type": "text", "text": f"{n} of 40"}]),
    "debugger": lambda n: f"0x{4198400 + n * 4:x}: mov eax, ebx",
    "changed": lambda n: f"{n} files changed, {n * 3} insertions(+)",
    "customers": lambda n: f"called {n} of 40 customers",
}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("tool", TOOLS)
def test_nothing_is_said_of_what_advances(tool: str, name: str) -> None:
    calls = [
        from_json({"type": "call", "tool": tool, "args": TOOLS[tool], "result": ANSWERS[name](n)})
        for n in range(20)
    ]
    for row in judge(calls, create("progress")):
        assert not any(v is not None and v.tier for v in (row.before, row.after)), row.to_json()
