"""An agent that asks for the same call over and over, as a process of its own (used by tests).

Prints one JSON object a decision. ``--escape``: after a refusal it runs the command that would release
it, from its own process tree, with and without the environment that marks it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

from loopguard_core.shim import LoopGuard


def escape(request: str) -> list[int]:
    """Try to let oneself go; the exit codes."""
    line = [sys.executable, "-m", "loopguard_console", "approve", request]
    clean = {k: v for k, v in os.environ.items() if k != "LOOPGUARD_SESSION"}
    shell = ["sh", "-c", 'unset LOOPGUARD_SESSION; "$@"; exit $?', "sh", *line]
    return [
        subprocess.run(line, check=False).returncode,
        subprocess.run(line, env=clean, check=False).returncode,
        subprocess.run(shell, check=False).returncode,
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("session")
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--escape", action="store_true")
    given = parser.parse_args()
    with LoopGuard("looper", session=given.session, raise_on_halt=False) as guard:
        guard.new_turn("look for x")
        for _ in range(given.calls):
            decision = guard.before_call("search", {"q": "x"})
            said: dict[str, object] = {"run": decision.run, "request": decision.request}
            if decision.run:
                guard.after_call(decision, "the same page")
            else:
                said["message"] = decision.message
                if given.escape:
                    print(json.dumps({"escaped": escape(decision.request)}), flush=True)
                    return
            print(json.dumps(said), flush=True)
            time.sleep(0.03 if decision.run else 0.15)


if __name__ == "__main__":
    main()
