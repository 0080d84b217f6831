"""The person's own editor on a piece of text."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path


class EditorError(Exception):
    """The editor did not do its work: why."""


def edit(text: str, ending: str = ".json") -> str:
    """*text* after ``$VISUAL`` or ``$EDITOR`` (``vi`` without both). To be called with the screen put aside.

    The file is the user's own and gone afterwards. Raises ``EditorError``.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="loopguard-") as folder:
        path = Path(folder, f"arguments{ending}")
        path.write_text(text, "utf-8", "backslashreplace")
        try:
            argv = [*shlex.split(command), str(path)]
            code = subprocess.run(argv, check=False).returncode
            edited = path.read_text("utf-8")
        except (OSError, ValueError) as error:
            raise EditorError(f"{command}: {error}") from None
    if code:
        raise EditorError(f"{command} ended with {code}; nothing was taken over")
    return edited
