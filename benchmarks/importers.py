"""How fast transcripts are imported, and in how much memory.

Run by hand: ``PYTHONPATH=core python benchmarks/importers.py [--quick]``. Prints Markdown tables. The rate
is against a bare loop that parses the same lines with ``json`` and inserts them in batches into a table of
its own, the median of pairs that were measured one after the other. The memory is the
peak of a process of its own that imports a file of that size, less that of one that imports a small file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loopguard_core.identity import Digester
from loopguard_core.importers import open_stream
from loopguard_core.importers.storing import StoreWriter
from loopguard_core.store.door import open_store

BATCH = 400
KEY = hashlib.sha256(b"the key of this machine").digest()
WORDS = [
    f"{w}{n}" for n in range(40) for w in ("alpha", "beta", "gamma", "delta", "path/to/", "= ")
]


def claude_code(calls: int) -> Iterator[dict[str, Any]]:
    """A Claude Code transcript in the proportions of real ones: a fifth of it is results."""
    rng = random.Random(1)
    number = 0

    def record(kind: str, **more: Any) -> dict[str, Any]:
        nonlocal number
        number += 1
        return {
            "parentUuid": _uuid(number - 1),
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/dev/app",
            "sessionId": "benchmark",
            "version": "2.1.120",
            "gitBranch": "main",
            "type": kind,
            "uuid": _uuid(number),
            "timestamp": f"2026-03-01T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}.000Z",
            **more,
        }

    for call in range(calls):
        if call % 25 == 0:
            yield record("user", message={"role": "user", "content": _text(rng, 200)})
        usage = {"input_tokens": 10, "cache_read_input_tokens": 30_000, "output_tokens": 5}
        said = {"id": f"msg_{call}", "role": "assistant", "model": "a-model", "usage": usage}
        thought = {"type": "thinking", "thinking": _text(rng, 300), "signature": _text(rng, 600)}
        yield record("assistant", message={**said, "content": [thought]})
        yield record(
            "assistant", message={**said, "content": [{"type": "text", "text": _text(rng, 200)}]}
        )
        asked = {"command": _text(rng, 80), "description": _text(rng, 40)}
        use = {"type": "tool_use", "id": f"toolu_{call}", "name": "Bash", "input": asked}
        yield record("assistant", message={**said, "content": [use]})
        output = _text(rng, rng.choice((100, 300, 800, 2_500)))
        result = {"type": "tool_result", "tool_use_id": f"toolu_{call}", "content": output}
        yield record(
            "user",
            message={"role": "user", "content": [result]},
            toolUseResult={"stdout": output, "stderr": "", "file": _text(rng, 1_000)},
        )
        yield record("progress", data={"type": "hook_progress", "hookName": "PostToolUse:Bash"})


def codex(calls: int) -> Iterator[dict[str, Any]]:
    """A Codex rollout in the proportions of real ones: two thirds of it are results, all different."""
    rng = random.Random(2)
    number = 0

    def line(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        nonlocal number
        number += 1
        stamp = (
            f"2026-03-01T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}.000Z"
        )
        return {"timestamp": stamp, "type": kind, "payload": payload}

    yield line("session_meta", {"id": "benchmark", "cwd": "/home/dev/app", "source": "cli"})
    for call in range(calls):
        if call % 25 == 0:
            yield line("event_msg", {"type": "user_message", "message": _text(rng, 200)})
        thought = {"type": "reasoning", "summary": [], "encrypted_content": _text(rng, 1_500)}
        yield line("response_item", thought)
        asked = json.dumps({"cmd": _text(rng, 80), "workdir": "/home/dev/app"})
        own = {"call_id": f"call_{call}"}
        use = {"type": "function_call", "name": "exec_command", "arguments": asked, **own}
        yield line("response_item", use)
        preamble = (
            f"Chunk ID: {call:06x}\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n"
        )
        output = preamble + _text(rng, rng.choice((200, 1_000, 4_000, 12_000)))
        yield line("response_item", {"type": "function_call_output", "output": output, **own})
        yield line(
            "event_msg", {"type": "token_count", "info": {"total": _usage(call), "last": _usage(3)}}
        )


FORMATS = {"Claude Code": claude_code, "Codex": codex}


def _usage(number: int) -> dict[str, int]:
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
    return dict.fromkeys(names, number * 100)


def _uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def _text(rng: random.Random, size: int) -> str:
    return " ".join(rng.choices(WORDS, k=size // 8))


def write(path: Path, name: str, megabytes: float) -> None:
    """A transcript of about that size."""
    written = 0
    with path.open("w") as file:
        for record in FORMATS[name](int(megabytes * 1_000)):
            line = json.dumps(record, separators=(",", ":")) + "\n"
            file.write(line)
            written += len(line)
            if written > megabytes * 1e6:
                return


def bare(path: Path, folder: Path) -> float:
    """The bare loop; seconds."""
    db = sqlite3.connect(folder / "bare.db", isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=NORMAL")
    db.execute("CREATE TABLE line (number INTEGER PRIMARY KEY, type TEXT, text TEXT)")
    began = time.perf_counter()
    batch: list[tuple[str, str]] = []

    def flush() -> None:
        db.execute("BEGIN")
        db.executemany("INSERT INTO line (type, text) VALUES (?, ?)", batch)
        db.execute("COMMIT")
        batch.clear()

    with path.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            batch.append((record["type"], line))
            if len(batch) >= BATCH:
                flush()
    flush()
    took = time.perf_counter() - began
    db.close()
    return took


def imported(path: Path, folder: Path) -> float:
    """Our import; seconds."""
    store = open_store(str(folder / "state" / "events.db"))
    began = time.perf_counter()
    with open_stream(path) as stream:
        StoreWriter(store, Digester(KEY)).add_all(stream)
    took = time.perf_counter() - began
    store.close()
    return took


def rates(megabytes: float, rounds: int) -> None:
    """Print how fast each format is imported."""
    print("| format | MB/s | lines/s | rate / bare loop |")
    print("|---|---|---|---|")
    for name in FORMATS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "transcript.jsonl"
            write(path, name, megabytes)
            size, lines = path.stat().st_size / 1e6, sum(1 for _ in path.open("rb"))
            pairs = [_pair(path) for _ in range(rounds)]
        ratio = statistics.median(plain / ours for plain, ours in pairs)
        took = statistics.median(ours for _, ours in pairs)
        print(f"| {name} | {size / took:.0f} | {lines / took:,.0f} | {ratio:.2f} |")


def _pair(path: Path) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        return bare(path, Path(folder)), imported(path, Path(folder))


def memory(megabytes: float) -> None:
    """Print how much more memory a large file takes than a small one."""
    print("\n| format | file | peak memory | more than for 5 MB |")
    print("|---|---|---|---|")
    for name in FORMATS:
        small, large = _peak(name, 5), _peak(name, megabytes)
        print(f"| {name} | {megabytes:.0f} MB | {large:.0f} MB | {large - small:.0f} MB |")


def _peak(name: str, megabytes: float) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "transcript.jsonl"
        write(path, name, megabytes)
        answer = subprocess.run(
            [sys.executable, __file__, "--import", str(path)], capture_output=True, check=True
        )
    return float(answer.stdout)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller files, one round")
    parser.add_argument("--import", dest="path", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.path is not None:
        imported(given.path, given.path.parent)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)
        return
    rates(*((10, 1) if given.quick else (40, 5)))
    memory(40 if given.quick else 200)


if __name__ == "__main__":
    main()
