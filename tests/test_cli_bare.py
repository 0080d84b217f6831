"""The command where it was given little: no dependencies, as in an agent's environment, or no input and outputs."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from commands import command
from processes import CONSOLE, environment

SAMPLE = Path(__file__).parents[1] / "sample_sessions" / "research-loop.jsonl"


@pytest.mark.parametrize("missing", ["click", "rich", "textual"])
@pytest.mark.parametrize("line", ["sessions", "demo"])
def test_without_its_libraries_the_command_says_what_is_missing(missing: str, line: str) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv[1:] = [{line!r}]\n"
        "from loopguard_console.entry import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(XDG_STATE_HOME="/nonexistent"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if (missing, line) == ("textual", "sessions"):
        assert done.returncode == 0, "a list needs no screen"
        return
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith(f"loopguard-console: {missing} is not installed here")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("judge -", 2),
        ("open", 2),
        ("open -", 2),
        ("prune --days 0", 2),
        ("run -- true", 0),
        ("sessions --all", 0),
        ("sidecar", 0),
    ],
)
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_inputs_and_outputs_break_nothing(
    tmp_path: Path, line: str, code: int, closed: str
) -> None:
    assert command(tmp_path / "loopguard" / "events.db", "import", SAMPLE).code == 0
    script = f"{shlex.join(CONSOLE)} {line} {closed}"
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        env=environment(XDG_STATE_HOME=str(tmp_path), HOME=str(tmp_path)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == code, done.stderr
