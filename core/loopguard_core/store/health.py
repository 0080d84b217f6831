"""What is wrong with a store, and how to mend it. Looking changes nothing.

Every check gives findings; ``examine`` makes all of them. What can be mended at once has a ``fix``.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from functools import partial

from loopguard_core.processes import alive
from loopguard_core.store import link, schema
from loopguard_core.store.contract import StoreError
from loopguard_core.store.paths import KEY_BYTES, key_file, logs
from loopguard_core.store.sqlite import open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from loopguard_core.store.contract import Session, Store

#: A WAL above this is out of bounds: its writers checkpoint at half of it.
WAL_BOUND = 2 * link.WAL_PAGES * 4_096
#: Less free space than this is said, in bytes.
LITTLE_ROOM = 100_000_000
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs")


class Finding:
    """One thing that is wrong. ``name`` is one of the words below, the same in every version:

    ``missing``, ``permissions``, ``read-only``, ``damaged``, ``newer``, ``foreign``, ``locked``, ``key``,
    ``wal``, ``sqlite``, ``network``, ``disk``, ``dead-sessions``, ``orphaned-requests``. ``what``: what
    was found and where, one line. ``mend``: what to do, one line. ``fatal``: the store cannot be used so.
    ``fix`` mends it, where a program can; it may raise ``OSError`` or ``StoreError``.
    """

    __slots__ = ("fatal", "fix", "mend", "name", "what")

    def __init__(
        self,
        name: str,
        what: str,
        mend: str,
        *,
        fatal: bool = False,
        fix: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self.what = what
        self.mend = mend
        self.fatal = fatal
        self.fix = fix

    def __repr__(self) -> str:
        return f"Finding({self.name!r}, {self.what!r})"


def examine(place: str, *, host: str = "", deep: bool = False) -> list[Finding]:
    """Everything that is wrong with the store at *place*.

    *host*: this machine's name as sessions record it; without it, no process is looked for. *deep* also
    reads the whole file to see if it is whole, which takes a second for some hundred megabytes.
    """
    found = list(check_sqlite(sqlite3.sqlite_version_info))
    if not os.path.exists(place):
        what = f"there is no event store at {place}"
        mend = "nothing was recorded yet; it is made when an agent with the shim or the hook starts"
        return [*found, Finding("missing", what, mend)]
    found += check_files(place)
    found += check_room(place)
    found += check_wal(place)
    try:
        store = open_store(place, read_only=True)
    except StoreError as error:
        return [*found, _unusable(place, error)]
    try:
        if deep:
            found += check_whole(place)
        found += check_processes(store, host)
    except StoreError as error:
        found.append(_unusable(place, error))
    finally:
        store.close()
    return found


def check_sqlite(version: tuple[int, ...]) -> Iterator[Finding]:
    """The SQLite library itself: before 3.44.6, 3.50.7 and 3.51.3 a WAL may be reset under a reader."""
    mended = (
        version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45)
    )
    if not mended:
        words = ".".join(map(str, version[:3]))
        yield Finding(
            "sqlite",
            f"Python uses SQLite {words}, which can in rare cases damage a file when two processes "
            "write and checkpoint at the same instant",
            "use a Python with SQLite 3.44.6, 3.50.7, 3.51.3 or newer; export what matters meanwhile",
        )


def check_files(place: str) -> Iterator[Finding]:
    """Permissions: the directory 0700, the files 0600, all of them writable for this user."""
    directory = os.path.dirname(place)
    yield from _too_open(directory, 0o700)
    for path in (place, *logs(place), key_file(place)):
        if os.path.exists(path):
            yield from _too_open(path, 0o600)
    for path in (place, directory):
        if not os.access(path, os.W_OK):
            mend = f"give this user write permission: chmod u+w '{path}' (or chown it)"
            yield Finding("read-only", f"{path} cannot be written", mend, fatal=True)
    yield from _check_key(key_file(place))
    kind = _file_system(directory)
    if kind in _NETWORK:
        yield Finding(
            "network",
            f"{directory} is on a network file system ({kind}), where SQLite's locks do not hold",
            "put the store on a local disk: name it with LOOPGUARD_STORE or store in loopguard.toml",
        )


def _too_open(path: str, mode: int) -> Iterator[Finding]:
    now = stat.S_IMODE(os.stat(path).st_mode)
    if now & 0o077:
        what = f"{path} is open to other users ({now:04o} instead of {mode:04o})"
        mend = f"chmod {mode:o} '{path}'"
        yield Finding("permissions", what, mend, fix=partial(os.chmod, path, now & ~0o077))


def _check_key(path: str) -> Iterator[Finding]:
    try:
        size = os.stat(path).st_size
    except FileNotFoundError:
        what = f"the machine's key {path} is missing"
        mend = "a new one is made by the next agent; digests of before will not compare equal"
        yield Finding("key", what, mend)
        return
    if size < KEY_BYTES or not os.access(path, os.R_OK):
        what = f"the machine's key {path} cannot be used"
        mend = "remove it to have a new one made; digests of before will not compare equal"
        yield Finding("key", what, mend, fatal=True)


def _file_system(directory: str) -> str:
    """The kind of file system, where the system tells (/proc/self/mounts); else empty."""
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
            mounts = [line.split() for line in file]
    except OSError:
        return ""
    real = os.path.realpath(directory)
    inside = [m for m in mounts if len(m) > 2 and (real + "/").startswith(m[1].rstrip("/") + "/")]
    return max(inside, key=lambda m: len(m[1]))[2] if inside else ""


def check_room(place: str) -> Iterator[Finding]:
    """Free space on the disk."""
    free = shutil.disk_usage(os.path.dirname(place)).free
    if free < LITTLE_ROOM:
        what = f"only {free / 1e6:.0f} MB are free where {place} is"
        mend = "make room, or run loopguard-console prune"
        yield Finding("disk", what, mend, fatal=free < 1_000_000)


def check_wal(place: str) -> Iterator[Finding]:
    """The write-ahead log: writers and consoles keep it small, unless something holds it."""
    log = logs(place)[0]
    size = os.stat(log).st_size if os.path.exists(log) else 0
    if size > WAL_BOUND:
        yield Finding(
            "wal",
            f"the write-ahead log {log} has grown to {size / 1e6:.0f} MB",
            "a program holds an old snapshot of the store: see which (fuser, lsof) and end it; "
            "then it is written back",
            fix=partial(_write_back, place),
        )


def _write_back(place: str) -> None:
    store = open_store(place, create=False)
    store.tidy()
    store.close()


def check_whole(place: str) -> Iterator[Finding]:
    """The whole file, as SQLite checks it."""
    db = sqlite3.connect(place, timeout=1)
    try:
        said = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        said = str(error)
    finally:
        db.close()
    if said != "ok":
        what = f"{place} is damaged: {said.splitlines()[0]}"
        yield Finding("damaged", what, _AWAY, fatal=True)


_AWAY = "move it away (a new one is made), or restore it from a copy together with its -wal file"


def check_processes(store: Store, host: str) -> Iterator[Finding]:
    """Sessions whose process is gone without a word, and requests that nobody waits for any more."""
    if not host:
        return
    sessions = {s.session: s for s in store.sessions()}
    dead = [s.session for s in sessions.values() if not s.ended and _dead(s, host)]
    if dead:
        yield Finding(
            "dead-sessions",
            f"{_count(dead, 'session')} ended without a word: {_some(dead)}",
            "their processes are gone; they are shown as lost and go with loopguard-console prune",
        )
    orphaned = [
        r.request
        for r in store.requests(pending=True)
        if r.session not in sessions
        or sessions[r.session].ended
        or (r.host in ("", host) and r.pid and not alive(r.pid, r.pid_started))
    ]
    if orphaned:
        yield Finding(
            "orphaned-requests",
            f"nothing waits any more for {_count(orphaned, 'request')}: {_some(orphaned)}",
            "loopguard-console pending (or an open console) takes them out of the inbox",
        )


def _dead(session: Session, host: str) -> bool:
    return (
        bool(session.pid) and session.host == host and not alive(session.pid, session.pid_started)
    )


def _count(names: list[str], word: str) -> str:
    return f"{len(names)} {word}" if len(names) == 1 else f"{len(names)} {word}s"


def _some(names: list[str]) -> str:
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")


def _unusable(place: str, error: StoreError) -> Finding:
    """The finding for a store that does not open; the error says what and what to do."""
    what, _, mend = str(error).rpartition("; ")
    return Finding(_kind(place), what or mend, mend, fatal=True)


def _kind(place: str) -> str:
    """Why the store at *place* does not open, as a finding's name."""
    try:
        db = sqlite3.connect(place, timeout=0)
        try:
            version = schema.version_of(db)
            ours = db.execute("PRAGMA application_id").fetchone()[0] == schema.APPLICATION_ID
        finally:
            db.close()
    except sqlite3.OperationalError:
        return "locked"
    except sqlite3.Error:
        return "damaged"
    if not ours:
        return "foreign"
    return "newer" if version > schema.VERSION else "damaged"
