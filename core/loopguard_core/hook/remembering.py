"""What the hooks of a session remember of its secrets: how long each is and its keyed digest, as a marker has it.

A process that lives for one call knows a secret by its name or its form alone. With these it finds one that stands
bare in a later call. Nobody can tell a secret from them: the key is the machine's and stands elsewhere.
"""

from __future__ import annotations

import os

from loopguard_core import files
from loopguard_core.checkpoint import clear
from loopguard_core.config import REMEMBERED as FOLDER
from loopguard_core.config import state_folder
from loopguard_core.hashing import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from loopguard_core.redaction.redact import Redactor

#: Bytes of a file of them, at most.
_LONGEST = 4_000


def recall(session: str, environ: Mapping[str, str], redactor: Redactor) -> None:
    """Have *redactor* know what earlier hooks of *session* met. Best effort: nothing is raised."""
    try:
        lines = files.read(_path(session, environ), _LONGEST).decode("ascii").split()
        redactor.recall(
            (int(size), digest) for size, _, digest in (x.partition(":") for x in lines)
        )
    except (OSError, ValueError):
        pass  # there is none, or somebody else's


def keep(session: str, environ: Mapping[str, str], redactor: Redactor) -> None:
    """Let the next hook know what *redactor* met. Best effort: nothing is raised."""
    met = " ".join(f"{size}:{digest}" for size, digest in redactor.met())
    path = _path(session, environ)
    try:
        if files.read(path, _LONGEST).decode("ascii") == met:
            return
    except (OSError, ValueError):
        pass  # it is made now
    files.keep(path, met.encode())
    clear(os.path.dirname(path))


def drop(session: str, environ: Mapping[str, str]) -> None:
    """The session is over."""
    try:
        os.unlink(_path(session, environ))
    except OSError:
        pass  # it met none


def _path(session: str, environ: Mapping[str, str]) -> str:
    name = blake2b(session.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return os.path.join(state_folder(environ), FOLDER, f"{name}.state")
