"""Regular expressions that are compiled when they are first used.

Compiling one costs a process that judges a single call more than importing a module, and it uses few of
them. Afterwards it is as fast as a compiled one.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False

_METHODS = ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")

if TYPE_CHECKING:

    def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
        """A regular expression as ``re.compile`` gives it, later."""
        raise NotImplementedError

else:

    class lazy:
        """A regular expression as ``re.compile`` gives it, later."""

        __slots__ = ("_flags", "_text", *_METHODS)

        def __init__(self, pattern, flags=0):
            self._text = pattern
            self._flags = flags

        def __getattr__(self, name):
            compiled = re.compile(self._text, self._flags)
            for method in _METHODS:
                setattr(self, method, getattr(compiled, method))
            return getattr(compiled, name)
