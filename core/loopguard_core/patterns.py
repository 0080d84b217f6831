"""Regular expressions that are compiled when they are first used.

Compiling one costs a process that judges a single call more than importing a module, and it uses few of
them. Such a process finds them where others kept them (``keeper``), so that it does not even load ``re``.
Afterwards they are as fast as any.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Protocol

    class Keeper(Protocol):
        """Where a process that lives for one call finds compiled patterns, and keeps those that it had to make."""

        def find(self, pattern: str, flags: int) -> re.Pattern[str] | None:
            """The compiled *pattern* where it is kept."""

        def keep(self, made: re.Pattern[str], flags: int) -> None:
            """Keep what ``re.compile`` *made* with *flags*."""


__all__ = [
    "DOTALL",
    "IGNORECASE",
    "MIXED",
    "MULTILINE",
    "QUOTE",
    "TEXT",
    "compiled",
    "escape",
    "keeper",
    "lazy",
]

#: Flags, as ``re`` has them.
IGNORECASE, MULTILINE, DOTALL = 2, 8, 16

# -- pieces of patterns for what stands in JSON

# A quote inside a string of JSON. One that stands bare ends the string.
QUOTE = r"""(?:\\*'|\\(?:\\\\)*")"""
# A piece of a text in quotes *q*. In JSON inside JSON a quote stands behind backslashes *b*; one that does not end
# the text stands behind twice as many and one more.
TEXT = r"""(?:(?P=b)(?P=b)\\["\\]|(?!(?P=q))(?:[^"\\]|\\.))"""
# A word that nobody would write for a reader: of eight characters and more, letters and digits.
MIXED = (
    r"(?=[^0-9\s\"'\\]*[0-9])(?=[^A-Za-z\s\"'\\]*[A-Za-z][^A-Za-z\s\"'\\]*[A-Za-z])"
    r"[A-Za-z0-9+/=_.~!@#$%^&*-]{8,}+"
)

_METHODS = ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")
_made: dict[tuple[str, int], re.Pattern[str]] = {}
keeper: Keeper | None = None


def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """What ``re.compile`` gives, made once. Raises ``ValueError`` for what is no regular expression."""
    made = _made.get((pattern, flags))
    if made is None:
        made = None if keeper is None else keeper.find(pattern, flags)
        if made is None:
            made = _compiled(pattern, flags)
        _made[pattern, flags] = made
    return made


def _compiled(pattern: str, flags: int) -> re.Pattern[str]:
    import re

    try:
        made = re.compile(pattern, flags)
    except re.error as error:
        raise ValueError(str(error)) from None
    if keeper is not None:
        keeper.keep(made, flags)
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
