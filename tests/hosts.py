"""Two hosts on one machine: network and host-name namespaces where they are permitted, else two addresses.

Each host reaches the server by a wire on an address of its own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator

import postgres
from wire import Wire

_PROGRAMS = ("ip", "unshare", "hostname")


class Host:
    """Where a program runs: before its words go ``prefix``; it finds the server's store at ``url``."""

    def __init__(self, name: str, prefix: list[str], url: str) -> None:
        self.name = name
        self.prefix = prefix
        self.url = url


def _run(*argv: str) -> bool:
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def _permitted() -> bool:
    if os.geteuid() != 0 or not all(map(shutil.which, _PROGRAMS)):
        return False
    probe = f"lg-probe-{os.getpid()}"
    made = _run("ip", "netns", "add", probe) and _run("unshare", "--uts", "true")
    _run("ip", "netns", "del", probe)
    return made


@contextlib.contextmanager
def two_hosts(url: str) -> Iterator[tuple[Host, Host]]:
    """Two hosts that reach the store at *url*, which the tests' server has."""
    port = int(postgres.server().port)
    permitted = _permitted()
    with contextlib.ExitStack() as stack:
        hosts = []
        for n, name in enumerate(("builds", "desk")):
            if permitted:
                prefix, address = stack.enter_context(_namespace(name, n))
            else:
                name, prefix, address = os.uname().nodename, [], f"127.0.0.{n + 2}"
            wire = stack.enter_context(Wire(port, address))
            place = url.replace(f"127.0.0.1:{port}", f"{address}:{wire.port}")
            hosts.append(Host(name, prefix, place))
        yield hosts[0], hosts[1]


@contextlib.contextmanager
def _namespace(name: str, n: int) -> Iterator[tuple[list[str], str]]:
    """What goes before a program on a new host called *name*, and the address of this one as it is seen there."""
    space = f"lg{os.getpid()}{name}"
    near, far = f"lg{os.getpid() % 100_000}a{n}", f"lg{os.getpid() % 100_000}b{n}"
    net = f"10.{os.getpid() % 200 + 20}.{os.getpid() // 200 % 250}"
    here, there = f"{net}.{n * 4 + 1}", f"{net}.{n * 4 + 2}"
    inside = ("ip", "-n", space)
    steps = (
        ("ip", "netns", "add", space),
        ("ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", space),
        ("ip", "address", "add", f"{here}/30", "dev", near),
        ("ip", "link", "set", near, "up"),
        (*inside, "address", "add", f"{there}/30", "dev", far),
        (*inside, "link", "set", far, "up"),
        (*inside, "link", "set", "lo", "up"),
    )
    try:
        for step in steps:
            subprocess.run(step, check=True, capture_output=True)
        named = f'hostname {name} && exec "$@"'
        yield ["ip", "netns", "exec", space, "unshare", "--uts", "sh", "-c", named, "sh"], here
    finally:
        _run("ip", "netns", "del", space)
        _run("ip", "link", "del", near)
