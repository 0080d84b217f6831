"""The addresses of a server's name, looked up with an end to the waiting.

libpq asks the system for them, and the system may ask a name server that never answers. So they are looked up
here in a thread, which is left alone where it takes too long, and libpq is given what was found. A name that
stands in a service file is still libpq's to look up.
"""

from __future__ import annotations

import os
from _thread import allocate_lock, start_new_thread
from socket import SOCK_STREAM, gaierror, getaddrinfo

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from loopguard_core.clock import monotonic
from loopguard_core.store.postgres.failures import Unresolved

#: Seconds for which the answer to a question that was given up still counts.
_FRESH = 60.0

_lock = allocate_lock()
_lookups: dict[str, _Lookup] = {}


class _Lookup:
    """One question to the system: a thread that may take as long as it likes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.addresses: list[str] = []
        self.error = ""
        self.ended: float | None = None
        self._done = allocate_lock()
        self._done.acquire()
        start_new_thread(self._run, ())

    def _run(self) -> None:
        try:
            # as bytes: the codec of names would be loaded in this thread, which a fork must not meet
            found = getaddrinfo(self.name.encode(), None, type=SOCK_STREAM)
            self.addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
        except (OSError, UnicodeError) as error:
            self.error = error.strerror or "" if isinstance(error, gaierror) else str(error)
        finally:
            self.ended = monotonic()
            self._done.release()

    def wait(self, until: float) -> bool:
        """True once there is an answer, False where there is none by then."""
        if not self._done.acquire(timeout=max(0.0, until - monotonic())):
            return False
        self._done.release()
        return True

    @property
    def stale(self) -> bool:
        if self.ended is None:
            return False
        return not self.addresses or monotonic() - self.ended > _FRESH


def addressed(info: str, until: float) -> str:
    """The connection string *info* with the addresses of its hosts.

    Raises ``Unresolved`` where a name has none by the time *until*, of the monotonic clock, and
    ``psycopg.OperationalError`` where none of its names has any.
    """
    given = conninfo_to_dict(info)
    known = (given.get("hostaddr"), given.get("service"), *map(os.environ.get, _ELSEWHERE))
    hosts = str(given.get("host") or os.environ.get("PGHOST") or "").split(",")
    ports = str(given.get("port") or os.environ.get("PGPORT") or "").split(",")
    wrong = len(ports) not in (1, len(hosts)) or not all(p.isdigit() or not p for p in ports)
    if wrong or any(known) or not any(map(_is_name, hosts)):
        return info
    found: list[tuple[str, str, str]] = []
    error = ""
    for at, host in enumerate(hosts):
        port = ports[at if len(ports) > 1 else 0]
        if not _is_name(host):
            found.append((host, "", port))
            continue
        lookup = _look_up(host, until)
        error = error or lookup.error
        found += ((host, address, port) for address in lookup.addresses)
    if not found:
        raise psycopg.OperationalError(f"could not translate host name: {error}")
    host, address, port = (",".join(column) for column in zip(*found, strict=True))
    return make_conninfo(info, host=host, hostaddr=address, port=port if port.strip(",") else None)


#: Where else a host may be named that needs no looking up here.
_ELSEWHERE = ("PGHOSTADDR", "PGSERVICE")


def _is_name(host: str) -> bool:
    """True for what is neither a socket's folder nor an address."""
    return bool(host) and host[0] not in "/@" and ":" not in host and not _is_numbers(host)


def _is_numbers(host: str) -> bool:
    return all(part.isdigit() for part in host.split("."))


def _look_up(name: str, until: float) -> _Lookup:
    """The answer for *name*. Who asks while an earlier question is open waits for that one's answer."""
    with _lock:
        lookup = _lookups.get(name)
        if lookup is None or lookup.stale:
            lookup = _lookups[name] = _Lookup(name)
    if not lookup.wait(until):
        raise Unresolved
    with _lock:
        if _lookups.get(name) is lookup:
            del _lookups[name]
    return lookup


def _after_fork() -> None:
    """In a child: no thread of the parent's ever answers."""
    global _lock
    _lock = allocate_lock()
    _lookups.clear()


os.register_at_fork(after_in_child=_after_fork)
