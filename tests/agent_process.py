"""An agent as a process of its own, with the real shim, that does what a test tells it to.

Run as a script it reads one JSON command a line and answers each with one line.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from processes import environment


class Agent:
    """Drives such a process. Settings are keys of the configuration. *folder*: beside the store's file."""

    def __init__(
        self, store: Path | str, session: str = "agent", folder: Path | None = None, **settings: Any
    ) -> None:
        at = folder or Path(store).parent
        given = {"policy": "graded", "unattended_wait_seconds": 60, **settings}
        self.process = subprocess.Popen(
            [sys.executable, __file__, session, json.dumps(given)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(LOOPGUARD_STORE=str(store), XDG_STATE_HOME=str(at)),
            cwd=at,
            text=True,
        )

    def send(self, **command: Any) -> None:
        """Tell it to do something; the answer is read later."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Its next answer."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read() if self.process.stderr else ""
        answer: dict[str, Any] = json.loads(line)
        return answer

    def do(self, **command: Any) -> dict[str, Any]:
        """Tell it to do something and wait for its answer."""
        self.send(**command)
        return self.answer()

    def search(self, times: int = 1) -> list[dict[str, Any]]:
        """The same search *times* times."""
        return [self.do(do="search", query="q") for _ in range(times)]

    def end(self) -> str:
        """Let it end by itself; what it said on stderr."""
        _, said = self.process.communicate(timeout=30)
        return said

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *exc: object) -> None:
        self.process.kill()
        self.process.communicate()


def main() -> None:
    from loopguard_core.shim import LoopGuard, TurnHalted

    session, settings = sys.argv[1], json.loads(sys.argv[2])
    with LoopGuard("agent", session=session, **settings) as guard:
        ran: list[Any] = []

        @guard.tool
        def search(query: str) -> str:
            ran.append(query)
            return f"results for {query}"

        for line in sys.stdin:
            command = json.loads(line)
            ran.clear()
            answer: dict[str, Any] = {}
            if command["do"] == "turn":
                guard.new_turn(command["text"])
            elif command["do"] == "run":
                done = subprocess.run(command["argv"], capture_output=True, text=True, check=False)
                answer = {"code": done.returncode, "out": done.stdout, "err": done.stderr}
            else:
                try:
                    answer["result"] = search(command["query"])
                except TurnHalted as halted:
                    answer["halted"] = {"count": halted.count, "message": halted.message}
            print(json.dumps({**answer, "ran": ran}), flush=True)


if __name__ == "__main__":
    main()
