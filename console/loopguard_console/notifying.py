"""Desktop notifications through the platform's own service. Nothing here raises, and nothing waits long.

The text goes to a service that other programs and a lock screen show, so it holds no arguments and no
results, and nothing that a service could take for markup.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from loopguard_console.render import safe
from loopguard_core.store.contract import Request
from loopguard_core.verdict import Tier

#: Seconds that connecting and showing may take together.
PATIENCE = 5.0
_PLAIN = str.maketrans({"<": "‹", ">": "›", "&": "+"})


class Service(Protocol):
    """What shows notifications. Raises, or gives False, where it cannot."""

    def show(self, title: str, text: str) -> Awaitable[bool]: ...


class Desktop:
    """The desktop's notifications. *connect* finds the service; it runs outside the event loop."""

    def __init__(self, connect: Callable[[], Service] | None = None) -> None:
        self._connect = connect or _Platform
        self._service: Service | None = None
        self._gone = False

    async def show(self, title: str, text: str) -> bool:
        """Show one; True where the service took it. After a failure it is not tried again."""
        if self._gone:
            return False
        try:
            async with asyncio.timeout(PATIENCE):
                if self._service is None:
                    self._service = await asyncio.to_thread(self._connect)
                shown = await self._service.show(plain(title), plain(text))
        except Exception:  # noqa: BLE001 - whatever a platform's service raises, the bell has rung
            shown = False
        self._gone = not shown
        return shown


class _Platform:
    """desktop-notifier: D-Bus, the Notification Center, Windows. Raises where it is not installed."""

    def __init__(self) -> None:
        for name in ("desktop_notifier", "dbus_fast"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # they would write on the screen
        from desktop_notifier import DesktopNotifier, Urgency

        self._notifier = DesktopNotifier("loopguard-console", app_icon=None)
        self._urgency = Urgency.Critical

    async def show(self, title: str, text: str) -> bool:
        if not await self._notifier.get_capabilities():
            return False  # a stand-in for a platform that has no service
        shown: list[bool] = []
        await self._notifier.send(
            title, text, urgency=self._urgency, on_dispatched=lambda: shown.append(True)
        )
        return bool(shown)


def plain(text: str) -> str:
    """*text* in one safe line without what a service may read as markup."""
    return safe(text, 200).translate(_PLAIN)


def about(new: Sequence[Request], title_of: Callable[[str], str]) -> str:
    """What started to wait, the worst first: ``claude-code asks for Bash (block), R7``."""
    if not new:
        return ""
    first = new[0]
    words = f"{title_of(first.session)} asks for {safe(first.tool, 40)} ({Tier(first.tier).word})"
    more = f" and {len(new) - 1} more" if len(new) > 1 else ""
    return f"{words}, {safe(first.request, 20)}{more}"


def osc9(text: str) -> str:
    """The order with which a terminal that can (OSC 9) shows *text*, which is ours."""
    return f"\x1b]9;{text}\x07"
