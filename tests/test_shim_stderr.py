"""What the guard says to the person, where nobody listens."""

from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from loopguard_core.session.opening import to_stderr
from loopguard_core.shim import LoopGuard


class Unread:
    """stderr is a pipe that is full, as where a host starts its agent and reads only stdout."""

    def __enter__(self) -> Unread:
        self.reads, writes = os.pipe()
        os.set_blocking(writes, False)
        for size in (65_536, 1):
            with pytest.raises(BlockingIOError):
                while True:
                    os.write(writes, b"x" * size)
        os.set_blocking(writes, True)
        self._before, sys.stderr = sys.stderr, os.fdopen(writes, "w", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.reads)
        sys.stderr, ours = self._before, sys.stderr
        ours.close()


def test_a_pipe_that_nobody_reads_holds_no_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("LOOPGUARD_SESSION", raising=False)
    ran: list[bool] = []

    def agent() -> None:
        with LoopGuard("t", store=tmp_path / "events.db", policy="graded", mode="enforce") as guard:
            for _ in range(4):
                decision = guard.before_call("look", "q")
                guard.after_call(decision, "r")
                ran.append(decision.run)

    with Unread():
        thread = threading.Thread(target=agent, daemon=True)
        thread.start()
        thread.join(20)
    assert ran == [True, True, False, False]


def test_a_pipe_that_has_room_gets_no_more_than_it_takes_at_once() -> None:
    with Unread() as unread:
        os.read(unread.reads, 4_096)
        to_stderr("検" * 9_000)
        os.set_blocking(unread.reads, False)
        said = os.read(unread.reads, 1 << 20).lstrip(b"x")
    assert said.startswith("loopguard: 検検".encode()) and said.endswith("検\n".encode())
    assert 3_900 < len(said) <= 4_096


def test_what_has_no_descriptor_is_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    text, mock = io.StringIO(), MagicMock()
    for stream in (text, mock):
        monkeypatch.setattr(sys, "stderr", stream)
        to_stderr("a line")
    assert text.getvalue() == mock.write.call_args.args[0] == "loopguard: a line\n"
