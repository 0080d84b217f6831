"""A real MCP server of the official SDK, over stdio."""

from __future__ import annotations

import asyncio
import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("shelf", instructions="Read files from a shelf.")


class Answer(BaseModel):
    yes: bool


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def read_file(path: str) -> str:
    """Read a file."""
    return f"{path}: no such file"


@server.tool()
def fail() -> str:
    """Fail."""
    raise RuntimeError("out of paper")


@server.tool()
async def count(upto: int, ctx: Context) -> int:
    """Count, and tell how far it has got."""
    for number in range(upto):
        await ctx.report_progress(number + 1, upto, "counting")
    return upto


@server.tool()
async def ask(ctx: Context) -> str:
    """Ask the user."""
    answer = await ctx.elicit("Are you sure?", Answer)
    return f"{answer.action} {answer.data.yes if answer.action == 'accept' else ''}"


@server.tool()
async def sleep(ctx: Context) -> str:
    """Sleep until it is cancelled."""
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        print("sleep was cancelled", file=sys.stderr, flush=True)
        raise
    return "slept"


@server.resource("shelf://list")
def shelf() -> str:
    """What is on the shelf."""
    return "x" * 500_000


@server.prompt()
def tidy(what: str) -> str:
    """Tidy something."""
    return f"Please tidy the {what}."


if __name__ == "__main__":
    server.run()
