"""Writing a file for a person: all of it or nothing, never over another by accident."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from loopguard_console.errors import Failure, Refused
from loopguard_core import files


def why(error: OSError) -> str:
    """Why a file cannot be written, in words."""
    if error.errno == errno.EFBIG:
        return (
            "no file of this process may be that large (ulimit -f); raise that limit and try again"
        )
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return "its folder is not there; make it, or name another one"
    return error.strerror or str(error)


def write_new(path: Path, pieces: Iterable[str], *, force: bool = False) -> int:
    """Write *pieces* to *path*, for this user alone; how many. Raises ``Refused`` where it is there, ``Failure`` where it fails."""
    if path.is_dir():
        raise Refused(f"{path}: a folder, not a file")
    there = f"{path}: is there already; --force replaces it"
    if not force and os.path.lexists(path):
        raise Refused(there)
    count = 0

    def counted() -> Iterator[bytes]:
        nonlocal count
        for piece in pieces:
            yield piece.encode()
            count += 1

    try:
        if force:
            files.replace(str(path), counted(), synced=True)
        else:
            files.create(str(path), counted())
    except FileExistsError:
        raise Refused(there) from None
    except OSError as error:
        raise Failure(f"{path}: cannot be written: {why(error)}") from None
    return count


def rewrite(path: Path, content: bytes) -> None:
    """Have *content* stand in a file that is a person's own, in one step. Raises ``OSError``.

    A link stays a link, and the mode stays; a new file is 0600.
    """
    real = Path(os.path.realpath(path))
    try:
        mode = real.stat().st_mode & 0o777
    except FileNotFoundError:
        mode = 0o600
    files.replace(str(real), content, mode=mode, synced=True)
