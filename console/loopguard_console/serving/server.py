"""The server: textual-serve behind our door, one console process a browser window."""

from __future__ import annotations

import asyncio
import logging
import os
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from typing import Any

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int

from loopguard_console.children import environment, module_command
from loopguard_console.serving.door import COOKIE, Door
from loopguard_console.serving.session import DECIDE, WATCH
from loopguard_core.store.paths import ENVIRONMENT
from loopguard_core.urls import in_full

_MODULE = "loopguard_console.serving.session"
_KEPT = ("LOOPGUARD_CONFIG",)
_WIDEST, _HIGHEST = 500, 200
#: textual-serve leaves the keyboard with the page until a person clicks; here keys count at once.
_FOCUS = """<script>
function focusTerminal() {
  const keys = document.querySelector(".xterm-helper-textarea");
  if (keys) keys.focus();
  else setTimeout(focusTerminal, 50);
}
addEventListener("load", focusTerminal);
addEventListener("focus", focusTerminal);
</script>
"""


class ConsoleProcess(AppService):
    """One console. It is started without a shell, and a closed window ends it."""

    argv: tuple[str, ...] = ()
    store = ""

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        web_side = self._build_environment(
            width=max(20, min(width, _WIDEST)), height=max(5, min(height, _HIGHEST))
        )
        ours = {name: os.environ[name] for name in _KEPT if name in os.environ}
        ours[ENVIRONMENT] = in_full(self.store)  # a password goes this way alone
        changed = {k: v for k, v in web_side.items() if os.environ.get(k) != v}
        self._process = await asyncio.create_subprocess_exec(
            *self.argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment(**ours, **changed)
        )
        self._stdin = self._process.stdin
        return self._process


class ConsoleServer(Server):
    """Serves the console on *store* behind *door*. *ready* tells the person where to look."""

    def __init__(
        self, store: str, host: str, port: int, door: Door, ready: Callable[[], None]
    ) -> None:
        super().__init__(
            "loopguard-console",
            host=host,
            port=port,
            title="loopguard-console",
            public_url=door.origin,
        )
        self.store = store
        self.door = door
        self._ready = ready

    def serve(self, debug: bool = False) -> None:
        """Serve until Ctrl-C; ``ready`` is called once the address is ours. Raises ``OSError``."""
        self.debug = debug
        self.initialize_logging()
        web.run_app(self._make_app(), host=self.host, port=self.port, print=lambda _: self._ready())

    def initialize_logging(self) -> None:
        logging.getLogger("textual-serve").setLevel(logging.CRITICAL)

    async def on_startup(self, app: web.Application) -> None:
        """Say nothing: the command has said where to look."""

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._guarded())
        return app

    def _guarded(self) -> Any:
        policy = (
            "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
            f"img-src 'self' data:; connect-src 'self' ws://{self.door.address}; frame-ancestors 'none'"
        )

        @web.middleware
        async def guarded(request: web.Request, handler: Any) -> web.StreamResponse:
            reason = self.door.refuses(request.headers, request.cookies, request.path)
            if reason:
                return web.Response(status=403, text=f"loopguard-console: {reason}\n")
            response: web.StreamResponse = await handler(request)
            if not response.prepared:
                response.headers["Content-Security-Policy"] = policy
                response.headers["Referrer-Policy"] = "no-referrer"
                response.headers["Cache-Control"] = "no-store"
            return response

        return guarded

    async def handle_index(self, request: web.Request) -> Any:
        """The page; with a token in the link, the cookie first, so that it does not stay in the address."""
        token = request.query.get("token")
        if token is not None:
            if not self.door.knows(token):
                return web.Response(status=403, text="loopguard-console: that is not the token\n")
            answer = web.HTTPSeeOther("/")
            answer.set_cookie(COOKIE, token, httponly=True, samesite="Strict", path="/")
            return answer
        if not self.door.admits(request.cookies):
            return web.Response(
                status=403, text="loopguard-console: open the link with the token\n"
            )
        page = await super().handle_index(request)
        assert isinstance(page, web.Response)
        page.text = (page.text or "").replace("</body>", f"{_FOCUS}</body>")
        return page

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """One window: what it may do is settled when it opens."""
        socket = web.WebSocketResponse(heartbeat=15, max_msg_size=1_000_000)
        await socket.prepare(request)

        async def close() -> None:
            await socket.close()

        console = ConsoleProcess(
            self.command,
            write_bytes=socket.send_bytes,
            write_str=socket.send_str,
            close=close,
            download_manager=self.download_manager,
        )
        what = DECIDE if self.door.decides(request.cookies) else WATCH
        console.argv = tuple(module_command(_MODULE, self.store, what))
        console.store = self.store
        width = to_int(request.query.get("width", ""), 80)
        height = to_int(request.query.get("height", ""), 24)
        try:
            await console.start(width, height)
            await self._process_messages(socket, console)
        except (ValueError, TypeError, KeyError, IndexError, AssertionError, AttributeError):
            await socket.close(message=b"a message that nobody understands")
        except (asyncio.CancelledError, ConnectionError):
            await socket.close()
        finally:
            await console.stop()
        return socket
