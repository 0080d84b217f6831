"""Events that processes of a session could not write before they ended, counted until another gets at the store.

A hook has no memory, and who leaves takes theirs along. They leave a line in the person's state directory for each
event that is missing from the log, the first with the reason; who can write to the log again says there how many
that were.
"""

from __future__ import annotations

import os

from loopguard_core import files
from loopguard_core.checkpoint import clear
from loopguard_core.config import MISSING as FOLDER
from loopguard_core.config import state_folder
from loopguard_core.hashing import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

#: characters of a reason
_LONGEST = 500
#: Seconds after which nobody goes on with a session.
_STALE = 60 * 86_400.0
#: Seconds for which a person is told.
_NEWS = 7 * 86_400.0


def count(session: str, why: str, environ: Mapping[str, str], times: int = 1) -> None:
    """So many events more of *session* are missing, and *why*. Best effort: it was said as well."""
    path = _path(session, environ)
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        file = files.opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    except OSError:
        return
    clear(os.path.dirname(path), _STALE)
    with open(file, "ab", buffering=0) as out:
        reason = "" if os.fstat(file).st_size else " ".join(why.split())[:_LONGEST]
        try:
            out.write(f"{reason}{chr(10) * times}".encode("utf-8", "replace"))
        except OSError:
            pass  # the disk is full, likely


def claim(session: str, environ: Mapping[str, str]) -> tuple[int, str]:
    """How many events of *session* are missing, and why; they count no more, and for nobody else."""
    path = _path(session, environ)
    mine = f"{path}.{os.getpid()}"
    try:
        os.rename(path, mine)
    except OSError:
        return 0, ""
    content = b""
    try:
        content = files.read(mine)
        os.unlink(mine)
        os.rmdir(os.path.dirname(path))
    except OSError:
        pass  # other sessions miss some, too
    return content.count(b"\n"), content.partition(b"\n")[0].decode("utf-8", "replace")


def waiting(environ: Mapping[str, str]) -> tuple[int, int, str]:
    """How many events of the last week nobody has said in a log yet, of how many sessions, and why of the latest."""
    import time  # only where a person looks

    folder = os.path.join(state_folder(environ), FOLDER)
    found = []
    try:
        for entry in os.scandir(folder):
            written, content = entry.stat().st_mtime, files.read(entry.path)
            if time.time() - written < _NEWS:
                found.append((written, content.count(b"\n"), content.partition(b"\n")[0]))
    except OSError:
        pass  # there is none, or it has just been claimed
    why = max(found)[2].decode("utf-8", "replace") if found else ""
    return sum(count for _, count, _ in found), len(found), why


def _path(session: str, environ: Mapping[str, str]) -> str:
    name = blake2b(session.encode("utf-8", "replace"), digest_size=12).hexdigest()
    return os.path.join(state_folder(environ), FOLDER, name)
