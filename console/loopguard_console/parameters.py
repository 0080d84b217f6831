"""What several command lines share: numbers, and names of formats and policies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from loopguard_core.policies import registry

_F = TypeVar("_F", bound=Callable[..., Any])

#: the policies that can be named, for a help text
POLICIES = ", ".join(registry.names())


class Whole(click.IntRange):
    """A whole number within bounds; what is none is said in these words."""

    name = "whole number"


class Amount(click.FloatRange):
    """A number within bounds, such as of seconds or days."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number; NaN is none, though no bound would keep it out."""
        number: float = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value!r} is not a valid number.", param, ctx)
        return number


def format_option(command: _F) -> _F:
    """The option ``--format`` of commands that read transcripts."""
    return click.option(
        "--format",
        "format_name",
        metavar="NAME",
        default="",
        help="The transcript's format, if not found (docs/formats.md names them).",
    )(command)
