"""The palette. Enter runs what the words find, never what stood there before they were typed."""

from __future__ import annotations

import asyncio
import contextlib

from textual import on
from textual.command import CommandPalette, DiscoveryHit, Hits
from textual.system_commands import SystemCommandsProvider
from textual.widgets import Input
from textual.worker import WorkerError, WorkerState

from loopguard_console.keys.actions import ACTIONS, CONTROL, DECIDE

_BUSY = (WorkerState.PENDING, WorkerState.RUNNING)
#: Names of what decides about an agent.
_DECISIONS = frozenset(a.title.capitalize() for a in ACTIONS if a.group in (DECIDE, CONTROL))


class Commands(SystemCommandsProvider):
    """All commands by their names, before words are typed: last those that decide.

    The first of all is chosen already, and a stray Enter must decide nothing.
    """

    async def discover(self) -> Hits:
        commands = self.app.get_system_commands(self.screen)
        for name, said, run, shown in sorted(commands, key=lambda c: (c[0] in _DECISIONS, c[0])):
            if shown:
                yield DiscoveryHit(name, run, help=said)


class Palette(CommandPalette):
    """Textual's palette shows the old commands until the new ones are found."""

    @on(Input.Submitted)
    async def _found_first(self) -> None:
        """Wait for the search that the typed words began; what Enter chooses is chosen after this."""
        searches = [w for w in self.workers if w.node is self and w.state in _BUSY]
        with contextlib.suppress(WorkerError):
            await asyncio.gather(*(search.wait() for search in searches))
