"""The console in a real browser: what is to be seen, whose keys count, and which pages get no further."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from agent_process import Agent
from browser import Page, browser, found
from serving import Served, pending, up

pytestmark = [
    pytest.mark.skipif(not found(), reason="needs a browser: chromium, or LOOPGUARD_BROWSER"),
    pytest.mark.timeout(180),
]

#: How many colours the terminal is drawn in; 1 where nothing is.
_COLOURS = """(() => {
  const all = Object.assign(document.createElement("canvas"), {width: 1200, height: 800});
  const to = all.getContext("2d");
  for (const layer of document.querySelectorAll(".xterm-screen canvas")) to.drawImage(layer, 0, 0);
  return new Set(new Uint32Array(to.getImageData(0, 0, 1200, 800).data.buffer)).size;
})()"""
#: A page that tries to press a key in a console elsewhere.
_EVIL = """<!doctype html><title>a harmless page</title><iframe id=frame src="http://127.0.0.1:%(port)s/"></iframe>
<script>
window.outcome = "";
const socket = new WebSocket("ws://127.0.0.1:%(port)s/ws?width=80&height=24");
socket.onopen = () => { window.outcome = "opened"; socket.send('["stdin", "a"]'); };
socket.onerror = () => { window.outcome = window.outcome || "refused"; };
window.fetched = "";
fetch("http://127.0.0.1:%(port)s/", {credentials: "include"}).then(
  (answer) => { window.fetched = "read " + answer.status; }, () => { window.fetched = "refused"; });
</script>"""


def visit(served: Served, tour: Callable[[Callable[[], Awaitable[Page]]], Awaitable[None]]) -> None:
    """Go on a *tour* with a fresh browser, once the server answers."""

    async def go() -> None:
        async with aiohttp.ClientSession() as client:
            await up(client, served)
        async with browser(served.store.parent / "browser") as new:
            await tour(new)

    asyncio.run(go())


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    served = Served(tmp_path / "events.db", *getattr(request, "param", ()))
    yield served
    served.end()


deciding = pytest.mark.parametrize("server", [("--decide",)], indirect=True, ids=["decide"])


async def asked(page: Page, agent: Agent) -> None:
    """Let the agent repeat itself until it waits, and the page show that."""
    agent.search(2)
    agent.send(do="search", query="q")
    await page.sees("waits R1")


async def approved(page: Page, agent: Agent) -> dict[str, Any]:
    """What the agent says once the page let it go. A key counts after a moment on the screen."""
    answer = asyncio.create_task(asyncio.to_thread(agent.answer))
    for _ in range(20):
        await asyncio.sleep(1.2)
        await page.press("a")
        if (await asyncio.wait({answer}, timeout=2))[0]:
            break
    return await answer


def test_the_page_shows_the_console_and_without_a_token_keys_decide_nothing(server: Served) -> None:
    async def tour(new: Callable[[], Awaitable[Page]]) -> None:
        page = await new()
        await page.open(f"{server.url}/")
        await page.until("document.body.classList.contains('-first-byte')")
        await page.sees("Nothing has been recorded yet", "WATCHES ONLY")
        await page.until(f"{_COLOURS} > 20")
        with Agent(server.store) as agent:
            await asked(page, agent)
            await page.press("a")
            await page.sees("only watches")
            assert pending(server) == ["R1"]
        await page.press("i")
        await page.sees("INBOX")  # keys that only look do count

    visit(server, tour)


@deciding
def test_with_the_token_a_key_decides(server: Served) -> None:
    async def tour(new: Callable[[], Awaitable[Page]]) -> None:
        page = await new()
        await page.open(server.told["url"])
        assert await page.value("location.search + document.cookie") == "", (
            "the token stays nowhere"
        )
        await page.sees("Nothing has been recorded yet")
        with Agent(server.store) as agent:
            await asked(page, agent)
            assert (await approved(page, agent))["ran"] == ["q"]

    visit(server, tour)


@asynccontextmanager
async def elsewhere(html: str) -> AsyncIterator[int]:
    """Another server on this machine with one page; its port."""

    async def index(request: web.Request) -> web.Response:
        return web.Response(text=html, content_type="text/html")

    app = web.Application()
    app.router.add_get("/", index)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@deciding
def test_a_page_of_another_origin_presses_no_key(server: Served) -> None:
    """The person has opened the console with the token in the same browser: the cookie is there."""

    async def tour(new: Callable[[], Awaitable[Page]]) -> None:
        ours = await new()
        await ours.open(server.told["url"])
        await ours.sees("Nothing has been recorded yet")
        with Agent(server.store) as agent:
            await asked(ours, agent)
            async with elsewhere(_EVIL % {"port": server.port}) as port:
                for host in ("127.0.0.1", "localhost"):  # where cookies go along, and where not
                    evil = await new()
                    await evil.open(f"http://{host}:{port}/")
                    assert await evil.until("window.outcome") == "refused"
                    assert await evil.until("window.fetched") == "refused"
                    tree = await evil.do("Page.getFrameTree")
                    for frame in tree["frameTree"].get("childFrames", []):
                        assert frame["frame"]["url"].startswith("chrome-error:"), "it is not framed"
                    assert evil.received == b"" and "101" not in evil.sockets
            assert pending(server) == ["R1"]
            await ours.do("Page.bringToFront")
            assert (await approved(ours, agent))["ran"] == ["q"]

    visit(server, tour)
