"""A model server on loopback that follows a script and keeps what it received.

Each provider's protocol is a subclass in a file of its own. A script is a function from what the
model received to what it answers with; the server runs in a thread of the test's process.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class Text:
    """The model answers with text and ends its turn."""

    def __init__(self, text: str) -> None:
        self.text = text


class ToolUse:
    """The model asks for a tool."""

    def __init__(self, name: str, args: dict[str, Any], id: str = "") -> None:
        self.name = name
        self.args = args
        self.id = id


class Result:
    """One tool result as the model received it, with what the agent put beside it."""

    def __init__(self, id: str, text: str, *, error: bool = False) -> None:
        self.id = id
        self.text = text
        self.error = error

    def __repr__(self) -> str:
        return f"Result({self.text!r}, error={self.error})"


class Received:
    """One request to the model, read from its provider's shape.

    ``since_prompt``: the tool results since the last prompt of a human, in order; ``latest``: the text
    of everything that came after the model's last answer; ``prompts``: the human's prompts.
    """

    def __init__(
        self,
        body: dict[str, Any],
        *,
        tools: list[str],
        prompts: list[str],
        results: list[Result],
        since_prompt: list[Result],
        latest: str,
    ) -> None:
        self.body = body
        self.tools = tools
        self.prompts = prompts
        self.results = results
        self.since_prompt = since_prompt
        self.latest = latest


Script = Callable[[Received], "list[Text | ToolUse]"]


def repeat(use: ToolUse, times: int, then: str = "done") -> Script:
    """A model that asks for the same tool call until *times* results came back in a turn."""

    def script(received: Received) -> list[Text | ToolUse]:
        if use.name in received.tools and len(received.since_prompt) < times:
            return [ToolUse(use.name, use.args)]
        return [Text(f"{then} after {len(received.since_prompt)} results")]

    return script


class ModelServer:
    """Serves one script. Use as a context manager; ``url`` is where it listens."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.received: list[Received] = []
        self.errors: list[str] = []
        self._ids = 0
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None:
                return

            def do_HEAD(self) -> None:
                self._send(200, "text/plain", b"")

            def do_GET(self) -> None:
                self._send(200, "application/json", b'{"data":[],"has_more":false}')

            def do_POST(self) -> None:
                size = int(self.headers.get("content-length") or 0)
                raw = self.rfile.read(size)
                try:
                    kind, answer = server.answer(self.path, json.loads(raw or b"{}"))
                except Exception as error:  # noqa: BLE001 - a script that fails must be seen by the test
                    server.errors.append(f"{type(error).__name__}: {error}")
                    kind, answer = "application/json", b'{"error":{"message":"script failed"}}'
                self._send(200, kind, answer)

            def _send(self, status: int, kind: str, data: bytes) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[str, bytes]:
        """The content type and the bytes that answer a POST of *body* to *path*."""
        raise NotImplementedError

    def next_id(self, prefix: str) -> str:
        """An id that this server has not given before."""
        with self._lock:
            self._ids += 1
            return f"{prefix}{self._ids:04d}"

    def say(self, received: Received) -> list[Text | ToolUse]:
        """Keep what was received and let the script answer, with ids filled in."""
        with self._lock:
            self.received.append(received)
        return [self._named(part) for part in self.script(received)]

    def _named(self, part: Text | ToolUse) -> Text | ToolUse:
        if isinstance(part, Text) or part.id:
            return part
        return ToolUse(part.name, part.args, self.next_id("toolu_"))

    def agent_requests(self, tool: str) -> list[Received]:
        """The requests in which *tool* was offered: side requests (titles, summaries) left out."""
        return [r for r in self.received if tool in r.tools]


def sse(events: Iterable[tuple[str, dict[str, Any]]]) -> bytes:
    """Server-sent events; an empty name leaves the ``event:`` line out."""
    lines = (
        (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"
        for name, data in events
    )
    return "".join(lines).encode()
