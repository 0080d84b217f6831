"""Gemini's ``generateContent`` on loopback, streaming and not."""

from __future__ import annotations

import json
from typing import Any

from servers.loopback import ModelServer, Received, Result, Text, ToolUse, sse

# What the CLI asks its own model router and loop checker; any reading of it lets the run go on.
_SIDE = {
    "reasoning": "scripted",
    "model_choice": "flash",
    "complexity_reasoning": "scripted",
    "complexity_score": 1,
}


class GeminiServer(ModelServer):
    """``POST …:generateContent`` and ``…:streamGenerateContent``; token counting gets a constant."""

    def answer(self, path: str, body: dict[str, Any]) -> tuple[str, bytes]:
        if "countTokens" in path:
            return "application/json", b'{"totalTokens":10}'
        received = read(body)
        answer = self.say(received) if received.tools else [Text(json.dumps(_SIDE))]
        whole = {
            "candidates": [
                {
                    "content": {"role": "model", "parts": [_part(part) for part in answer]},
                    "finishReason": "STOP",
                    "index": 0,
                }
            ],
            "usageMetadata": {
                "promptTokenCount": 10,
                "candidatesTokenCount": 5,
                "totalTokenCount": 15,
            },
            "modelVersion": "scripted",
        }
        if "stream" in path:
            return "text/event-stream", sse([("", whole)])
        return "application/json", json.dumps(whole).encode()


def read(body: dict[str, Any]) -> Received:
    """A generateContent request as ``Received``."""
    prompts: list[str] = []
    results: list[Result] = []
    latest: list[str] = []
    mark = 0
    for content in body.get("contents") or []:
        if content.get("role") == "model":
            latest = []
            continue
        for part in content.get("parts") or []:
            answered = part.get("functionResponse")
            if answered:
                response = answered.get("response") or {}
                text = str(response.get("output", response.get("error", response)))
                results.append(Result(str(answered.get("id")), text, error="error" in response))
            else:
                text = str(part.get("text", ""))
                if not text.lstrip().startswith("<"):
                    prompts.append(text)
                    mark = len(results)
            latest.append(text)
    declared = [
        f for tool in body.get("tools") or [] for f in tool.get("functionDeclarations") or []
    ]
    return Received(
        body,
        tools=[str(function.get("name")) for function in declared],
        prompts=prompts,
        results=results,
        since_prompt=results[mark:],
        latest="\n".join(latest),
    )


def _part(part: Text | ToolUse) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"text": part.text}
    return {"functionCall": {"name": part.name, "args": part.args}}
