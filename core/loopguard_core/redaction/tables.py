r"""Secrets in a column: a line of names, one of which is that of a secret, and below it line by line what they hold.

Lines of commas, semicolons, tabs or bars. In JSON the end of a line is spelled ``\n``, a tab ``\t``, a quote ``\"``.
"""

from __future__ import annotations

from loopguard_core.patterns import MIXED, QUOTE, compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Generator, Iterator

    Span = tuple[int, int]

__all__ = ["cells", "is_head"]

#: Characters before and behind a name in which its line ends, and of the table that is looked through.
_LINE = 300
_TABLE = 20_000
_BEGIN = r"\\+n|(?<!\\)\"|:\s?\\+\""
_END = r"(?:\\+r)?\\+n|(?<!\\)\"|\\+\"(?=\s?[}\]])"
#: What stands between two cells.
_BAR = r"\|"
_BETWEEN = (",", ";", _BAR, r"\\+t")
_AFTER = r"(?:\\+\")?(?:(?P<sign>[,;])|[ ]*(?P<bar>\|)|\\+(?P<tab>t)|[ ]*(?:\\+r)?(?P<last>\\+n))"
_NAME = r"(?:\\+\")?[A-Za-z_][\w.-]{0,40}(?:\\+\")?"
#: A line between the names and what they hold, as a terminal or Markdown has it.
_RULE = r"[-+|: ]{3,}"
_CELL = rf"""(?:{QUOTE}(?P<quoted>(?:[^"\\]|\\+[^"\\nrt])*){QUOTE}|(?P<bare>[^"\\,;|]*))"""
_NOTHING = (
    r"(?i)(?:|-+|\*+|x+|•+|none|null|nil|nan|n/a|true|false|yes|no|string|str|text|varchar.*|char.*|int|integer"
    r"|number|bool|boolean|required|optional|required?|password|passwd|token|secret|\[redacted.*|<.*|\{.*|\$.*)$"
)


def is_head(text: str, end: int) -> bool:
    """True where the name that goes on to *end* may be one of a line of names."""
    return compiled(_AFTER).match(text, end) is not None


def cells(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """What stands below *names*, where they are the heads of columns."""
    first = last = 0  # what was walked through as a table
    for name in names:
        at, sure = name.end(), name.group().startswith(("w", "pass"))
        begin, end = _line(text, at)
        if end is None or first <= begin < last:
            continue
        for between in _BETWEEN:
            heads = compiled(between).split(text[begin : end.start()])
            bars = between == _BAR
            if len(heads) > 1 and all(
                _is_name(n, bars=bars) for n in heads if n.strip() or not bars
            ):
                column = len(compiled(between).split(text[begin:at])) - 1
                first = end.end()
                last = yield from _below(
                    text, first, between, len(heads), column, sure and not bars
                )
                break


def _line(text: str, at: int) -> tuple[int, re.Match[str] | None]:
    """Where the line begins in which the place *at* is, and what ends it; None where no line follows."""
    near = max(0, at - _LINE)
    begin = near
    for match in compiled(_BEGIN).finditer(text[near:at]):
        begin = near + match.end()
    end = compiled(_END).search(text, at, at + _LINE)
    return begin, None if end is None or end.group().endswith('"') else end


def _is_name(cell: str, *, bars: bool) -> bool:
    return compiled(_NAME).fullmatch(cell.strip() if bars else cell) is not None


def _below(
    text: str, start: int, between: str, columns: int, column: int, sure: bool
) -> Generator[Span, None, int]:
    """What stands in the *column* of the lines from *start* on; gives where these end."""
    last = start + _TABLE
    while start < last:
        over = compiled(_END).search(text, start, last)
        if over is None:
            return start
        if compiled(_RULE).fullmatch(text, start, over.start()) is None:
            found = _cell(text, start, over.start(), between, columns, column)
            if found is None:
                return start
            if _is_secret(text[slice(*found)], sure):
                yield found
        if over.group().endswith('"'):
            return start
        start = over.end()
    return start


def _cell(text: str, start: int, end: int, between: str, columns: int, column: int) -> Span | None:
    """Where the cell stands in the line from *start* to *end*; None where that has not as many."""
    piece, found, at = compiled(_CELL), None, 0
    while True:
        here = piece.match(text, start, end)
        if here is None:
            return None
        if at == column:
            found = here.span("bare" if here["quoted"] is None else "quoted")
        at += 1
        sign = compiled(between).match(text, here.end(), end)
        if sign is None:
            break
        start = sign.end()
    if found is None or at != columns or here.end() != end:
        return None
    cell = text[slice(*found)]
    left = len(cell) - len(cell.lstrip())
    return found[0] + left, found[0] + left + len(cell.strip())


def _is_secret(cell: str, sure: bool) -> bool:
    if len(cell) < 3 or " " in cell or compiled(_NOTHING).match(cell):
        return False
    return sure or compiled(MIXED).fullmatch(cell) is not None
