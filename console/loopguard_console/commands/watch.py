"""``watch``: follow the transcripts of agents that run without a hook."""

from __future__ import annotations

import click

from loopguard_console.errors import Failure


@click.command()
def watch() -> None:
    """Follow the transcripts of agents that run without a hook."""
    raise Failure("watch is not built yet")
