"""Compiled regular expressions that one hook process leaves to the next.

Loading ``re`` and compiling the few that a call needs costs a hook process 3 to 4 of 30 ms. What
the compiler makes of a pattern is a list of numbers, which the interpreter looks through before it uses it. So
that list is kept as JSON in the state directory, under the digest of the pattern and of the interpreter. A file
that is missing, damaged or of another kind is made again.
"""

from __future__ import annotations

import os
import sys

from loopguard_core import files
from loopguard_core.checkpoint import clear
from loopguard_core.config import state_folder
from loopguard_core.events import dump, load
from loopguard_core.hashing import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

#: Seconds after which a pattern is made anew.
_STALE = 60 * 86_400.0


class KeptPatterns:
    """The patterns of one person, for ``patterns.compiled``."""

    __slots__ = ("_folder",)

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._folder = os.path.join(state_folder(environ), "patterns")

    def find(self, pattern: str, flags: int) -> re.Pattern[str] | None:
        """The compiled *pattern* where it is kept."""
        try:
            path = self._path(pattern, flags)
            digest, _, code = files.read(path).partition(b"\n")
            return _made(pattern, *load(code)) if digest == _digest(path, code) else None
        except Exception:  # noqa: BLE001 - not there, or of another kind
            return None

    def keep(self, made: re.Pattern[str], flags: int) -> None:
        """Keep what ``re.compile`` *made* with *flags*. Best effort: nothing is raised."""
        try:
            from re import _compiler, _parser  # type: ignore[attr-defined]

            parsed = _parser.parse(made.pattern, flags)
            code = _compiler._code(parsed, flags)
            parts = (made.flags, code, made.groups, dict(made.groupindex))
            if _made(made.pattern, *parts) != made:
                return
        except Exception:  # noqa: BLE001 - another compiler than is known here: whatever it raises
            return
        content = dump(parts).encode()
        path = self._path(made.pattern, flags)
        files.keep(path, _digest(path, content) + b"\n" + content)
        clear(self._folder, _STALE)

    def _path(self, pattern: str, flags: int) -> str:
        about = f"{sys.implementation.name}\0{sys.hexversion}\0{sys.byteorder}\0{flags}\0{pattern}"
        name = blake2b(about.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        return os.path.join(self._folder, f"{name}.state")


def _digest(path: str, content: bytes) -> bytes:
    """What tells a whole file from a damaged or another pattern's, which might find less than it should."""
    named = os.path.basename(path).encode() + content
    return blake2b(named, digest_size=12).hexdigest().encode()


def _made(
    pattern: str, flags: int, code: list[int], groups: int, names: dict[str, int]
) -> re.Pattern[str]:
    """The pattern with the compiler's *code*. Raises ``RuntimeError`` where that is none."""
    from _sre import compile  # type: ignore[import-not-found]

    by_number: list[str | None] = [None] * (groups + 1)
    for name, number in names.items():
        by_number[number] = name
    made: re.Pattern[str] = compile(pattern, flags, code, groups, names, tuple(by_number))
    return made
