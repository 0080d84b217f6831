"""A scripted MCP server without a library: it logs the bytes it gets and can be told what to write.

Run as a script: ``mcp_server.py LOG``. The tools: ``echo`` answers with its arguments, ``slow`` answers
when ``release`` is called, ``fail`` with an error result, ``wrong`` with a protocol error, ``ask`` asks for
input once, ``task`` goes on as a task, ``shout`` says much and ends, ``leave`` ends and leaves a process behind, ``die`` ends the process. The method ``say`` writes lines as given.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

TOOLS = [
    {"name": "echo", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "fail", "inputSchema": {"type": "object"}},
]


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], **more}


def respond(id: Any, **what: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", "id": id, **what}), flush=True)


def call(id: Any, name: str, params: dict[str, Any], slow: list[Any]) -> None:
    args = params.get("arguments")
    if name == "echo":
        respond(id, result=text(json.dumps(args), structuredContent={"args": args}))
    elif name == "slow":
        slow.append(id)
    elif name == "release":
        respond(id, result=text("released"))
        while slow:
            respond(slow.pop(0), result=text("at last"))
    elif name == "fail":
        respond(id, result=text("no such file", isError=True))
    elif name == "wrong":
        respond(id, error={"code": -32602, "message": "unknown tool"})
    elif name == "ask":
        if "requestState" in params:
            respond(id, result=text("thank you", resultType="complete"))
        else:
            asked = {"resultType": "input_required", "requestState": "one", "inputRequests": {}}
            respond(id, result=asked)
    elif name == "task":
        respond(id, result={"task": {"taskId": "t1", "status": "working"}})
    elif name == "shout":
        respond(id, result=text("x" * 3_000_000))
        sys.exit(0)
    elif name == "leave":  # what it started keeps its output open
        subprocess.Popen(["sleep", "20"], stderr=subprocess.DEVNULL)
        respond(id, result=text("bye"))
        os._exit(0)
    elif name == "die":
        sys.exit(7)


def main() -> None:
    slow: list[Any] = []
    with Path(sys.argv[1]).open("ab", buffering=0) as log:
        for line in sys.stdin.buffer:
            log.write(line)
            try:
                message = json.loads(line)
            except ValueError:
                continue
            for one in message if isinstance(message, list) else [message]:
                if isinstance(one, dict):
                    answer(one, slow)
        log.write(b"<end of input>\n")


def answer(message: dict[str, Any], slow: list[Any]) -> None:
    method, id = message.get("method"), message.get("id")
    params = message.get("params") or {}
    if method == "initialize":
        told = {"name": "scripted", "version": "1", "session": os.environ.get("LOOPGUARD_SESSION")}
        version = params.get("protocolVersion", "2025-11-25")
        about = {"serverInfo": told, "capabilities": {"tools": {}}, "protocolVersion": version}
        respond(id, result=about)
    elif method == "tools/list":
        respond(id, result={"tools": TOOLS})
    elif method == "tools/call":
        call(id, params.get("name", ""), params, slow)
    elif method == "tasks/result":
        respond(id, result=text("the task is done"))
    elif method == "ping":
        respond(id, result={})
    elif method == "say":
        for said in params["lines"]:
            sys.stdout.write(said)
        sys.stdout.flush()
    elif method == "server/discover":  # a client tries the newest revision first
        respond(id, error={"code": -32601, "message": "method not found"})


if __name__ == "__main__":
    main()
