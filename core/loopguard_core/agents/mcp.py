"""MCP's messages, as far as a guard has to know them (revisions 2024-11-05 to 2026-07-28).

Pure functions over JSON-RPC messages. A refusal is a result with ``isError``, which a model gets to read;
a JSON-RPC error is hidden by many clients. Advice is a content block of its own behind the others, and
``structuredContent`` stays what the server said.
"""

from __future__ import annotations

from loopguard_core.agents.host import text
from loopguard_core.events import dump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Message = Mapping[str, Any]

CALL = "tools/call"
LIST = "tools/list"
CANCELLED = "notifications/cancelled"
#: 2025-11-25: asks for the result of a call that runs as a task
TASK_RESULT = "tasks/result"

_META = "_meta"
_SERVER_INFO = "io.modelcontextprotocol/serverInfo"


def method(message: Message) -> str:
    """The method of a request or notification, empty for a response."""
    return text(message, "method")


def key(message: Message) -> str:
    """What names a request and its response: JSON-RPC tells 1 from "1". Empty for a notification."""
    return dump(message["id"]) if message.get("id") is not None else ""


def is_response(message: Message) -> bool:
    """True for the answer to a request."""
    return "method" not in message and bool(key(message))


def is_call(message: Message) -> bool:
    """True for a request to run a named tool."""
    return method(message) == CALL and bool(key(message)) and bool(tool(message))


def tool(message: Message) -> str:
    """The name of the tool that is to run."""
    return text(_params(message), "name")


def arguments(message: Message) -> object:
    """The arguments of a call; none are an empty object."""
    given = _params(message).get("arguments")
    return {} if given is None else given


def changed(message: Message, args: object) -> dict[str, Any]:
    """The call with other arguments, everything else as it was."""
    return {**message, "params": {**_params(message), "arguments": args}}


def cancels(message: Message) -> str:
    """The key of the request that a client takes back; empty where it names none."""
    if method(message) != CANCELLED:
        return ""
    named = _params(message).get("requestId")
    return "" if named is None else dump(named)


def retried(message: Message) -> str:
    """What names the earlier leg of a call that came back for input; empty for a new call.

    A server that needs input answers ``input_required``; the client asks again with the answers and the
    state it was given (2026-07-28). That is the same call, to be judged once.
    """
    params = _params(message)
    if "requestState" not in params and "inputResponses" not in params:
        return ""
    return _leg(tool(message), arguments(message), params.get("requestState"))


def suspended(request: Message, response: Message) -> str:
    """As ``retried``, from the response that asks for input; empty where it is not one."""
    result = _result(response)
    if result.get("resultType") != "input_required":
        return ""
    return _leg(tool(request), arguments(request), result.get("requestState"))


def _leg(name: str, args: object, state: object) -> str:
    return dump(state) if state is not None else dump([name, args])


def task_started(response: Message) -> str:
    """The id of the task as which a call goes on; empty where the response is its result."""
    result = _result(response)
    task = result.get("task")
    if "content" in result or not isinstance(task, dict):
        return ""
    return text(task, "taskId")


def task_asked(message: Message) -> str:
    """The id of the task whose result is asked for; empty where none is."""
    return text(_params(message), "taskId") if method(message) == TASK_RESULT else ""


def progress(message: Message, step: int, text: str) -> dict[str, Any] | None:
    """A word to a client that asked to be told of progress, so that it keeps waiting; else None.

    The numbers are tiny: the server's own, which come later, must be larger.
    """
    meta = _params(message).get(_META)
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    if token is None:
        return None
    params = {"progressToken": token, "progress": step / 1e9, "message": text}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def refusal(message: Message, text: str) -> dict[str, Any]:
    """The response that the model gets instead of a result."""
    result = {"content": [_block(text)], "isError": True, "resultType": "complete"}
    if not isinstance(_params(message).get(_META), dict):
        del result["resultType"]  # every request has the field where the result must have it
    return {"jsonrpc": "2.0", "id": message.get("id"), "result": result}


def advised(response: Message, advice: str) -> dict[str, Any]:
    """The response with *advice* for the model appended."""
    error = response.get("error")
    if isinstance(error, dict):
        said = f"{text(error, 'message')}\n\n{advice}".strip()
        return {**response, "error": {**error, "message": said}}
    result = _result(response)
    content = result.get("content")
    blocks = [*content, _block(advice)] if isinstance(content, list) else [_block(advice)]
    return {**response, "result": {**result, "content": blocks}}


def outcome(response: Message) -> tuple[str, Any]:
    """How a call ended, and its result as it is recorded: its text where it is only text."""
    error = response.get("error")
    if error is not None:
        return "error", text(error, "message") if isinstance(error, dict) else error
    result = _result(response)
    return ("error" if result.get("isError") is True else "ok"), _recorded(result)


def listed(response: Message) -> dict[str, Mapping[str, Any]]:
    """What a listing of tools says of each: ``readOnlyHint`` and its like."""
    tools = _result(response).get("tools")
    found: dict[str, Mapping[str, Any]] = {}
    for each in tools if isinstance(tools, list) else ():
        if isinstance(each, dict) and isinstance(each.get("annotations"), dict):
            found[text(each, "name")] = each["annotations"]
    return found


def server_name(response: Message) -> str:
    """What the server calls itself, where this response says it."""
    result = _result(response)
    meta = result.get(_META)
    said = result.get("serverInfo") or (meta.get(_SERVER_INFO) if isinstance(meta, dict) else None)
    return text(said, "name") if isinstance(said, dict) else ""


def _recorded(result: Mapping[str, Any]) -> Any:
    content = result.get("content")
    if isinstance(content, list) and content:
        texts = [b.get("text") if isinstance(b, dict) else None for b in content]
        if all(isinstance(text, str) for text in texts):
            return "\n".join(map(str, texts))
        return content
    if "structuredContent" in result:
        return result["structuredContent"]
    return {k: v for k, v in result.items() if k not in (_META, "isError", "resultType")}


def _block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _params(message: Message) -> Mapping[str, Any]:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def _result(message: Message) -> Mapping[str, Any]:
    result = message.get("result")
    return result if isinstance(result, dict) else {}
