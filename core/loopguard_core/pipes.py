"""Lines over file descriptors that others have too, from an event loop, one thread each.

Descriptors that were inherited are shared with whoever started this process, and made non-blocking they
would be so for all of them (a terminal's stderr among them). So each is read or written by a thread that
may block; the threads are daemons, and one that is stuck never keeps the process from ending.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_CHUNK = 65_536
_AHEAD = 16


class LineReader:
    """Lines from descriptor *fd*, each with its end; the last one without where it has none.

    Reads no more than a little ahead of whoever takes the lines.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        #: how many bytes were taken
        self.taken = 0
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue(_AHEAD)
        threading.Thread(target=self._read, name=f"loopguard-read-{fd}", daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(self._fd, _CHUNK)
            except OSError:
                chunk = b""
            try:
                asyncio.run_coroutine_threadsafe(self._chunks.put(chunk), self._loop).result()
            except (RuntimeError, asyncio.CancelledError):
                return  # the loop has ended
            if not chunk:
                return

    async def lines(self) -> AsyncIterator[bytes]:
        """Each line until the end of the input."""
        parts: list[bytes] = []
        while chunk := await self._chunks.get():
            self.taken += len(chunk)
            *ended, rest = chunk.split(b"\n")
            for line in ended:
                yield b"".join([*parts, line, b"\n"])
                parts.clear()
            if rest:
                parts.append(rest)
        if parts:
            yield b"".join(parts)


class LineWriter:
    """Writes to descriptor *fd*, in the order in which ``write`` was called."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        #: how many writes are not finished
        self.pending = 0
        self._loop = asyncio.get_running_loop()
        self._jobs: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = (
            queue.SimpleQueue()
        )
        threading.Thread(target=self._run, name=f"loopguard-write-{fd}", daemon=True).start()

    async def write(self, data: bytes) -> None:
        """Write all of *data*. Raises ``OSError`` where nobody reads any more."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._jobs.put((data, done))
        self.pending += 1
        try:
            await done
        finally:
            self.pending -= 1

    def close(self) -> None:
        """Close the descriptor once everything is written."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            data, done = job
            error: OSError | None = None
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(self._fd, view) :]
            except OSError as failed:
                error = failed
            try:
                self._loop.call_soon_threadsafe(_settle, done, error)
            except RuntimeError:
                return  # the loop has ended
        try:
            os.close(self._fd)
        except OSError:
            pass  # it is closed


def _settle(done: asyncio.Future[None], error: OSError | None) -> None:
    if done.done():
        return  # whoever waited was cancelled
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)
