"""Who may come in: the browser's own words are checked before anything is answered.

textual-serve asks neither who comes nor from where. A page of another origin can open a WebSocket to
this machine, and a name that somebody else controls can be made to point here; so ``Host`` and ``Origin``
must be ours. A token in the link becomes a cookie that pages of other origins cannot send along.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping

COOKIE = "loopguard"


class Door:
    """The rules of one server. Who shows ``token`` comes in from elsewhere, and decides where *deciding*."""

    def __init__(self, host: str, port: int, token: str, *, deciding: bool) -> None:
        shown = f"[{host}]" if ":" in host else host
        self.address = f"{shown}:{port}"
        self.origin = f"http://{self.address}"
        self.token = token
        self.deciding = deciding
        self.local = is_loopback(host)

    @property
    def link(self) -> str:
        """What to open in the browser."""
        return f"{self.origin}/?token={self.token}" if self.token else f"{self.origin}/"

    def refuses(self, headers: Mapping[str, str], cookies: Mapping[str, str], path: str) -> str:
        """Why a request may not come in; empty where it may."""
        if headers.get("Host", "") != self.address:
            return "this server is not called so"
        origin = headers.get("Origin")
        if origin is not None and origin != self.origin:
            return "pages of other origins may not come in"
        if path == "/ws" and origin is None:
            return "only a browser may open the console"
        if path != "/" and not self.admits(cookies):
            return "open the link with the token first"
        return ""

    def knows(self, token: str) -> bool:
        """Whether *token* is ours."""
        return bool(self.token) and hmac.compare_digest(token.encode(), self.token.encode())

    def admits(self, cookies: Mapping[str, str]) -> bool:
        """Whether a browser with these cookies may watch."""
        return self.local or self.knows(cookies.get(COOKIE, ""))

    def decides(self, cookies: Mapping[str, str]) -> bool:
        """Whether a browser with these cookies may decide."""
        return self.deciding and self.knows(cookies.get(COOKIE, ""))


def is_everywhere(host: str) -> bool:
    """Whether *host* means all addresses of this machine, and so none that a browser could open."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return not host


def is_loopback(host: str) -> bool:
    """Whether *host* is reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
