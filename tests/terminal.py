"""A program in a pseudo-terminal of its own: what it wrote, what that looks like, and keys for it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence

import pyte

PATIENCE = 30.0


class Terminal:
    """A context manager around one program. ``raw`` has every byte that it wrote."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], *, columns: int = 120, rows: int = 40
    ) -> None:
        self.raw = bytearray()
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        size = struct.pack("HHHH", rows, columns, 0, 0)
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, size)
                os.execvpe(argv[0], list(argv), {**env, "TERM": "xterm-256color"})
            finally:
                os._exit(127)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *exc: object) -> None:
        self.kill()
        os.close(self._fd)

    def kill(self) -> None:
        """End the program at once."""
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def wait(self) -> int:
        """Wait until the program has ended by itself; its exit code."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            self._read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
        raise AssertionError(f"it did not end; the screen:\n{self.text()}")

    def _read(self, seconds: float) -> None:
        if select.select([self._fd], [], [], seconds)[0]:
            try:
                data = os.read(self._fd, 65536)
            except OSError:
                return
            self.raw += data
            # pyte does not know the private modes with several parameters; they draw nothing
            self._stream.feed(data)

    def text(self) -> str:
        """The screen as it stands."""
        return "\n".join(self._screen.display)

    def see(self, *texts: str) -> str:
        """Wait until all of *texts* are on the screen."""
        return self.until(lambda screen: all(t in screen for t in texts), f"see {texts}")

    def lose(self, *texts: str) -> str:
        """Wait until none of *texts* is on the screen."""
        return self.until(lambda screen: not any(t in screen for t in texts), f"lose {texts}")

    def until(self, holds: Callable[[str], object], what: str) -> str:
        """Wait until *holds* is true of the screen."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            self._read(0.05)
            if holds(self.text()):
                return self.text()
        raise AssertionError(f"waited to {what} in vain; the screen:\n{self.text()}")

    @property
    def echoes(self) -> bool:
        """Whether the terminal shows what is typed, as a shell expects it to."""
        return bool(termios.tcgetattr(self._fd)[3] & termios.ECHO)

    def press(self, keys: str) -> None:
        """Type *keys*."""
        os.write(self._fd, keys.encode())
