"""Keys one after the other: the next is handed on when all that the one before began has been done.

Left to itself, Textual gives every key at once to what has the focus at that moment. A key typed right
behind one that closes a dialog would go to the dialog and be lost with it, one typed behind a key that
opens a screen would reach what lies below. Here it waits for its turn and meets what the person meant.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from textual import events

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.app import App
    from textual.message_pump import MessagePump

Typed = events.Key | events.Paste

#: Rounds through the focus and all above it after a key: what it posted, what that posted.
ROUNDS = 2
ROUNDS_AT_MOST = 6
#: Seconds after which a key is handed on though the one before has not come back.
PATIENCE = 2.0


class KeysInTurn:
    """The keys of *app*, in the order they came; *deliver* hands one to what has the focus."""

    def __init__(self, app: App[None], deliver: Callable[[Typed], Awaitable[None]]) -> None:
        self._app = app
        self._deliver = deliver
        self._behind: deque[Typed] = deque()
        self._since: float | None = None
        self._turn = 0
        self._awaited: Typed | None = None
        self.taken = 0

    @property
    def idle(self) -> bool:
        """True where every key that was taken has been answered."""
        return self._since is None

    async def take(self, key: Typed) -> None:
        """A key came: it is delivered in its turn."""
        self.taken += 1
        self._behind.append(key)
        if self._since is None or time.monotonic() - self._since > PATIENCE:
            self._turn += 1
            await self._next(self._turn)

    async def _next(self, turn: int) -> None:
        if turn != self._turn:
            return
        self._since = time.monotonic()
        screen = self._app.screen
        if not screen.is_mounted:  # its first message comes after all of it stands
            screen.call_later(self._app.call_later, self._next, turn)
            return
        if not self._behind:
            self._since = None
            return
        key = self._behind.popleft()
        way = self._way()
        self._awaited = None if screen.is_modal else key
        await self._deliver(key)
        if not key.is_forwarded:
            self._awaited = None
            self._app.call_later(self._next, turn)
        elif self._awaited is None:
            self._pass(turn, way, 0, 1)

    def answered(self, key: Typed) -> None:
        """The key has come up to the app, and what it means there has been done.

        Below a dialog nothing takes a key for itself: it comes back, and there is nothing to go after.
        """
        if key is self._awaited:
            self._awaited = None
            self._app.call_later(self._next, self._turn)

    def _way(self) -> list[MessagePump]:
        """What a key comes by: the focus, all above it, the app."""
        at: MessagePump | None = self._app.focused or self._app.screen
        way: list[MessagePump] = []
        while at is not None and at is not self._app:
            way.append(at)
            at = at._parent
        return [*way, self._app]

    def _pass(self, turn: int, way: list[MessagePump], at: int, rounds: int) -> None:
        """Come by behind the key, and behind what it posted, until nothing moves any more."""
        for place in range(at, len(way)):  # what has gone meanwhile takes no message
            if way[place].call_later(self._pass, turn, way, place + 1, rounds):
                return
        now = self._way()
        if rounds < ROUNDS or (now != way and rounds < ROUNDS_AT_MOST):
            self._pass(turn, now, 0, rounds + 1)
        else:
            self._app.call_later(self._next, turn)
