"""``mcp-proxy``: guard an MCP server for any client."""

from __future__ import annotations

import click

from loopguard_console.errors import Failure
from loopguard_console.parameters import Amount
from loopguard_console.stores import Options, place_of
from loopguard_core.child import NotStarted
from loopguard_core.config import load_or_default
from loopguard_core.mcp_proxy import IDLE, LIMIT, serve
from loopguard_core.session.live import to_stderr


@click.command(
    "mcp-proxy", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument(
    "server", metavar="-- SERVER COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED
)
@click.option("--name", default="", help="What to call the server; else what it calls itself.")
@click.option(
    "--limit",
    metavar="SECONDS",
    type=Amount(min=0),
    default=LIMIT,
    show_default=True,
    help="How long a stopped call waits for you at most: less than the client's own limit.",
)
@click.option(
    "--new-turn-after",
    "idle",
    metavar="SECONDS",
    type=Amount(min=0, min_open=True),
    default=IDLE,
    show_default=True,
    help="A pause after which counters start afresh, since MCP knows no turns.",
)
@click.pass_obj
def mcp_proxy(
    options: Options, server: tuple[str, ...], name: str, limit: float, idle: float
) -> int:
    """Guard an MCP server: put this in front of its command in the client's configuration.

    The client's messages pass through to SERVER COMMAND and back as they are. Only calls of tools are
    judged. A warning is added to the result, a stopped call gives an error result that says why.
    """
    config = load_or_default("", to_stderr)
    if options.get("store"):
        config = config.changed(store=place_of(options))
    try:
        return serve(server, config, name=name, limit=limit, idle=idle)
    except NotStarted as error:
        raise Failure(str(error)) from None
