"""OpenAI's two model APIs on loopback: Responses (Codex) and Chat Completions (opencode, Copilot, hermes)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from servers.loopback import ModelServer, Received, Result, Text, ToolUse, sse

_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


class OpenAIServer(ModelServer):
    """``POST …/responses`` and ``POST …/chat/completions``, streaming and not."""

    def answer(self, path: str, body: dict[str, Any]) -> tuple[str, bytes]:
        if "chat/completions" in path:
            return self._chat(body)
        if "responses" in path:
            return self._responses(body)
        return "application/json", b"{}"

    def _responses(self, body: dict[str, Any]) -> tuple[str, bytes]:
        items = [self._item(part) for part in self.say(read_responses(body))]
        response = {
            "id": self.next_id("resp_"),
            "object": "response",
            "status": "completed",
            "output": items,
            "usage": {
                "input_tokens": 10,
                "output_tokens": 5,
                "total_tokens": 15,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens_details": {"reasoning_tokens": 0},
            },
        }
        if not body.get("stream"):
            return "application/json", json.dumps(response).encode()
        return "text/event-stream", sse(_responses_stream(response))

    def _item(self, part: Text | ToolUse) -> dict[str, Any]:
        if isinstance(part, Text):
            return {
                "type": "message",
                "id": self.next_id("msg_"),
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": part.text, "annotations": []}],
            }
        namespace, _, name = part.name.rpartition(".")  # Codex offers a server's tools in one
        return {
            "type": "function_call",
            "id": f"fc_{part.id}",
            "call_id": part.id,
            **({"namespace": namespace} if namespace else {}),
            "name": name,
            "arguments": json.dumps(part.args),
            "status": "completed",
        }

    def _chat(self, body: dict[str, Any]) -> tuple[str, bytes]:
        parts = self.say(read_chat(body))
        calls = [
            {
                "index": index,
                "id": part.id,
                "type": "function",
                "function": {"name": part.name, "arguments": json.dumps(part.args)},
            }
            for index, part in enumerate(p for p in parts if isinstance(p, ToolUse))
        ]
        said = "".join(part.text for part in parts if isinstance(part, Text))
        message: dict[str, Any] = {"role": "assistant", "content": said or None}
        if calls:
            message["tool_calls"] = calls
        finish = "tool_calls" if calls else "stop"
        head = {"id": self.next_id("chatcmpl-"), "created": 0, "model": body.get("model")}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            whole = {**head, "object": "chat.completion", "choices": [choice], "usage": _USAGE}
            return "application/json", json.dumps(whole).encode()
        choices: list[list[dict[str, Any]]] = [
            [{"index": 0, "delta": message, "finish_reason": None}],
            [{"index": 0, "delta": {}, "finish_reason": finish}],
            [],
        ]
        chunks = (
            ("", {**head, "object": "chat.completion.chunk", "choices": choice, "usage": _USAGE})
            for choice in choices
        )
        return "text/event-stream", sse(chunks) + b"data: [DONE]\n\n"


def _responses_stream(response: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "response.created", {"type": "response.created", "response": {"id": response["id"]}}
    for index, item in enumerate(response["output"]):
        for kind in ("response.output_item.added", "response.output_item.done"):
            yield kind, {"type": kind, "output_index": index, "item": item}
    yield "response.completed", {"type": "response.completed", "response": response}


def read_responses(body: dict[str, Any]) -> Received:
    """A Responses API request as ``Received``."""
    prompts: list[str] = []
    results: list[Result] = []
    latest: list[str] = []
    mark = 0
    given = body.get("input") or []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    for item in items:
        kind = item.get("type", "message")
        if kind in ("function_call", "custom_tool_call") or item.get("role") == "assistant":
            latest = []
            continue
        if kind in ("function_call_output", "custom_tool_call_output"):
            text = _text(item.get("output"))
            results.append(Result(str(item.get("call_id")), text))
        else:
            text = _text(item.get("content"))
            if item.get("role") == "user" and not text.lstrip().startswith(("<", "#")):
                prompts.append(text)
                mark = len(results)
        latest.append(text)
    names = [str(tool.get("name") or tool.get("type")) for tool in body.get("tools") or []]
    return Received(
        body,
        tools=names,
        prompts=prompts,
        results=results,
        since_prompt=results[mark:],
        latest="\n".join(latest),
    )


def read_chat(body: dict[str, Any]) -> Received:
    """A Chat Completions request as ``Received``."""
    prompts: list[str] = []
    results: list[Result] = []
    latest: list[str] = []
    mark = 0
    for message in body.get("messages") or []:
        role, text = message.get("role"), _text(message.get("content"))
        if role == "assistant":
            latest = []
            continue
        latest.append(text)
        if role == "tool":
            results.append(Result(str(message.get("tool_call_id")), text))
        elif role == "user" and "ToolUse hook" not in text:  # Copilot's way to pass advice on
            prompts.append(text)
            mark = len(results)
    tools = [tool.get("function") or {} for tool in body.get("tools") or []]
    return Received(
        body,
        tools=[str(tool.get("name")) for tool in tools],
        prompts=prompts,
        results=results,
        since_prompt=results[mark:],
        latest="\n".join(latest),
    )


def _text(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)
