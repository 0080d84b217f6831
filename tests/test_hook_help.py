"""``loopguard-hook --help``: a person is told what the hook takes, and no agent pays for that."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hooks import LAUNCHER
from loopguard_core.hook.options import _OPTIONS, AGENTS
from processes import environment

WAYS = {"launcher": ["-I", "-S", str(LAUNCHER)], "module": ["-m", "loopguard_core.hook"]}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("asked", [["--help"], ["-h"], ["--agent", "claude-code", "--help"]])
def test_help_names_every_option_and_agent(way: str, asked: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *WAYS[way], *asked],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for word in (*_OPTIONS, *AGENTS, "--help"):
        assert word in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 110


def test_a_value_is_no_question_and_a_wrong_option_names_help() -> None:
    done = subprocess.run(
        [sys.executable, *WAYS["launcher"], "--agent", "--help", "--halp"],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "'--halp' is not an option" in done.stderr and "--help" in done.stderr


def test_nothing_is_imported_for_it_by_who_does_not_ask() -> None:
    script = (
        "import sys, loopguard_core.hook.process; print('loopguard_core.hook.help' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "False\n"
