"""Where the store lies: room on the disk, locks that hold, and the key beside it."""

from __future__ import annotations

import os
import resource
import shutil
from pathlib import Path

from loopguard_console.doctor.finding import NOTE, OK, WRONG, Finding
from loopguard_console.render import size
from loopguard_core import files
from loopguard_core.store.paths import KEY_BYTES, key_file
from loopguard_core.urls import is_url

AREA = "store"
#: Less free space than this is said, in bytes.
LITTLE_ROOM = 100_000_000
#: File systems on which SQLite's locks do not hold between machines.
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs"})
_MOUNTS = Path("/proc/self/mounts")


def examine(place: str) -> list[Finding]:
    """What is to be said of the disk and the key of the store at *place*, where there is one."""
    path = Path(place)
    if is_url(place):
        return _key(Path(key_file(place)))
    if not path.exists():
        return []
    return [*_room(path), *_limit(path), *_network(path), *_key(Path(key_file(place)))]


def _room(path: Path) -> list[Finding]:
    free = shutil.disk_usage(path.parent).free
    if free >= LITTLE_ROOM:
        return [Finding(AREA, OK, f"{size(free)}B are free on its disk")]
    mend = "make room, or loopguard-console prune"
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


def _key(path: Path) -> list[Finding]:
    if not path.exists():
        what = f"the machine's key {path} is missing"
        mend = "the next agent makes a new one; digests of before will not compare equal"
        return [Finding(AREA, NOTE, what, mend)]
    if files.odd(str(path)):
        return []  # whoever reads the settings says so
    if path.stat().st_size < KEY_BYTES or not os.access(path, os.R_OK):
        what = f"the machine's key {path} cannot be used"
        mend = f"rm {path}: a new one is made, and digests of before will not compare equal"
        return [Finding(AREA, WRONG, what, mend)]
    return [Finding(AREA, OK, "the machine's key is there")]
