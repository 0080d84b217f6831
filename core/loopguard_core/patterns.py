"""Regular expressions that are compiled when they are first used.

Compiling one costs a process that judges a single call more than importing a module, and it uses few of
them; where it uses none, the module ``re`` is not even loaded. Afterwards they are as fast as compiled ones.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

__all__ = ["DOTALL", "IGNORECASE", "MULTILINE", "compiled", "escape", "lazy"]

#: Flags, as ``re`` has them.
IGNORECASE, MULTILINE, DOTALL = 2, 8, 16

_METHODS = ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")
_made: dict[tuple[str, int], re.Pattern[str]] = {}


def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """What ``re.compile`` gives, made once. Raises ``re.error``."""
    made = _made.get((pattern, flags))
    if made is None:
        import re

        made = _made[pattern, flags] = re.compile(pattern, flags)
    return made


def escape(text: str) -> str:
    """What ``re.escape`` gives."""
    import re

    return re.escape(text)


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
            made = compiled(self._text, self._flags)
            for method in _METHODS:
                setattr(self, method, getattr(made, method))
            return getattr(made, name)
