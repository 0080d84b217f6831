"""``mcp-proxy``: guard an MCP server for any client."""

from __future__ import annotations

import click

from loopguard_console.errors import Failure


@click.command("mcp-proxy")
def mcp_proxy() -> None:
    """Guard an MCP server for any client."""
    raise Failure("mcp-proxy is not built yet")
