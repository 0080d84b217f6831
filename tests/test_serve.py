"""The console in a browser: what it shows, who may decide, and who is not let in."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agent_process import Agent
from commands import Done, command
from loopguard_console.serving.door import Door, is_loopback
from loopguard_console.serving.server import ConsoleServer
from processes import console
from serving import Served, pending, up

PATIENCE = 40.0


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path / "events.db")
    yield served
    served.end()


@pytest.fixture
def decided(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path / "events.db", "--decide")
    yield served
    served.end()


async def see(window: Any, *texts: str) -> None:
    """Wait until the window was sent all of *texts*."""
    seen = b""

    async def read() -> None:
        nonlocal seen
        async for message in window:
            if message.type == aiohttp.WSMsgType.BINARY:
                seen += message.data
            if all(text.encode() in seen for text in texts):
                return

    try:
        await asyncio.wait_for(read(), PATIENCE)
    except TimeoutError:
        raise AssertionError(f"waited for {texts} in vain: {seen[-3000:]!r}") from None
    assert all(text.encode() in seen for text in texts), seen[-3000:]


async def press(window: Any, keys: str) -> None:
    await window.send_json(["stdin", keys])


def test_without_a_token_the_window_only_watches(watched: Served) -> None:
    assert watched.told == {"url": f"{watched.url}/", "decides": False}

    async def visit() -> None:
        async with aiohttp.ClientSession() as client:
            await up(client, watched)
            async with client.get(watched.url) as page:
                assert page.status == 200
                assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
            origin = {"Origin": watched.url}
            url = f"{watched.url}/ws?width=120&height=40"
            async with client.ws_connect(url, headers=origin) as window:
                with Agent(watched.store) as agent:
                    agent.search(2)
                    agent.send(do="search", query="q")
                    await see(window, "waits R1")
                    await asyncio.sleep(1.2)
                    await press(window, "a")
                    await see(window, "only watches")
                    assert pending(watched) == ["R1"]

    asyncio.run(visit())


def test_with_the_token_the_window_decides(decided: Served) -> None:
    link = decided.told["url"]
    assert decided.told["decides"]

    async def visit() -> None:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as client:
            await up(client, decided)
            async with client.get(link) as page:
                assert (page.status, page.url.query_string) == (200, "")
            cookie = next(iter(jar))
            assert cookie["httponly"] and cookie["samesite"] == "Strict"
            url = f"{decided.url}/ws?width=120&height=40"
            async with client.ws_connect(url, headers={"Origin": decided.url}) as window:
                with Agent(decided.store) as agent:
                    agent.search(2)
                    agent.send(do="search", query="q")
                    await see(window, "waits R1")
                    await asyncio.sleep(1.2)
                    await press(window, "a")
                    assert agent.answer()["ran"] == ["q"]

    asyncio.run(visit())


def test_a_page_of_another_origin_presses_no_key(decided: Served) -> None:
    async def visit() -> None:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as client:
            await up(client, decided)
            async with client.get(decided.told["url"]) as page:
                assert page.status == 200
            for headers in (
                {"Origin": "https://evil.example"},
                {"Origin": "null"},
                {"Origin": f"http://localhost:{decided.port}"},
                {"Origin": f"{decided.url}.evil.example"},
                {},
                {"Origin": decided.url, "Host": "evil.example"},
                {"Origin": decided.url, "Host": f"evil.example:{decided.port}"},
            ):
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    await client.ws_connect(f"{decided.url}/ws", headers=headers)
                assert refused.value.status == 403
            async with client.get(decided.url, headers={"Host": "evil.example"}) as page:
                assert page.status == 403
            async with client.get(f"{decided.url}/?token=guess") as page:
                assert page.status == 403

    asyncio.run(visit())


def test_another_address_needs_the_token_even_to_watch() -> None:
    door = Door("192.168.1.7", 80, "secret", deciding=True)
    headers = {"Host": "192.168.1.7:80", "Origin": "http://192.168.1.7:80"}
    assert door.refuses(headers, {}, "/ws")
    assert door.refuses(headers, {"loopguard": "guess"}, "/ws")
    assert not door.refuses(headers, {"loopguard": "secret"}, "/ws")
    assert not Door("127.0.0.1", 80, "", deciding=False).decides({"loopguard": ""})
    assert [is_loopback(h) for h in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "box")] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert Door("::1", 80, "", deciding=False).address == "[::1]:80"


def doors(monkeypatch: pytest.MonkeyPatch, store: Path, *options: str) -> tuple[Done, list[Door]]:
    """How ``serve`` ends that would have listened, and the door that it would have had."""
    found: list[Door] = []

    def serve(server: ConsoleServer) -> None:
        found.append(server.door)

    monkeypatch.setattr(ConsoleServer, "serve", serve)
    return command(store, "serve", *options), found


@pytest.mark.parametrize("decide", [False, True])
def test_the_token_of_another_address_decides_only_where_it_was_meant_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, decide: bool
) -> None:
    options = ["--host", "192.168.1.7", *(["--decide"] if decide else [])]
    done, (door,) = doors(monkeypatch, tmp_path / "events.db", *options)
    cookies = {"loopguard": door.token}
    assert done.code == 0 and door.token in door.link
    assert door.admits(cookies) and not door.admits({})
    assert door.decides(cookies) is decide


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_an_address_that_no_browser_can_open_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: str
) -> None:
    done, found = doors(monkeypatch, tmp_path / "events.db", "--host", host)
    assert done.code == 2 and "--host names one address" in done.err and not found


def test_where_to_look_is_said_only_once_something_is_there(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = console("--store", tmp_path / "events.db", "serve", "--port", port)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"cannot listen on" in done.stderr and done.stderr.count(b"\n") == 1
