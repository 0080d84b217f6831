"""A wire to a server that can be cut, frozen, and mended: what happens to networks, on loopback."""

from __future__ import annotations

import contextlib
import socket
import threading


class Wire:
    """Passes connections on to *port* of this machine. ``port`` is its own. A context manager."""

    def __init__(self, port: int, address: str = "127.0.0.1") -> None:
        self._target = port
        self._open = threading.Event()
        self._open.set()
        self._refusing = False
        self._answers = -1
        self._ends: list[socket.socket] = []
        self._listener = socket.create_server((address, 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.cut()
        self._open.set()

    def cut(self) -> None:
        """End every connection; new ones come through."""
        ends, self._ends = self._ends, []
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def lose(self, answers: int) -> None:
        """Let through so many more pieces of the server's answers, then cut instead of the next."""
        self._answers = answers

    def refuse(self) -> None:
        """End every connection, and every new one at once, as where the server is away."""
        self._refusing = True
        self.cut()

    def freeze(self) -> None:
        """Let nothing through in either direction, and nobody know."""
        self._open.clear()

    def mend(self) -> None:
        """Let everything through again."""
        self._refusing = False
        self._open.set()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                if self._refusing:
                    raise ConnectionRefusedError
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                near.close()
                continue
            self._ends += [near, far]
            for one, other, answers in ((near, far, False), (far, near, True)):
                threading.Thread(target=self._pump, args=(one, other, answers), daemon=True).start()

    def _pump(self, one: socket.socket, other: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65_536):
                self._open.wait()
                if answers and self._answers >= 0:
                    self._answers -= 1
                    if self._answers < 0:
                        break
                other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
