"""Changing a file that belongs to somebody else: planned first, with a backup, in one step, reversible."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path

from loopguard_console.errors import Failure, Refused
from loopguard_console.files import rewrite, why
from loopguard_console.install import folders


@dataclass(frozen=True)
class Change:
    """A file as it is and as it will be; None where it is not there."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def needed(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """The change as a unified diff."""
        old, new = (_lines(side) for side in (self.before, self.after))
        here = str(self.path)
        source = here if self.before is not None else "/dev/null"
        target = here if self.after is not None else "/dev/null"
        return "\n".join(difflib.unified_diff(old, new, source, target, lineterm=""))


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines()


def backup_of(path: Path) -> Path:
    """Where the file stands as it was before us."""
    return path.with_name(f"{path.name}.before-loopguard")


def read(path: Path) -> bytes | None:
    """The bytes of *path*, None where it is not there. Raises ``Refused`` where it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from None


def carry_out(change: Change) -> None:
    """Write the file, or remove it, in one step. A link stays a link; the mode stays. So do folders that were there.

    Raises ``Failure`` where the file changed since it was planned, or cannot be written.
    """
    path = Path(os.path.realpath(change.path))
    if read(path) != change.before:
        raise Failure(f"{path} changed meanwhile: nothing was written; try again")
    try:
        if change.after is None:
            path.unlink(missing_ok=True)
            folders.remove(path.parent)
            return
        folders.make(path.parent)
        rewrite(path, change.after)
    except OSError as error:
        raise Failure(f"{path} cannot be written: {why(error)}") from None
