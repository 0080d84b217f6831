"""What a transcript says of tokens and money, under the names of providers and hosts, in our own terms."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST = 1e15
_SENT, _ANSWERED, _READ, _WRITTEN, _THOUGHT, _TOTAL = range(6)
#: name -> what it counts
_COUNTS = {
    **dict.fromkeys(
        ("input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "input"), _SENT
    ),
    **dict.fromkeys(("output_tokens", "completion_tokens"), _ANSWERED),
    **dict.fromkeys(("outputTokens", "completionTokens", "output"), _ANSWERED),
    **dict.fromkeys(
        (
            "cache_read_input_tokens",
            "cached_input_tokens",
            "input_tokens_cache_read",
            "cache_read_tokens",
            "cacheReadTokens",
            "input_cached_tokens",
            "input_cache_read",
            "cached_tokens",
            "cacheRead",
            "cached",
        ),
        _READ,
    ),
    **dict.fromkeys(
        (
            "cache_creation_input_tokens",
            "cache_write_input_tokens",
            "input_tokens_cache_write",
            "cache_write_tokens",
            "cacheWriteTokens",
            "input_cache_creation",
            "cacheWrite",
        ),
        _WRITTEN,
    ),
    **dict.fromkeys(
        ("reasoning_output_tokens", "reasoning_tokens", "reasoning", "thoughts"), _THOUGHT
    ),
    **dict.fromkeys(("total_tokens", "totalTokens", "total"), _TOTAL),
}
#: tables inside a usage, with what is read of them
_INSIDE = {
    "prompt_tokens_details": {"cached_tokens": _READ},
    "input_tokens_details": {"cached_tokens": _READ},
    "completion_tokens_details": {"reasoning_tokens": _THOUGHT},
    "output_tokens_details": {"reasoning_tokens": _THOUGHT},
    "cache": {"read": _READ, "write": _WRITTEN},
}


def tokens(said: object, *, inside: bool, apart: bool = False) -> dict[str, int]:
    """``input`` (what no cache served), ``output``, ``cache_read`` and ``cache_write`` in tokens, none of them 0.

    *inside*: the format's input counts what a cache served, too; *apart*: its output leaves out what the
    model thought. Where a total is given, it decides both.
    """
    if not isinstance(said, dict):
        return {}
    counts = [0] * 6
    for name, value in said.items():
        if name in _INSIDE:
            if isinstance(value, dict):
                for inner, place in _INSIDE[name].items():
                    counts[place] = counts[place] or _count(value.get(inner))
        elif name in _COUNTS:
            counts[_COUNTS[name]] = _count(value) or counts[_COUNTS[name]]
    sent, answered, read, written, thought, total = counts
    if not total:
        pass
    elif total in (sent + answered, sent + answered + thought):
        inside, apart = True, total != sent + answered
    elif total in (sent + read + written + answered, sent + read + written + answered + thought):
        inside, apart = False, total != sent + read + written + answered
    if inside:
        sent = max(0, sent - read - written)
    if apart:
        answered += thought
    out = {"input": sent, "output": answered, "cache_read": read, "cache_write": written}
    return {name: count for name, count in out.items() if count}


def money(*said: Any) -> dict[str, float]:
    """``cost_usd`` where one of the values is an amount above 0, else nothing."""
    for amount in said:
        number = isinstance(amount, (int, float)) and not isinstance(amount, bool)
        if number and 0 < amount < _MOST:
            return {"cost_usd": float(amount)}
    return {}


def _count(value: Any) -> int:
    """A number of tokens; 0 for what is none."""
    if type(value) is int or (isinstance(value, float) and value.is_integer()):
        return int(value) if 0 < value < _MOST else 0
    return 0
