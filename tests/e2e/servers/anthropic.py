"""The Anthropic Messages API on loopback, streaming and not, as far as Claude Code needs it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from servers.loopback import ModelServer, Received, Result, Text, ToolUse, sse

_USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


class AnthropicServer(ModelServer):
    """``POST /v1/messages``; token counting is answered with a constant."""

    def answer(self, path: str, body: dict[str, Any]) -> tuple[str, bytes]:
        if not path.startswith("/v1/messages") or "count_tokens" in path:
            return "application/json", b'{"input_tokens":10}'
        blocks = [_block(part) for part in self.say(read(body))]
        wants_tool = any(block["type"] == "tool_use" for block in blocks)
        stop = "tool_use" if wants_tool else "end_turn"
        message = {
            "id": self.next_id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": blocks,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": _USAGE,
        }
        if not body.get("stream"):
            return "application/json", json.dumps(message).encode()
        return "text/event-stream", sse(_stream(message))


def read(body: dict[str, Any]) -> Received:
    """A Messages API request as ``Received``."""
    messages = body.get("messages") or []
    prompts: list[str] = []
    results: list[Result] = []
    mark = 0
    latest: list[str] = []
    for message in messages:
        blocks = _blocks(message)
        if message.get("role") == "assistant":
            latest = []
            continue
        latest += [_text(block) for block in blocks]
        if message.get("role") == "system":  # what hooks and the host put beside the results
            continue
        found = [b for b in blocks if b.get("type") == "tool_result"]
        for block in found:
            error = bool(block.get("is_error"))
            results.append(Result(str(block.get("tool_use_id")), _text(block), error=error))
        typed = [_text(b) for b in blocks if b.get("type") == "text"]
        said = [text for text in typed if not text.lstrip().startswith("<")]
        if said:
            prompts.append("\n".join(said))
            mark = len(results)
    return Received(
        body,
        tools=[str(tool.get("name")) for tool in body.get("tools") or []],
        prompts=prompts,
        results=results,
        since_prompt=results[mark:],
        latest="\n".join(latest),
    )


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])


def _text(block: dict[str, Any]) -> str:
    content = block.get("content", block.get("text", ""))
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content)


def _block(part: Text | ToolUse) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.args}


def _stream(message: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    head = {**message, "content": [], "stop_reason": None}
    yield "message_start", {"type": "message_start", "message": head}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        at = {"index": index}
        yield (
            "content_block_start",
            {"type": "content_block_start", "content_block": empty, **at},
        )
        yield "content_block_delta", {"type": "content_block_delta", "delta": delta, **at}
        yield "content_block_stop", {"type": "content_block_stop", **at}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 5}}
    yield "message_stop", {"type": "message_stop"}
