"""The official MCP client and a server of the official SDK, with our proxy between them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp.server.mcpserver", reason="mcp 2 is not installed")

from inprocess import Desk
from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult

from processes import CONSOLE, environment

SERVER = Path(__file__).parent / "servers" / "mcp_tools.py"
MODES = ("legacy", "auto")

Scene = Callable[[Client], Awaitable[Any]]


class Connection:
    """A client, with the proxy in front of the server or without it."""

    def __init__(self, desk: Desk, mode: str, config: str = "") -> None:
        self.desk = desk
        self.mode = mode
        self.folder = Path(desk.place).parent
        self.config = self.folder / "loopguard.toml"
        self.config.write_text(f'policy = "graded"\n{config}', encoding="utf-8")
        self.progress: list[tuple[float, float | None, str | None]] = []

    def play(self, scene: Scene, *options: str, proxy: bool = True) -> Any:
        guard = [*CONSOLE, "--store", self.desk.place, "mcp-proxy", *options, "--"]
        command = [*(guard if proxy else []), sys.executable, str(SERVER)]
        params = StdioServerParameters(
            command=command[0],
            args=command[1:],
            cwd=self.folder,
            env=environment(LOOPGUARD_CONFIG=str(self.config)),
        )

        async def elicited(context: Any, params: Any) -> ElicitResult:
            return ElicitResult(action="accept", content={"yes": True})

        async def run() -> Any:
            async with Client(params, mode=self.mode, elicitation_callback=elicited) as client:
                return await scene(client)

        return asyncio.run(asyncio.wait_for(run(), 90))

    async def told(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, total, message))


@pytest.fixture(params=MODES)
def connection(desk: Desk, request: pytest.FixtureRequest) -> Connection:
    return Connection(desk, request.param)


def texts(result: Any) -> list[str]:
    return [block.text for block in result.content]


async def look(client: Client) -> Any:
    return await client.call_tool("read_file", {"path": "nope"})


def test_a_client_cannot_tell_the_proxy_from_the_server(connection: Connection) -> None:
    async def scene(client: Client) -> list[Any]:
        seen: list[Any] = [
            client.protocol_version,
            client.server_info,
            client.server_capabilities,
            client.instructions,
            await client.list_tools(),
            await client.list_resources(),
            await client.list_prompts(),
            await client.read_resource("shelf://list"),
            await client.get_prompt("tidy", {"what": "shelf"}),
            await client.call_tool("read_file", {"path": "nope"}),
            await client.call_tool("fail"),
            await client.call_tool("count", {"upto": 3}, progress_callback=connection.told),
        ]
        if connection.mode == "legacy":
            seen += [await client.send_ping(), await client.call_tool("ask")]
        for bad in ("tools/none", "fail"):
            try:
                seen.append(await client.get_prompt(bad))
            except Exception as error:  # noqa: BLE001 - compared below
                seen.append(str(error))
        return seen

    direct = connection.play(scene, proxy=False)
    told, connection.progress = connection.progress, []
    through = connection.play(scene)
    assert through == direct
    assert (
        connection.progress == told == [(1, 3, "counting"), (2, 3, "counting"), (3, 3, "counting")]
    )
    expected = ["ok", "error", "ok"] + ["ok"] * (connection.mode == "legacy")
    assert connection.desk.outcomes() == expected


def test_it_is_warned_blocked_and_halted(connection: Connection) -> None:
    async def scene(client: Client) -> list[Any]:
        await client.list_tools()
        looked = [await look(client) for _ in range(4)]
        return [*looked, await client.call_tool("count", {"upto": 1})]

    first, second, third, fourth, other = connection.play(scene)
    assert texts(first) == ["nope: no such file"]
    assert len(texts(second)) == 2 and "[loopguard]" in texts(second)[1]
    assert second.structured_content == first.structured_content
    assert third.is_error and "not run" in texts(third)[0]
    assert fourth.is_error and other.is_error
    (session,) = connection.desk.sessions()
    assert session.agent == "mcp:shelf" and session.ended
    starts = [e for e in connection.desk.store.read(session.session) if e.type == "call_start"]
    assert starts[0].data["traits"]["readOnlyHint"] is True


def test_a_human_lets_one_call_run_and_then_another_go_on(connection: Connection) -> None:
    connection.config.write_text('policy = "graded"\nunattended_wait_seconds = 60\n')

    async def scene(client: Client) -> list[Any]:
        for _ in range(2):
            await look(client)
        waiting = asyncio.create_task(look(client))
        await asyncio.sleep(0)
        listed = await client.list_tools()
        assert not waiting.done() and listed.tools
        return [await waiting]

    with connection.desk.human("approve", by="you"):
        (approved,) = connection.play(scene)
    assert texts(approved) == ["nope: no such file"]


def test_a_halt_holds_until_it_is_resumed(connection: Connection) -> None:
    async def scene(client: Client) -> list[Any]:
        seen = [await look(client)]
        (session,) = connection.desk.sessions()
        decide, name = connection.desk.decide, session.session
        await asyncio.to_thread(decide, "halt", session=name, note="wait for me")
        seen.append(await client.call_tool("count", {"upto": 1}))
        await asyncio.to_thread(decide, "resume", name)
        seen.append(await client.call_tool("count", {"upto": 1}))
        return seen

    _, halted, freed = connection.play(scene)
    assert halted.is_error and "wait for me" in texts(halted)[0]
    assert not freed.is_error and texts(freed)[0] == "1"


def test_a_cancelled_call_is_cancelled_at_the_server(connection: Connection) -> None:
    async def scene(client: Client) -> Any:
        sleeping = asyncio.create_task(client.call_tool("sleep"))
        while not any(s.calls for s in connection.desk.sessions()):
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        sleeping.cancel()
        await asyncio.gather(sleeping, return_exceptions=True)
        return await client.call_tool("count", {"upto": 1})

    assert texts(connection.play(scene)) == ["1"]
    assert connection.desk.outcomes() == ["cancelled", "ok"]


def test_many_calls_at_once(connection: Connection) -> None:
    async def scene(client: Client) -> list[Any]:
        calls = [client.call_tool("read_file", {"path": str(n)}) for n in range(30)]
        return list(await asyncio.gather(*calls))

    got = [texts(result) for result in connection.play(scene)]
    assert got == [[f"{n}: no such file"] for n in range(30)]
