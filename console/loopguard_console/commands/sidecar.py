"""``sidecar``: guard an agent in any language: JSON Lines in, JSON Lines out."""

from __future__ import annotations

import click

from loopguard_console.errors import Failure


@click.command()
def sidecar() -> None:
    """Guard an agent in any language: JSON Lines in, JSON Lines out."""
    raise Failure("sidecar is not built yet")
