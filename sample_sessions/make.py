"""Makes the recordings in this folder: scripted agents through the real shim.

``python sample_sessions/make.py [FOLDER]``, with loopguard-console installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from stage import HUMAN, play

from loopguard_console.demo.stories import STORIES
from loopguard_core import escape


def research_loop(folder: Path) -> None:
    story = STORIES["research"]
    with play("research-loop", story.agent, folder / "research-loop.jsonl") as agent:
        agent.answers = {
            "R1": (21, lambda s, r: escape.approve(s, r.request, by=HUMAN)),
            "R2": (12, lambda s, r: escape.deny(s, r.request, by=HUMAN, note=_ENOUGH)),
        }
        agent.says(story.task)
        asked = refused = 0
        for step in story.steps:
            ran = agent.call(step.tool, step.args, step.result)
            if asked == 0 and agent.store.request("R1"):
                asked = 1
                signature = agent.store.request("R1").signature
                agent.clock.pass_by(6)
                escape.override(
                    agent.store,
                    session="research-loop",
                    key=signature,
                    calls=3,
                    by=HUMAN,
                    note="three more, then we will see",
                )
            refused = 0 if ran else refused + 1
            if refused == 3:
                break
        agent.writes("I could not find anything new, so I wrote the overview from the first page.")


_ENOUGH = "The results do not change. Write the overview from what you have."


def failing_command(folder: Path) -> None:
    story = STORIES["failing"]
    settings = {"policy": story.policy, "policies": {story.policy: dict(story.options)}}
    with play(
        "failing-command", story.agent, folder / "failing-command.jsonl", **settings
    ) as agent:
        agent.answers = {
            "R1": (95, lambda s, r: escape.deny(s, r.request, by=HUMAN, note=_NO_NODE)),
        }
        agent.says(story.task)
        for step in story.steps:
            if not agent.call(step.tool, step.args, step.result, ok=step.ok, takes=1.2):
                break
        agent.writes("I stop here: the machine has no JavaScript tools.")
        agent.says("I have installed Node. Try again.")
        agent.call("terminal", {"command": "npm test"}, "12 passed\nexit code 0", takes=7.5)
        agent.writes("All 12 tests pass.")


_NO_NODE = "This machine has no Node. Stop and say so."


def alternating_pair(folder: Path) -> None:
    with play("alternating-pair", "reviewer", folder / "alternating-pair.jsonl") as agent:
        agent.answers = {
            f"R{n}": (30, lambda s, r: escape.deny(s, r.request, by=HUMAN)) for n in (1, 2)
        }
        agent.says("Do the interface and its implementation agree?")
        pair = (("api.py", "def read(path): ..."), ("store.py", "def read(path, limit): ..."))
        refused = 0
        for _ in range(12):
            for path, text in pair:
                refused += not agent.call("read_file", {"path": path}, text, takes=0.1)
            if refused >= 2:
                break
        agent.writes("They differ: store.read takes a limit that the interface does not have.")


def legitimate_polling(folder: Path) -> None:
    with play("legitimate-polling", "deployer", folder / "legitimate-polling.jsonl") as agent:
        agent.says("Deploy the new version and tell me when it is up.")
        agent.call("deploy", {"service": "web", "version": "2.4.0"}, "job 81 started", takes=2)
        for done in (0, 10, 20, 35, 50, 65, 80, 90, 100):
            state = "succeeded" if done == 100 else "running"
            answer = f"job 81: {state}, {done} %"
            agent.call("deploy_status", {"job": 81}, answer, think=20, takes=0.3)
        agent.writes("Version 2.4.0 is up.")


def edit_test_cycle(folder: Path) -> None:
    red = "test_total FAILED: expected 30, got 20\n1 failed, 11 passed"
    with play("edit-test-cycle", "coder", folder / "edit-test-cycle.jsonl") as agent:
        agent.says("test_total fails. Mend it.")
        agent.call("read_file", {"path": "cart.py"}, "def total(items):\n    return items[0].price")
        agent.call("bash", {"command": "pytest -q"}, red, ok=False, takes=2.1)
        for number, line in enumerate(
            (
                "return items[0].price + items[1].price",
                "return sum(i.price for i in items[:2])",
                "return sum(i.price for i in items if i.price)",
                "return sum(i.price for i in items[1:])",
                "return sum(i.price * i.count for i in items)",
            ),
            1,
        ):
            edit = {"path": "cart.py", "line": 2, "new": line}
            agent.call("edit_file", edit, "1 line changed", think=8)
            if number < 5:
                agent.call("bash", {"command": "pytest -q"}, red, ok=False, takes=2.1)
        agent.call("bash", {"command": "pytest -q"}, "12 passed", takes=2.1)
        agent.writes("total() forgot the count. It is mended.")


def parallel_batch(folder: Path) -> None:
    with play("parallel-batch", "explorer", folder / "parallel-batch.jsonl") as agent:
        agent.says("Where is the retry logic?")
        files = ("client.py", "server.py", "queue.py", "retry.py", "cache.py", "log.py")
        agent.batch(
            [
                ("grep", {"pattern": "retry", "path": f}, f"{f}: {n}", True)
                for n, f in enumerate(files)
            ]
        )
        agent.batch([("read_file", {"path": f}, f"# {f}", True) for f in files[:4]])
        ping = ("http_get", {"url": "http://localhost:8080/health"}, "200 ok", True)
        agent.batch([ping] * 3)
        agent.writes("In retry.py; client.py and queue.py use it.")


SAMPLES = (
    research_loop,
    failing_command,
    alternating_pair,
    legitimate_polling,
    edit_test_cycle,
    parallel_batch,
)


def make(folder: Path) -> None:
    """Write all recordings to *folder*."""
    for sample in SAMPLES:
        sample(folder)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
