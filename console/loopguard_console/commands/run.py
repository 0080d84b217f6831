"""``run``: start an agent wired for this one run."""

from __future__ import annotations

import click

from loopguard_console.errors import Failure


@click.command()
def run() -> None:
    """Start an agent wired for this one run."""
    raise Failure("run is not built yet")
