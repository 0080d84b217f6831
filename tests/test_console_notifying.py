"""Notifications of the desktop: what they say, when they come, and what happens where there are none."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import console_scene
from loopguard_console import notifying
from loopguard_console.app import Arrived, ConsoleApp
from loopguard_console.notifying import Desktop, about, plain
from loopguard_core.store.contract import Request


class Shows:
    """A service that shows everything."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, str]] = []

    async def show(self, title: str, text: str) -> bool:
        self.shown.append((title, text))
        return True


class Console:
    """A live console that is told of waiting requests, and the orders that its terminal gets."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self.app: ConsoleApp = console_scene.live(empty=True)
        self.app.desktop = Desktop(connect)
        self.orders: list[str] = []
        self.app._order = self.orders.append  # type: ignore[assignment, method-assign]

    def tell(self, *times: bool) -> list[str]:
        """Let two requests wait, once for each of *times*; True where that is muted."""

        async def run() -> None:
            async with self.app.run_test(size=(80, 24)) as pilot:
                await pilot.pause()
                one, waits = console_scene.research()
                two, halts = console_scene.fixer()
                for muted in times:
                    self.app.muted = muted
                    batch = console_scene.batch(one, two, waiting=(waits, halts))
                    self.app.post_message(Arrived(batch))
                    await pilot.pause()
                await self.app.workers.wait_for_complete()

        asyncio.run(run())
        return self.orders


def test_what_starts_to_wait_is_shown_once_by_its_name_alone() -> None:
    service = Shows()
    orders = Console(lambda: service).tell(False, False)
    ((title, text),) = service.shown
    assert title == "loopguard: 2 waiting"
    assert text == "ci-fixer b07d11e4 asks for bash (halt), R6 and 1 more"
    assert orders.count("\x07") == 1 and not any("]9;" in order for order in orders)


def test_muted_nothing_is_shown() -> None:
    service = Shows()
    assert "\x07" not in Console(lambda: service).tell(True)
    assert not service.shown


class Refuses(Shows):
    async def show(self, title: str, text: str) -> bool:
        return False


class Raises(Shows):
    async def show(self, title: str, text: str) -> bool:
        raise ConnectionError("no bus")


class Hangs(Shows):
    async def show(self, title: str, text: str) -> bool:
        await asyncio.Event().wait()
        return True


def missing() -> Shows:
    raise ModuleNotFoundError("desktop_notifier")


@pytest.mark.parametrize("connect", [Refuses, Raises, Hangs, missing], ids=lambda c: c.__name__)
def test_where_there_is_none_the_terminal_shows_it(
    connect: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifying, "PATIENCE", 0.1)
    assert "\x1b]9;loopguard: 2 waiting\x07" in Console(connect).tell(False)


def test_after_a_failure_it_is_not_tried_again() -> None:
    tries: list[int] = []

    def connect() -> Any:
        tries.append(1)
        return Raises()

    async def run() -> None:
        desktop = Desktop(connect)
        assert [await desktop.show("a", "b") for _ in range(3)] == [False] * 3

    asyncio.run(run())
    assert len(tries) == 1


def test_nothing_of_the_call_and_no_markup_goes_out() -> None:
    request = Request("R1", "s", 1)
    request.tool = "<img src=http://x/>\x1b]0;gone\x07 & \u202e"
    request.args = {"password": "hunter2"}
    request.verdict = {"reason": "hunter2"}
    text = plain(about([request], lambda session: "an <b>agent</b>"))
    assert "hunter2" not in text
    assert not set("<>&\x1b\x07\u202e\n") & set(text)
    assert "‹b›agent" in text


# -- with the library itself -------------------------------------------------------------------------


@pytest.fixture
def bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A private session bus."""
    pytest.importorskip("desktop_notifier", reason="needs loopguard-console[notify]")
    daemon = shutil.which("dbus-daemon")
    if daemon is None:
        pytest.skip("needs dbus-daemon")
    argv = [daemon, "--session", "--nofork", "--nopidfile", "--print-address"]
    argv += [f"--address=unix:path={tmp_path / 'bus'}"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        yield address
        process.terminate()


def test_a_service_on_a_bus_is_told(bus: str) -> None:
    from dbus_fast.aio import MessageBus

    from notifications import NAME, PATH, Notifications

    heard = Notifications()

    async def run() -> None:
        service = await MessageBus(bus_address=bus).connect()
        service.export(PATH, heard)
        await service.request_name(NAME)
        desktop = Desktop()
        assert await desktop.show("loopguard: 1 waiting", "a <b>name</b>")
        assert await desktop.show("loopguard: 2 waiting", "again")
        service.disconnect()

    asyncio.run(run())
    assert heard.told == [
        ("loopguard-console", "loopguard: 1 waiting", "a ‹b›name‹/b›"),
        ("loopguard-console", "loopguard: 2 waiting", "again"),
    ]


@pytest.mark.parametrize("address", ["", "unix:path=/nonexistent/bus", "nonsense"])
def test_without_a_bus_it_says_so_and_nothing_else(
    address: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("desktop_notifier", reason="needs loopguard-console[notify]")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
    if not address:
        monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS")
    monkeypatch.delenv("DISPLAY", raising=False)
    assert asyncio.run(Desktop().show("a", "b")) is False
    assert capfd.readouterr() == ("", "")


def test_a_bus_without_a_notification_service_is_none(bus: str) -> None:
    assert asyncio.run(Desktop().show("a", "b")) is False
