"""What a transcript says of tokens and money, under the names of providers and hosts, in our own terms."""

from __future__ import annotations

from loopguard_core.importers.base import obj

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST = 1e15
_DETAILS = ("prompt_tokens_details", "input_tokens_details", "completion_tokens_details", "cache")
_INPUT = ("input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "input")
_OUTPUT = ("output_tokens", "completion_tokens", "outputTokens", "completionTokens", "output")
_READ = (
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
    "read",
)
_WRITTEN = (
    "cache_creation_input_tokens",
    "cache_write_input_tokens",
    "input_tokens_cache_write",
    "cache_write_tokens",
    "cacheWriteTokens",
    "input_cache_creation",
    "cacheWrite",
    "write",
)
_THOUGHT = ("reasoning_output_tokens", "reasoning_tokens", "reasoning", "thoughts")
_TOTAL = ("total_tokens", "totalTokens", "total")


def tokens(said: object, *, inside: bool, apart: bool = False) -> dict[str, int]:
    """``input`` (what no cache served), ``output``, ``cache_read`` and ``cache_write`` in tokens, none of them 0.

    *inside*: the format's input counts what a cache served, too; *apart*: its output leaves out what the
    model thought. Where a total is given, it decides both.
    """
    usage = obj(said)
    if not usage:
        return {}
    held = [usage, *(obj(usage.get(name)) for name in _DETAILS)]
    sent, answered = _first(held[:1], _INPUT), _first(held[:1], _OUTPUT)
    read, written = _first(held, _READ), _first(held, _WRITTEN)
    thought, total = _first(held, _THOUGHT), _first(held[:1], _TOTAL)
    if total in (sent + answered, sent + answered + thought):
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


def _first(held: list[dict[str, Any]], names: tuple[str, ...]) -> int:
    for place in held:
        for name in names:
            count = place.get(name)
            if (
                isinstance(count, (int, float))
                and not isinstance(count, bool)
                and 0 < count < _MOST
                and count == int(count)
            ):
                return int(count)
    return 0
