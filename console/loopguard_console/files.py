"""Writing a file for a person: all of it or nothing, for this user alone, never over another by accident."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from loopguard_console.errors import Failure, Refused


def write_new(path: Path, pieces: Iterable[str], *, force: bool = False) -> int:
    """Write *pieces* to *path*; how many. Raises ``Refused`` where it is there, ``Failure`` where it fails."""
    if path.is_dir():
        raise Refused(f"{path}: a folder, not a file")
    if path.exists() and not force:
        raise Refused(f"{path}: is there already; --force replaces it")
    made = path.with_name(f"{path.name}.{os.getpid()}")
    count = 0
    try:
        handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            for piece in pieces:
                file.write(piece)
                count += 1
        made.replace(path)
    except OSError as error:
        raise Failure(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        made.unlink(missing_ok=True)
    return count
