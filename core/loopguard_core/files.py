"""Files that stand under names which others know: nothing that was put there instead of one is waited for or followed.

Whoever runs as this person may write to the state directory, also a model with a shell. Opening a pipe or a device
may take for ever; a link would have another file read, or overwritten.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_KIND, _FILE = 0o170000, 0o100000
_KINDS = {0o010000: "a pipe", 0o120000: "a link", 0o040000: "a folder", 0o140000: "a socket"}


class NotAFile(OSError):
    """Something else stands where a file is expected; ``strerror`` says what."""

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(22, f"it is {kind}, not a file", path)


def odd(path: str, *, follow: bool = False) -> str:
    """What stands at *path* instead of a file: ``a pipe``, ``a link``…; empty for a file, and for nothing.

    *follow*: a link to a file is as good as one.
    """
    try:
        mode = os.stat(path, follow_symlinks=follow).st_mode & _KIND
    except OSError:
        return ""
    return "" if mode == _FILE else _KINDS.get(mode, "a device")


def odd_database(path: str) -> str:
    """What is wrong with the files of the SQLite database at *path*, in words; empty where nothing is.

    SQLite waits for ever for a pipe that stands beside a database under a name of its own.
    """
    kind, real = odd(path), path
    if kind == _KINDS[0o120000]:  # it keeps its files beside what a link leads to
        real = os.path.realpath(path)
        kind = odd(real)
    if kind:
        return f"{path} is {kind}, not a file; name another one, or remove it"
    for name in (f"{real}-journal", f"{real}-wal", f"{real}-shm"):
        kind = odd(name)
        if kind:
            return f"{name} is {kind}, not a file; remove it"
    return ""


def opened(path: str, flags: int = os.O_RDONLY, *, follow: bool = False) -> int:
    """A descriptor of the file at *path*, made 0600 where *flags* make one. Raises ``OSError``."""
    link = 0 if follow else os.O_NOFOLLOW
    try:
        file = os.open(path, flags | link | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError:
        kind = odd(path, follow=follow)
        if kind:
            raise NotAFile(path, kind) from None
        raise
    if os.fstat(file).st_mode & _KIND != _FILE:
        os.close(file)
        raise NotAFile(path, odd(path, follow=follow) or "something else")
    return file


def read(path: str, size: int = -1, *, follow: bool = False) -> bytes:
    """The file at *path*, of which at most *size* bytes. Raises ``OSError``."""
    with open(opened(path, follow=follow), "rb", buffering=0) as file:
        return file.read(size) or b""


def replace(
    path: str, content: bytes | Iterable[bytes], *, mode: int = 0o600, synced: bool = False
) -> None:
    """Have *content* (whole, or its pieces) stand at *path* in one step. Raises ``OSError``; whatever is raised, the file is as it was.

    *mode*: its permissions. *synced*: it is on the disk before it takes the place of what was there, so that a
    machine that fails leaves one or the other. What can be made again does not need that.
    """
    made = _beside(path)
    file = os.open(made, _NEW, 0o600)
    try:
        _fill(file, content, mode, synced)
        os.replace(made, path)
    except BaseException:
        _remove(made)
        raise


def create(path: str, content: Iterable[bytes], *, others: Iterable[str] = ()) -> str:
    """Have the pieces of *content* stand at *path* in one step, where nothing does, on the disk and 0600.

    Where something stands there, at the first of *others* (names beside it) where nothing does; where it stands now.
    Whoever else puts something there meanwhile keeps it. Raises ``FileExistsError``, ``OSError``.
    """
    made = _beside(path)
    file = os.open(made, _NEW, 0o600)
    try:
        _fill(file, content, 0o600, True)
        for name in (path, *others):
            try:
                _put(made, name)
            except FileExistsError:
                continue
            return name
        raise FileExistsError(17, "it is there already", path)
    finally:
        _remove(made)


def _put(made: str, path: str) -> None:
    """Give the file at *made* the name *path*, which nothing may have. Raises ``FileExistsError``, ``OSError``."""
    try:
        os.link(made, path)
    except FileExistsError:
        raise
    except OSError:  # a file system on which a file has one name
        os.close(os.open(path, _NEW, 0o600))
        os.replace(made, path)


def _beside(path: str) -> str:
    """A name beside *path* that nobody can guess."""
    return f"{path}.{os.urandom(4).hex()}"


def _fill(file: int, content: bytes | Iterable[bytes], mode: int, synced: bool) -> None:
    with open(file, "wb") as out:
        if mode != 0o600:
            os.fchmod(file, mode)
        out.writelines((content,) if isinstance(content, bytes) else content)
        if synced:
            out.flush()
            os.fsync(file)


def _remove(made: str) -> None:
    try:
        os.unlink(made)
    except OSError:
        pass  # it is not there, or why it could not be written says more


def keep(path: str, content: bytes) -> None:
    """The same for what can be made again: its folder is made, 0700, and nothing is raised."""
    try:
        folder = os.path.dirname(path)
        os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        replace(path, content)
    except OSError:
        pass  # it is made again
