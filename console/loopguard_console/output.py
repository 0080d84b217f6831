"""What commands print: aligned text for people, ASCII JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from loopguard_console.render import pad, safe
from loopguard_core.events import portable

_F = TypeVar("_F", bound=Callable[..., Any])

_WIDEST = 60


def json_option(command: _F) -> _F:
    """The option ``--json``, which every command has."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Answer as JSON, one object a line."
    )(command)


def emit(value: object) -> None:
    """*value* as one line of ASCII JSON."""
    click.echo(json.dumps(portable(value), ensure_ascii=True))


def say(text: object = "") -> None:
    """One line for people; foreign text in it becomes harmless."""
    click.echo(safe(text))


def remark(text: object) -> None:
    """One line beside the answer, on stderr."""
    click.echo(safe(text), err=True)


def table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], *, right: Iterable[int] = ()
) -> None:
    """Columns under *heads*; those numbered in *right* (from 0) stand at their right edge."""
    cells = [[safe(cell) for cell in row] for row in rows]
    columns = list(zip(heads, *cells, strict=True))
    widths = [min(_WIDEST, max(map(_width, column))) for column in columns]
    to_right = set(right)
    for line in (list(heads), *cells):
        parts = [
            pad(cell, width, right=at in to_right)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        click.echo("  ".join(parts).rstrip())


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)
