"""Where the store lies: room on the disk, locks that hold, and the key beside it."""

from __future__ import annotations

import contextlib
import os
import resource
import shlex
import shutil
import sqlite3
from pathlib import Path

from loopguard_console.doctor.finding import NOTE, OK, WRONG, Finding
from loopguard_console.doctor.sessions import AREA, failure
from loopguard_console.doctor.store import in_reach, ours
from loopguard_console.render import size
from loopguard_core.store.contract import StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import key_file, machine_key
from loopguard_core.urls import is_url

#: Less free space than this is said, in bytes.
LITTLE_ROOM = 100_000_000
#: File systems on which SQLite's locks do not hold between machines.
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs"})
_MOUNTS = Path("/proc/self/mounts")


def examine(place: str) -> list[Finding]:
    """What is to be said of the disk and the key of the store at *place*, where there is one."""
    path = Path(place)
    if is_url(place):
        return _key(place)
    if not in_reach(path) or not ours(path):
        return []
    return [*_room(path), *_limit(path), *_network(path), *_names(path), *_key(place)]


def _room(path: Path) -> list[Finding]:
    free = shutil.disk_usage(path.parent).free
    if free >= LITTLE_ROOM:
        return [Finding(AREA, OK, f"{size(free)}B are free on its disk")]
    mend = "make room (some megabytes), then loopguard-console prune lets old sessions go"
    return [Finding(AREA, WRONG, f"only {size(free)}B are free where {path} is", mend)]


def _limit(path: Path) -> list[Finding]:
    """How large a file may become: a full disk for the store alone."""
    most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if most == resource.RLIM_INFINITY:
        return []
    files = [path, path.with_name(f"{path.name}-wal")]
    largest = max(file.stat().st_size for file in files if file.exists())
    if most - largest >= LITTLE_ROOM:
        return []
    what = f"no file may be larger than {size(most)}B here (ulimit -f), and the store has {size(largest)}B"
    mend = "ulimit -f unlimited, where agents are started too; or loopguard-console prune"
    return [Finding(AREA, WRONG, what, mend)]


def _names(path: Path) -> list[Finding]:
    """SQLite's log stands beside the name that it was opened by: under two names there would be two logs."""
    names = path.stat().st_nlink
    if names < 2:
        return []
    what = f"{path} has {names} names (hard links): who opens it by another one loses events"
    return [Finding(AREA, WRONG, what, f"keep one: find . -samefile {shlex.quote(str(path))}")]


def _network(path: Path) -> list[Finding]:
    kind = file_system(path.parent)
    if kind not in _NETWORK:
        return []
    what = f"{path.parent} is on a network file system ({kind}), where SQLite's locks do not hold"
    mend = "put the store on a local disk: LOOPGUARD_STORE, or store in loopguard.toml"
    return [Finding(AREA, WRONG, what, mend)]


def file_system(folder: Path, mounts: Path = _MOUNTS) -> str:
    """The kind of file system that *folder* is on, as proc(5) tells; empty where it does not."""
    try:
        lines = [line.split() for line in mounts.read_text("utf-8", "replace").splitlines()]
    except OSError:
        return ""
    real = f"{folder.resolve()}/"
    over = [f for f in lines if len(f) > 2 and real.startswith(f[1].rstrip("/") + "/")]
    return max(over, key=lambda f: len(f[1]))[2] if over else ""


def _key(place: str) -> list[Finding]:
    try:
        if machine_key(place, create=False):
            return [Finding(AREA, OK, "the machine's key is there")]
    except StoreError as error:
        return [failure(error)]
    return [_missing(place)]


def _missing(place: str) -> Finding:
    """No key is there: as it should be before the first event of this machine, and a loss behind it."""
    path = key_file(place)
    if not (_recorded_on_server(place) if is_url(place) else _recorded(place)):
        what = f"there is no machine's key yet at {path}; the first agent makes it"
        return Finding(AREA, NOTE, what)
    what = (
        f"the machine's key {path} is missing: digests that were made with it match no new ones, "
        "so what repeats is counted afresh"
    )
    mend = "put the key back from where you keep a copy; loopguard-console doctor --mend makes a new one"
    return Finding(AREA, WRONG, what, mend)


def _recorded(place: str) -> bool:
    """Whether the store in the file *place* has a session."""
    try:
        with contextlib.closing(sqlite3.connect(place, timeout=2)) as db:
            return db.execute("SELECT 1 FROM session").fetchone() is not None
    except sqlite3.Error:
        return False  # what is wrong with it is said elsewhere


def _recorded_on_server(place: str) -> bool:
    """Whether the store at the URL *place* has a session of this machine."""
    try:
        with contextlib.closing(open_store(place, create=False, read_only=True)) as store:
            return any(s.host == os.uname().nodename for s in store.sessions())
    except StoreError:
        return False  # what is wrong with it is said elsewhere
