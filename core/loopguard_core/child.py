"""A process between two pipes that ends when it should: by itself, when told, or by force."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading

from loopguard_core.session.live import to_stderr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_GRACE = 5.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class NotStarted(Exception):
    """A program cannot be started: which, and why."""


class Child:
    """*command* with pipes for input and output, our stderr, and *env* beside our environment.

    ``stdin`` and ``stdout`` are descriptors; whoever takes ``stdin`` closes it. ``gone`` is done once it has
    ended, ``told`` once this process was asked to end, which is passed on. Raises ``NotStarted``. For the
    main thread, inside an event loop.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                env={**os.environ, **env},
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise NotStarted(f"{command[0]} cannot be started: {why}") from None
        assert self._process.stdin is not None and self._process.stdout is not None
        self.stdin = os.dup(self._process.stdin.fileno())
        self._process.stdin.close()
        self.stdout = self._process.stdout.fileno()
        self._loop = asyncio.get_running_loop()
        self.gone: asyncio.Future[int] = self._loop.create_future()
        self.told: asyncio.Future[None] = self._loop.create_future()
        threading.Thread(target=self._wait, name="loopguard-child", daemon=True).start()
        for number in _SIGNALS:
            self._loop.add_signal_handler(number, self._tell, number)

    async def end(self) -> int:
        """Its exit code, once it has ended; it is made to where it takes its time.

        As a shell counts: a process that a signal ended has 128 and the signal's number.
        """
        for make in (self._process.terminate, self._process.kill):
            done, _ = await asyncio.wait({self.gone}, timeout=_GRACE)
            if done:
                break
            name = os.path.basename(str(self._process.args[0]))  # type: ignore[index]
            to_stderr(f"{name} has not ended within {_GRACE:g} seconds and is made to")
            make()
        code = await self.gone
        return code if code >= 0 else 128 - code

    def _wait(self) -> None:
        code = self._process.wait()
        try:
            self._loop.call_soon_threadsafe(self._ended, code)
        except RuntimeError:
            pass  # the loop has ended

    def _ended(self, code: int) -> None:
        if not self.gone.done():
            self.gone.set_result(code)

    def _tell(self, number: int) -> None:
        self._process.send_signal(number)
        if not self.told.done():
            self.told.set_result(None)
