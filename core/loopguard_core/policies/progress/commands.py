"""What a call says of itself: how long it waits, which lines it reads, whether it looks something up."""

from __future__ import annotations

from loopguard_core.patterns import IGNORECASE, lazy
from loopguard_core.policies.progress.arguments import path, spellings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SLEEP = lazy(
    r"(?:^|[;&|\n(]|\bdo\b|\bthen\b)\s*(?:timeout\s+\S+\s+)?sleep\s+(\d+(?:\.\d+)?)([smhd]?)\b",
    IGNORECASE,
)
_ONLY_SLEEP = lazy(r"\s*sleep\s+\d+(?:\.\d+)?[smhd]?\s*;?\s*", IGNORECASE)
_SLEPT_FIELDS = (
    "seconds",
    "duration",
    "secs",
    "duration_seconds",
    "time",
    "wait",
    "delay",
    "timeout_ms",
    "ms",
    "milliseconds",
    "duration_ms",
)

#: Arguments that may hold a shell command.
NAMES = ("command", "cmd", "script")
_LOOKS = frozenset(
    (
        "grep",
        "rg",
        "egrep",
        "fgrep",
        "ag",
        "ack",
        "find",
        "fd",
        "locate",
        "which",
        "ls",
        "git-grep",
        "pgrep",
        "jq",
        "awk",
    )
)
_CD = lazy(r"^\s*(?:cd\s+\S+\s*(?:&&|;)\s*)+")
_RANGE = lazy(r"^sed\s+-n\s+['\"]?(\d+)(?:,(\d+))?p['\"]?\s+(\S+)$")
_HEAD = lazy(r"^head\s+(?:-n\s*|-|--lines=)(\d+)\s+(\S+)$")
_CAT = lazy(r"^cat\s+(?:-n\s+)?([^\s|<>&;*-][^\s|<>&;*]*)$")
_NL = lazy(r"^(?:nl\s+-ba|cat\s+-n|cat)\s+(\S+)\s*\|\s*sed\s+-n\s+['\"]?(\d+),(\d+)p['\"]?$")

_STARTS = (
    "offset",
    "start_line",
    "line_start",
    "startline",
    "start",
    "from_line",
    "from",
    "start_line_one_indexed",
    "begin",
    "first_line",
)
_ENDS = (
    "end_line",
    "line_end",
    "endline",
    "end",
    "to_line",
    "to",
    "end_line_one_indexed_inclusive",
    "last_line",
)
_LENGTHS = ("limit", "line_count", "max_lines", "num_lines", "length", "lines", "count")
_PAIRS = spellings(("view_range", "range", "line_range", "lines"))
#: The name of a field -> whether it is a start, an end or a length, and its rank among those.
_PLACES = {
    name: (kind, rank)
    for kind, names in enumerate((_STARTS, _ENDS, _LENGTHS))
    for rank, name in enumerate(spellings(names))
}
RANGE_FIELDS = frozenset((*_PLACES, *_PAIRS))
_FAR = 10**12


def command_of(args: dict[Any, Any]) -> str:
    """The shell command among the arguments, or the empty string."""
    for name in NAMES:
        value = args.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and isinstance(value[-1], str):
            return (
                value[-1]
                if len(value) > 2 and str(value[1]).startswith("-")
                else " ".join(map(str, value))
            )
    return ""


def slept(command: str, args: dict[Any, Any], sleeper: bool) -> tuple[float, bool]:
    """Seconds that the call itself waits, and whether it does nothing else."""
    if "sleep" in command and len(command) < 4000:
        total = sum(float(n) * _UNITS[unit.lower()] for n, unit in _SLEEP.findall(command))
        return total, _ONLY_SLEEP.fullmatch(command) is not None
    if not sleeper:
        return 0.0, False
    for name in _SLEPT_FIELDS:
        value = args.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < _FAR:
            return (value / 1000 if name.endswith(("ms", "milliseconds")) else float(value)), True
    return 1.0, True


def _beyond_cd(command: str) -> str:
    """*command* without the changes of folder before it."""
    return _CD.sub("", command) if "cd" in command else command


def looks_up(command: str) -> bool:
    """True where the last command of a pipeline's head searches or lists, so that nothing means nothing found."""
    words = _beyond_cd(command[:400]).split(None, 2)
    if not words:
        return False
    if words[0] == "git" and len(words) > 1:
        return words[1] in ("grep", "log", "ls-files", "branch", "diff", "status")
    return words[0].rpartition("/")[2] in _LOOKS and ">" not in command


def file_lines(command: str) -> tuple[str, int, int | None] | None:
    """The file and the lines ``[first, last)`` that a simple shell command prints, else None."""
    if len(command) > 400:
        return None
    text = _beyond_cd(command).strip()
    if not text.startswith(("sed", "head", "cat", "nl")):
        return None
    found = _RANGE.match(text)
    if found:
        first = int(found[1])
        return path(found[3].strip("'\"")), first - 1, int(found[2] or first)
    found = _NL.match(text)
    if found:
        return path(found[1].strip("'\"")), int(found[2]) - 1, int(found[3])
    found = _HEAD.match(text)
    if found:
        return path(found[2].strip("'\"")), 0, int(found[1])
    found = _CAT.match(text)
    if found:
        return path(found[1].strip("'\"")), 0, None
    return None


def field_lines(args: dict[Any, Any]) -> tuple[int, int | None] | None:
    """The range ``[first, last)`` that range fields name, None where they name none or make no sense."""
    for name in _PAIRS:
        if name not in args:
            continue
        value = args[name]
        if isinstance(value, str) and value.count("-") == 1:
            value = value.split("-")
        if isinstance(value, (list, tuple)) and len(value) == 2:
            first, last = _whole(value[0]), _whole(value[1])
            if first is None or last is None:
                return None
            return max(first - 1, 0), None if last < 0 else last
    found: list[int | None] = [None, None, None]
    ranks = [_FAR, _FAR, _FAR]
    for name in args:
        place = _PLACES.get(name)
        if place is None or place[1] >= ranks[place[0]]:
            continue
        number = _whole(args[name])
        if number is not None:
            kind, ranks[kind] = place
            found[kind] = number
    start, end, length = found
    if start is None and end is None and length is None:
        return None
    first = start or 0
    if first < 0:
        return None
    if end is not None:
        return (first, end + 1) if end >= first else None
    if length is not None:
        return (first, first + length) if length > 0 else None
    return first, None


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 12:
        value = int(value)
    return value if isinstance(value, int) and -_FAR < value < _FAR else None
