"""What several formats need: arguments in a string, exit codes in a text, the host's bookkeeping."""

from __future__ import annotations

import json
import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_RESULT = re.compile(r"^(?:<returncode>|\[?Exit [Cc]ode:? |Process exited with code )(-?\d+)", re.M)


def arguments(raw: object) -> Any:
    """A call's arguments: JSON in a string is parsed, any other string stays as it is."""
    if not isinstance(raw, str):
        return raw
    try:
        return parser()(raw)
    except (ValueError, RecursionError):
        pass  # ``json`` may take it: NaN, a lone surrogate
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw


@cache
def parser() -> Callable[[bytes | str], Any]:
    """The quickest JSON parser that there is. It may refuse more than ``json`` does; then that is asked."""
    try:
        from msgspec.json import Decoder
    except ImportError:
        return json.loads
    return Decoder().decode


def parsed(text: object) -> Any:
    """The JSON value that *text* begins with, or None; what follows it is left alone."""
    if not isinstance(text, str) or not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.JSONDecoder().raw_decode(text.lstrip())[0]
    except (ValueError, RecursionError):
        return None


def exit_code(text: str) -> int | None:
    """The first exit code that a line of *text* states, or None."""
    found = _RESULT.search(text)
    return int(found[1]) if found else None


def whole(value: object) -> int | None:
    """*value* as a whole number, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.lstrip("-").isdigit():
        return int(value)
    return None


def host_spans(text: object, pattern: re.Pattern[str]) -> list[list[int]]:
    """Where *pattern* matches in *text*: what the host added and what differs without meaning.

    Goes to ``host_spans`` of a ``call_end``; a group in the pattern narrows the match down to itself.
    """
    if not isinstance(text, str):
        return []
    return [list(m.span(m.lastindex or 0)) for m in pattern.finditer(text)]


def foreign(
    tier: str, reason: str, source: str, *, detector: str = "", count: int = 0
) -> dict[str, Any]:
    """Another guard's verdict as it stands on an event."""
    verdict: dict[str, Any] = {"tier": tier, "policy": source, "source": source}
    if detector:
        verdict["detector"] = detector
    if count:
        verdict["count"] = count
    verdict["reason"] = reason.strip()[:2_000]
    return verdict
