"""What commands print: aligned text for people, ASCII JSON for programs."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO, TypeVar

import click

from loopguard_console.render import in_lines, pad, safe
from loopguard_core.events import portable

_F = TypeVar("_F", bound=Callable[..., Any])

_WIDEST = 60
#: before what does not fit into a line and stands on the next
BELOW = " " * 8


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


def told(text: str) -> None:
    """A few sentences beside the answer, on stderr; in a terminal broken between words."""
    for part in in_lines(safe(text), room(sys.stderr), indent=0):
        click.echo(part, err=True)


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Iterable[int] = (),
    whole: bool = False,
) -> None:
    """Columns under *heads*; those numbered in *right* (from 0) stand at their right edge.

    In a terminal that is too narrow, columns that do not fit stand on a line below, at the same place in
    every row, so that no word is broken. Where the last column is *whole*, it is never cut: it takes as many
    lines as it needs.
    """
    cells = [[safe(cell) for cell in row] for row in rows]
    columns = list(zip(heads, *cells, strict=True))
    line_cells = room()
    widest = min(_WIDEST, line_cells - len(BELOW)) if line_cells else _WIDEST
    widths = [min(widest, max(map(_width, column))) for column in columns]
    if whole:
        widths[-1] = max(map(_width, columns[-1]))
    to_right = set(right)
    groups = _groups(widths, line_cells)
    for line in (list(heads), *cells):
        parts = [
            pad(cell, width, right=at in to_right)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        for group in groups:
            shown = "  ".join(parts[group.start : group.stop]).rstrip()
            if group.start == 0 or shown:
                text = f"{BELOW if group.start else ''}{shown}"
                for part in in_lines(text, line_cells if whole else 0, indent=len(BELOW)):
                    click.echo(part)


def room(stream: TextIO | None = None) -> int:
    """Cells in a line of the terminal; 0 where *stream* (the output) is none, and nothing has to fit."""
    stream = sys.stdout if stream is None else stream
    if stream is None or not stream.isatty():
        return 0
    return shutil.get_terminal_size().columns


def _groups(widths: Sequence[int], cells: int) -> list[range]:
    """Which columns stand on one line, so that none is wider than *cells*; all where that is 0."""
    groups, start, used = [], 0, 0
    for at, width in enumerate(widths):
        if cells and at > start and used + 2 + width > cells:
            groups.append(range(start, at))
            start, used = at, len(BELOW) + width
        else:
            used += width + (2 if at > start else 0)
    return [*groups, range(start, len(widths))]


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)
