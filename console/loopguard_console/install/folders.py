"""The folders that installing made: uninstalling takes them away again, once nothing is in them.

Their names are kept in a file of the state directory, which goes with the last of them. Where it cannot be
written, a folder stays.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from loopguard_core import files
from loopguard_core.config import state_folder


def make(folder: Path) -> None:
    """Have *folder*, and remember which folders were not there. Raises ``OSError``."""
    made = _missing(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if made:
        place = _place()
        _keep([*_kept(), *made, *_missing(place.parent)])


def remove(folder: Path) -> None:
    """Take *folder* and those around it away that were made here, and that nobody else put anything into."""
    kept = _kept()
    if _taken(folder, kept):
        _keep(kept)


def _taken(folder: Path, kept: list[str]) -> bool:
    """Remove what is empty from *folder* upwards as far as it is among *kept*; whether anything was."""
    before = len(kept)
    for each in (folder, *folder.parents):
        if str(each) not in kept:
            break
        try:
            each.rmdir()
        except OSError:
            break
        kept.remove(str(each))
    return len(kept) < before


def _missing(folder: Path) -> list[str]:
    return [str(each) for each in (folder, *folder.parents) if not each.exists()]


def _place() -> Path:
    return Path(state_folder(), "folders.json")


def _kept() -> list[str]:
    with contextlib.suppress(OSError, ValueError, RecursionError):
        found = json.loads(files.read(str(_place())))
        if isinstance(found, list):
            return [name for name in found if isinstance(name, str)]
    return []


def _keep(kept: list[str]) -> None:
    """Keep what is left; where that is only the folder in which it is kept, that goes as well."""
    place = _place()
    around = {str(place.parent), *map(str, place.parent.parents)}
    if set(kept) - around:
        files.keep(str(place), json.dumps(list(dict.fromkeys(kept))).encode())
        return
    with contextlib.suppress(OSError):
        place.unlink(missing_ok=True)
        _taken(place.parent, kept)
