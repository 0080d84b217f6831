"""What a hook process costs an agent, as ratios within one run.

    python benchmarks/hook.py [--runs 25] [--policy progress]

The hook as ``install`` sets it up (``python -I -S`` and the packaged launcher) opens the store, brings the
guard to where a turn of 1, 200 or 1,000 calls stands, judges a call, appends it and answers. The baseline is
``python -I -S -c "import json, sqlite3, hashlib"``. Exit code 1 where a bound is not met.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import loopguard_core
from loopguard_core.config import Config
from loopguard_core.session.live import LiveSession

LAUNCHER = Path(loopguard_core.__file__).parent / "hook_launcher.py"
BASE = [sys.executable, "-I", "-S", "-c", "import json, sqlite3, hashlib"]
HOOK = [sys.executable, "-I", "-S", str(LAUNCHER), "--agent", "claude-code"]
TURNS = (1, 200, 1000)


def fill(folder: Path, policy: str, calls: int) -> None:
    """A session with one turn of so many different calls."""
    settings = {"store": str(folder / "events.db"), "policy": policy, "mode": "observe"}
    live = LiveSession(Config(settings), f"turn-{calls}", say=lambda line: None)
    live.turn("go")
    for n in range(calls):
        live.after(live.before("Bash", {"command": f"ls {n}"}), f"out {n}")


def request(folder: Path, calls: int, run: int) -> bytes:
    """What the agent says to its hook before a call."""
    said = {
        "session_id": f"turn-{calls}",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": f"cat {run}"},
        "tool_use_id": f"run-{run}",
        "cwd": str(folder),
    }
    return json.dumps(said).encode()


def timed(argv: list[str], stdin: bytes, env: dict[str, str]) -> float:
    begin = time.perf_counter()
    subprocess.run(argv, input=stdin, env=env, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--policy", default="progress")
    given = parser.parse_args()
    taken: dict[str, list[float]] = {"base": [], **{f"{n} calls": [] for n in TURNS}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = {k: v for k, v in os.environ.items() if not k.startswith("LOOPGUARD_")}
        env |= {"LOOPGUARD_STORE": f"{name}/events.db", "XDG_STATE_HOME": name, "HOME": name}
        (folder / "loopguard.toml").write_text(f'policy = "{given.policy}"\nmode = "observe"\n')
        for calls in TURNS:
            fill(folder, given.policy, calls)
        for run in range(given.runs + 2):
            row = [timed(BASE, b"", env)]
            row += [timed(HOOK, request(folder, calls, run), env) for calls in TURNS]
            if run >= 2:  # the first ones write what later ones find
                for values, value in zip(taken.values(), row, strict=True):
                    values.append(value)
    middle = {word: statistics.median(values) for word, values in taken.items()}
    for word, value in middle.items():
        print(f"{word:10} {value * 1e3:6.1f} ms  {value / middle['base']:.2f}")
    ratios = (
        ("a turn of 200 calls / the baseline", middle["200 calls"] / middle["base"], 1.4),
        ("a turn of 1,000 calls / one of 200", middle["1000 calls"] / middle["200 calls"], 1.2),
    )
    for word, ratio, bound in ratios:
        print(f"{'ok  ' if ratio <= bound else 'over'} {word:36} {ratio:5.2f} (at most {bound:g})")
    return 0 if all(ratio <= bound for _, ratio, bound in ratios) else 1


if __name__ == "__main__":
    sys.exit(main())
