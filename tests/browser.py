"""A real browser without a window, driven over its debugging protocol: for tests of what is served."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp

PATIENCE = 60.0
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
    "--window-size=1200,800",
)


def found() -> str:
    """The browser's program, empty where there is none. ``LOOPGUARD_BROWSER`` names another."""
    named = os.environ.get("LOOPGUARD_BROWSER", "")
    return named or next((p for p in map(shutil.which, _NAMES) if p), "")


class Page:
    """One page. What its console server sends to it is gathered in ``received``."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._last = 0
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.received = b""
        self.sockets: list[str] = []
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self._socket:
            said = message.json()
            waiting = self._answers.pop(said.get("id", 0), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(said)
            method, about = said.get("method"), said.get("params", {})
            if method == "Network.webSocketFrameReceived" and about["response"]["opcode"] == 2:
                self.received += base64.b64decode(about["response"]["payloadData"])
            elif method == "Network.webSocketHandshakeResponseReceived":
                self.sockets.append(f"{about['response']['status']}")

    async def do(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the protocol and its result."""
        self._last += 1
        answer = self._answers[self._last] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": self._last, "method": method, "params": params})
        said = await asyncio.wait_for(answer, PATIENCE)
        assert "error" not in said, said
        return dict(said["result"])

    async def open(self, url: str) -> None:
        """Go to *url* and wait until it has loaded, or failed to."""
        await self.do("Page.navigate", url=url)
        await self.until("document.readyState == 'complete'")

    async def value(self, expression: str) -> Any:
        """What a JavaScript expression is worth there."""
        said = await self.do(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    async def until(self, expression: str) -> Any:
        """Wait until a JavaScript expression is true; its value."""
        return await _until(lambda: self.value(expression), expression)

    async def sees(self, *texts: str) -> None:
        """Wait until all *texts* have been sent to the page."""

        async def all_there() -> bool:
            return all(text.encode() in self.received for text in texts)

        await _until(all_there, f"{texts} in {self.received[-2000:]!r}")

    async def press(self, key: str) -> None:
        """Press a letter on the keyboard."""
        code = {"key": key, "code": f"Key{key.upper()}", "windowsVirtualKeyCode": ord(key.upper())}
        await self.do("Input.dispatchKeyEvent", type="keyDown", text=key, **code)
        await self.do("Input.dispatchKeyEvent", type="keyUp", **code)

    async def picture(self) -> bytes:
        """What is to be seen, as PNG."""
        said = await self.do("Page.captureScreenshot")
        return base64.b64decode(said["data"])


async def _until(ask: Callable[[], Any], what: str) -> Any:
    for _ in range(int(PATIENCE / 0.05)):
        answer = await ask()
        if answer:
            return answer
        await asyncio.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")


@contextlib.asynccontextmanager
async def browser(folder: Path) -> AsyncIterator[Callable[[], Any]]:
    """A fresh browser with its files in *folder*; what it gives opens a page, all of one profile."""
    profile = folder / "profile"
    process = subprocess.Popen(
        [found(), *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(folder)},
        start_new_session=True,
    )
    said = profile / "DevToolsActivePort"
    pages: list[Page] = []

    async def port() -> int:
        assert process.poll() is None, "the browser ended at once"
        lines = said.read_text().split() if said.exists() else []
        return int(lines[0]) if len(lines) > 1 else 0

    async with aiohttp.ClientSession() as client:
        try:
            address = f"http://127.0.0.1:{await _until(port, 'the browser')}"

            async def page() -> Page:
                async with client.put(f"{address}/json/new?about:blank") as answer:
                    about = await answer.json()
                socket = await client.ws_connect(
                    about["webSocketDebuggerUrl"], max_msg_size=100_000_000
                )
                pages.append(Page(socket))
                for domain in ("Page", "Runtime", "Network"):
                    await pages[-1].do(f"{domain}.enable")
                return pages[-1]

            yield page
        finally:
            for opened in pages:
                opened.reading.cancel()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # it and the children it started
            process.wait(20)
