"""The terminal is given back in order, whoever ends the console, and taken back from a pipe."""

from __future__ import annotations

import os
import shlex
import signal
from pathlib import Path

import pytest

from processes import CONSOLE, environment
from terminal import Terminal

SAMPLE = Path(__file__).parents[1] / "sample_sessions" / "research-loop.jsonl"
#: What a terminal is told when a full-screen program has left: its own screen, its cursor, no mouse.
LEFT = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l")


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT], ids=lambda s: s.name
)
def test_a_signal_that_ends_the_console_leaves_the_terminal_as_it_was(
    tmp_path: Path, number: signal.Signals
) -> None:
    env = environment(XDG_STATE_HOME=str(tmp_path))
    with Terminal([*CONSOLE, "open", str(SAMPLE)], env) as screen:
        screen.see("REPLAY", "research-loop")
        os.kill(screen.pid, number)
        assert screen.wait() == 128 + number
        begun = screen.raw.index(b"\x1b[?1049h")
        for told in LEFT:
            assert screen.raw.rfind(told) > begun, f"{told!r} is missing"
        assert screen.echoes


def test_a_locale_without_utf_8_breaks_no_line(tmp_path: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": ""}
    env = environment(XDG_STATE_HOME=str(tmp_path), **plain)
    with Terminal([*CONSOLE, "open", str(SAMPLE)], env) as screen:
        screen.see("REPLAY", "■ paused", "·W  W")
        assert "\\u" not in screen.text() and "\\x" not in screen.text()


def test_a_recording_through_a_pipe_is_stepped_through_with_the_terminal_s_keys(
    tmp_path: Path,
) -> None:
    env = environment(XDG_STATE_HOME=str(tmp_path))
    piped = f"cat {shlex.quote(str(SAMPLE))} | {shlex.join(CONSOLE)} open -"
    with Terminal(["/bin/sh", "-c", piped], env) as screen:
        screen.see("REPLAY standard input", "call 1/15")
        screen.press("e")
        screen.see("WHY IT WARNED", "call 6/15")
        screen.press("q")
        assert screen.wait() == 0


def test_the_console_goes_into_the_background_and_comes_back(tmp_path: Path) -> None:
    env = environment(XDG_STATE_HOME=str(tmp_path), PS1="ready> ")
    with Terminal(["/bin/sh", "-i"], env) as screen:
        screen.see("ready>")
        screen.press(f"{shlex.join(CONSOLE)} open {shlex.quote(str(SAMPLE))}\n")
        screen.see("REPLAY", "call 1/15")
        screen.press("\x1a")
        screen.see("Stopped")
        screen.press("fg\n")
        screen.see("REPLAY", "call 1/15")
        screen.press("e")
        screen.see("call 6/15")
        screen.press("q")
        screen.until(lambda _: screen.raw.count(b"ready> ") == 3, "see the shell")
        screen.press("exit\n")
        assert screen.wait() == 0


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads cannot be counted here")
def test_a_console_that_was_stopped_from_outside_reads_its_keys_once_and_can_be_left(
    tmp_path: Path,
) -> None:
    env = environment(XDG_STATE_HOME=str(tmp_path))
    with Terminal([*CONSOLE, "open", str(SAMPLE)], env) as screen:
        screen.see("REPLAY", "call 1/15")
        threads = Path(f"/proc/{screen.pid}/task")
        before = len(list(threads.iterdir()))
        for _ in range(5):
            os.kill(screen.pid, signal.SIGSTOP)
            os.kill(screen.pid, signal.SIGCONT)
        screen.press("e")
        screen.see("WHY IT WARNED", "call 6/15")
        assert len(list(threads.iterdir())) < before + 3
        screen.press("q")
        assert screen.wait() == 0


def test_wrong_settings_are_said_when_the_console_opens(tmp_path: Path) -> None:
    (tmp_path / "loopguard.toml").write_text('mode = "aks"\n')
    env = environment(XDG_STATE_HOME=str(tmp_path), HOME=str(tmp_path))
    line = f"cd {shlex.quote(str(tmp_path))} && exec {shlex.join(CONSOLE)}"
    with Terminal(["/bin/sh", "-c", line], env) as screen:
        screen.see("LIVE", "defaults", "observe")
