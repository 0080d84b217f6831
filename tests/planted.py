"""Things that stand where a file is expected: what somebody who may write to a folder can put there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

KINDS = ("pipe", "link", "device", "folder")
KEPT = b"somebody else's"


def plant(path: Path, kind: str) -> Path:
    """Put a thing of *kind* to *path*, in place of what is there; where a link leads to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    elsewhere = path.with_name(f"{path.name}.elsewhere")
    elsewhere.write_bytes(KEPT)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(elsewhere if kind == "link" else "/dev/zero")
    return elsewhere
