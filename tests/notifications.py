"""A notification service on D-Bus that keeps what it is told. Needs dbus-fast, which desktop-notifier brings."""

from __future__ import annotations

from typing import Annotated, Any

from dbus_fast.annotations import DBusDict, DBusInt32, DBusSignature, DBusStr, DBusUInt32
from dbus_fast.service import ServiceInterface, dbus_method

NAME = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"

Strings = Annotated[list[str], DBusSignature("as")]
About = Annotated[list[str], DBusSignature("ssss")]


class Notifications(ServiceInterface):
    """``told``: application, title and body of each notification, the oldest first."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self.told: list[tuple[Any, ...]] = []

    @dbus_method()
    def GetCapabilities(self) -> Strings:
        return ["body", "body-markup"]

    @dbus_method()
    def GetServerInformation(self) -> About:
        return ["test", "test", "1", "1.2"]

    @dbus_method()
    def Notify(
        self,
        app: DBusStr,
        replaces: DBusUInt32,
        icon: DBusStr,
        title: DBusStr,
        body: DBusStr,
        actions: Strings,
        hints: DBusDict,
        timeout: DBusInt32,
    ) -> DBusUInt32:
        self.told.append((app, title, body))
        return 7
