"""A bar for long work, on a terminal only and gone when the work is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from loopguard_console.render import safe

_T = TypeVar("_T")

_PATIENCE = 0.7
_EVERY = 512


def watched(items: Iterable[_T], what: str, *, total: int | None = None) -> Iterator[_T]:
    """*items* unchanged; when they take longer than a moment, a bar on stderr counts them.

    Without *total* the bar pulses and shows the number so far.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    began = time.monotonic()
    count = 0
    walk = iter(items)
    for item in walk:
        yield item
        count += 1
        if count % _EVERY == 0 and time.monotonic() - began > _PATIENCE:
            break
    yield from _with_bar(walk, what, count, total)


def _with_bar(walk: Iterator[_T], what: str, count: int, total: int | None) -> Iterator[_T]:
    first = list(islice(walk, 1))
    if not first:
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(safe(what, 40), total=total, completed=count)
        yield from first
        for item in walk:
            yield item
            count += 1
            if count % _EVERY == 0:
                bar.update(task, completed=count)


def measured(
    items: Iterable[_T], what: str, *, total: int | None, position: Callable[[], int]
) -> Iterator[_T]:
    """*items* unchanged; when they take longer than a moment, a bar on stderr shows how much was read.

    *position* tells the bytes read so far, of *total*; without a total the bar counts items.
    """
    if total is None or not sys.stderr.isatty():
        yield from watched(items, what)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    began = time.monotonic()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(safe(what, 40), total=total, visible=False)
        for count, item in enumerate(items, 1):
            yield item
            if count % _EVERY == 0:
                late = time.monotonic() - began > _PATIENCE
                bar.update(task, completed=position(), visible=late)
