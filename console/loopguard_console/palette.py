"""The palette. Enter runs what the words find, never what stood there before they were typed."""

from __future__ import annotations

import asyncio
import contextlib

from textual import on
from textual.command import CommandPalette
from textual.widgets import Input
from textual.worker import WorkerError, WorkerState

_BUSY = (WorkerState.PENDING, WorkerState.RUNNING)


class Palette(CommandPalette):
    """Textual's palette shows the old commands until the new ones are found. The first of all is a decision."""

    @on(Input.Submitted)
    async def _found_first(self) -> None:
        """Wait for the search that the typed words began; what Enter chooses is chosen after this."""
        searches = [w for w in self.workers if w.node is self and w.state in _BUSY]
        with contextlib.suppress(WorkerError):
            await asyncio.gather(*(search.wait() for search in searches))
