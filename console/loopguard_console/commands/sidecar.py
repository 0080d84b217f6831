"""``sidecar``: guard an agent in any language."""

from __future__ import annotations

import click

from loopguard_console.stores import Options, place_of
from loopguard_core.sidecar import serve


@click.command()
@click.option(
    "--agent", metavar="NAME", default="agent", show_default=True, help="What to call the agent."
)
@click.pass_obj
def sidecar(options: Options, agent: str) -> int:
    """Guard an agent in any language: events in on standard input, rulings out on standard output.

    One JSON object a line. An agent starts this as a process of its own, tells it each call before it runs
    and each result, and does what the rulings say.
    """
    return serve(agent=agent, store=place_of(options) if options.get("store") else "")
