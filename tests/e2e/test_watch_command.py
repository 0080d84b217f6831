"""``watch``: real agents that run without a hook, followed by their transcripts while they work."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent import Bench
from command_line import LOOK, ClaudeCode, Codex, CommandLine, Gemini, Hermes, each
from servers.loopback import repeat

from commands import until
from processes import CONSOLE, environment

LOOKS = 4


@contextmanager
def watching(bench: Bench) -> Iterator[None]:
    """Our command beside the agent, in the home that both have."""
    process = subprocess.Popen(
        [*CONSOLE, "watch"],
        cwd=bench.project,
        env={**bench.env, "PYTHONPATH": environment()["PYTHONPATH"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        until(bench.store_path.exists, "the store")
        yield
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=30)
        assert process.returncode == 0, said
        assert "nothing is warned or stopped here" in said
        assert "halt would be said here" in said, said
    finally:
        process.kill()
        process.communicate()


@each(ClaudeCode, Codex, Gemini, Hermes)
def test_an_agent_without_a_hook_is_followed_and_left_alone(
    kind: type[CommandLine], tmp_path: Path
) -> None:
    script = repeat(kind.shell(LOOK), LOOKS)
    with kind(tmp_path, script, connected=False, own_guard="off") as agent, watching(agent.bench):
        got = agent.say("please read the file")
        until(lambda: len(agent.bench.outcomes()) >= LOOKS, f"{LOOKS} calls")
    assert len(got) == LOOKS + 1, "every call ran"
    assert not any("[loopguard]" in r.latest for r in got)
    events = agent.bench.events()
    assert events[0].data["mode"] == "observe"
    starts = [e for e in events if e.type == "call_start"]
    assert [e.data["tool"] for e in starts] == [kind.tool] * LOOKS
    assert [e.data["verdict"]["tier"] for e in starts][2:] == ["block", "halt"]
    assert agent.bench.outcomes() == ["error"] * LOOKS
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
