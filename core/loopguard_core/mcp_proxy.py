"""A guard between an MCP client and its server: what both say passes through byte for byte, except calls.

Standard input and output belong to the client; the server is started with pipes of its own and with this
process's stderr. Every message but a judged call and its result is passed on as it came, in order and in
both directions. A call that waits for a human waits alone: everything else goes on.
"""

from __future__ import annotations

import asyncio
import os
import time

from loopguard_core.agents import mcp
from loopguard_core.child import Child
from loopguard_core.events import dump, load
from loopguard_core.inside import ENVIRONMENT
from loopguard_core.pipes import LineReader, LineWriter
from loopguard_core.session.live import LiveSession, to_stderr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence
    from typing import Any

    from loopguard_core.config import Config
    from loopguard_core.decision import Decision

#: seconds a call waits for a human at most; many clients give up after 60
LIMIT = 50.0
#: seconds without a call after which the next one begins a turn of its own; MCP knows no turns
IDLE = 600.0

_BEAT = 10.0  # seconds; at most a fifth of the limit
_DRAIN = 1.0
_WAITS = "waiting for a human to decide (loop guard)"


def serve(
    command: Sequence[str],
    config: Config,
    *,
    name: str = "",
    limit: float = LIMIT,
    idle: float = IDLE,
) -> int:
    """Run *command* behind the guard until the client or the server ends; the server's exit code.

    *name*: what people call the server; else what it calls itself. Times in seconds. Raises
    ``NotStarted``.
    """
    return asyncio.run(Proxy(command, config, name=name, limit=limit, idle=idle).run())


class _Batch:
    """Requests that a client sent in one array and wants answered in one (2025-03-26)."""

    __slots__ = ("responses", "waits")

    def __init__(self, waits: set[str]) -> None:
        self.waits = waits
        self.responses: list[Any] = []


class _Sent:
    """A client's request that the server has: what is to be done with the response."""

    __slots__ = ("batch", "decision", "message")

    def __init__(
        self, message: mcp.Message, decision: Decision | None, batch: _Batch | None
    ) -> None:
        self.message = message
        self.decision = decision
        self.batch = batch


class Proxy:
    """One client, one server, one guarded session, which begins with the first call."""

    def __init__(
        self, command: Sequence[str], config: Config, *, name: str, limit: float, idle: float
    ) -> None:
        self._command = list(command)
        self._config = config
        self._name = name
        self._limit = limit
        self._idle = idle
        self._id = f"mcp-{os.urandom(4).hex()}"
        self._live: LiveSession | None = None
        self._annotations: dict[str, Any] = {}
        self._sent: dict[str, _Sent] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._legs: dict[str, Decision] = {}
        self._tasks: dict[str, Decision] = {}
        self._last = 0.0

    # -- the two ends ----------------------------------------------------------------------------

    async def run(self) -> int:
        """Pass messages on until an end is reached. Raises ``NotStarted``."""
        server = Child(self._command, {ENVIRONMENT: self._id})
        self._client = LineWriter(os.dup(1))
        self._server = LineWriter(server.stdin)
        down = asyncio.create_task(
            self._pump(LineReader(0), self._down_line, self._server, "a message passes unjudged")
        )
        reader = LineReader(server.stdout)
        up = asyncio.create_task(
            self._pump(reader, self._up_line, self._client, "a result passes as it is")
        )
        ends: set[asyncio.Future[Any]] = {down, up, server.gone, server.told}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        reason = "the server ended" if up.done() or server.gone.done() else "the client left"
        for task in self._asking.values():
            task.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)
        self._server.close()
        code = await server.end()
        await self._drain(up, reader)
        self._close(reason)
        for end in ends:
            end.cancel()
        return code

    async def _drain(self, up: asyncio.Task[None], reader: LineReader) -> None:
        """Pass on what the server said last, however slowly the client takes it.

        The end of it does not show where a process that the server started still holds its output.
        """
        taken = -1
        while not up.done() and (self._client.pending or reader.taken != taken):
            taken = reader.taken
            await asyncio.wait({up}, timeout=_DRAIN)

    def _session(self) -> LiveSession:
        if self._live is None:
            self._live = LiveSession(
                self._config,
                self._id,
                agent=f"mcp:{self._name or os.path.basename(self._command[0])}",
                parent=os.environ.get(ENVIRONMENT, ""),
            )
        return self._live

    def _close(self, reason: str) -> None:
        if self._live is None:
            return
        outcome = "error" if reason == "the server ended" else "cancelled"
        decisions = [s.decision for s in self._sent.values()]
        for decision in [*decisions, *self._tasks.values(), *self._legs.values()]:
            if decision is not None:
                self._live.after(decision, f"{reason} before there was a result", outcome=outcome)
        self._live.end(reason)

    async def _pump(
        self,
        reader: LineReader,
        handle: Callable[[bytes], Awaitable[None]],
        onward: LineWriter,
        otherwise: str,
    ) -> None:
        """Give each line of *reader* to *handle*; a line that it fails on goes *onward* as it is."""
        try:
            async for line in reader.lines():
                try:
                    await handle(line)
                except OSError:
                    raise
                except Exception as error:  # noqa: BLE001 - the client must not fall over its guard
                    to_stderr(f"internal error, {otherwise}: {error!r}")
                    await onward.write(line)
        except OSError:
            pass  # the other side reads no more: it has left, or is ending

    # -- from the client to the server -----------------------------------------------------------

    async def _down_line(self, line: bytes) -> None:
        message = _parsed(line)
        if isinstance(message, list):
            await self._down_batch(line, message)
        elif isinstance(message, dict):
            await self._down_one(line, message, None)
        else:
            await self._server.write(line)

    async def _down_batch(self, line: bytes, messages: list[Any]) -> None:
        """An array with calls in it is passed on one by one, and answered as an array."""
        known = [m for m in messages if isinstance(m, dict)]
        if not any(map(mcp.is_call, known)):
            await self._server.write(line)
            return
        batch = _Batch({mcp.key(m) for m in known if mcp.method(m) and mcp.key(m)})
        for message in messages:
            if isinstance(message, dict):
                await self._down_one(_line(message), message, batch)
            else:
                await self._server.write(_line(message))

    async def _down_one(self, line: bytes, message: mcp.Message, batch: _Batch | None) -> None:
        if mcp.is_call(message):
            await self._call(line, message, batch)
            return
        taken_back = mcp.cancels(message)
        if taken_back and await self._cancel(taken_back):
            return  # the server never had that request
        if mcp.method(message) and (name := mcp.key(message)):
            decision = self._tasks.pop(mcp.task_asked(message), None)
            self._sent[name] = _Sent(message, decision, batch)
        await self._server.write(line)

    async def _call(self, line: bytes, message: mcp.Message, batch: _Batch | None) -> None:
        again = self._legs.pop(mcp.retried(message), None)
        if again is not None:
            await self._forward(line, message, again, batch)
            return
        name = mcp.key(message)
        task = asyncio.create_task(self._judge(line, message, batch))
        self._asking[name] = task
        await asyncio.sleep(0)  # judged now, in the order of arrival
        if name not in self._asking:
            await task

    async def _judge(self, line: bytes, message: mcp.Message, batch: _Batch | None) -> None:
        name, tool = mcp.key(message), mcp.tool(message)
        live = self._session()
        now = time.monotonic()
        if self._last and now - self._last > self._idle:
            live.turn(f"no call for {self._idle:g} seconds", human=False)
        beat = _beating(self._beat(message)) if mcp.progress(message, 0, "") else None
        try:
            decision = await live.before_async(
                tool,
                mcp.arguments(message),
                annotations=self._annotations.get(tool),
                wait_limit=self._limit,
            )
        finally:
            self._asking.pop(name, None)
            self._last = time.monotonic()
            if beat is not None:
                beat.cancel()
        try:
            if decision.run:
                await self._forward(line, message, decision, batch)
            else:
                await self._answer(name, mcp.refusal(message, decision.message), batch)
        except OSError:
            pass  # whoever would get it is gone, and the session ends

    async def _forward(
        self, line: bytes, message: mcp.Message, decision: Decision, batch: _Batch | None
    ) -> None:
        self._sent[mcp.key(message)] = _Sent(message, decision, batch)
        if decision.modified:
            line = _line(mcp.changed(message, decision.args))
        await self._server.write(line)

    async def _cancel(self, name: str) -> bool:
        """The client takes a request back; True where it still waited here."""
        task = self._asking.get(name)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return True
        sent = self._sent.pop(name, None)  # whatever the server still says of it passes as it is
        if sent is not None:
            if sent.decision is not None:
                self._session().after(sent.decision, None, outcome="cancelled")
            if sent.batch is not None:
                sent.batch.waits.discard(name)
                await self._answer_batch(sent.batch)
        return False

    async def _beat(self, message: mcp.Message) -> None:
        step = 0
        while True:
            await asyncio.sleep(min(_BEAT, self._limit / 5))
            step += 1
            word = mcp.progress(message, step, _WAITS)
            try:
                await self._client.write(_line(word))
            except OSError:
                return

    # -- from the server to the client -----------------------------------------------------------

    async def _up_line(self, line: bytes) -> None:
        message = _parsed(line)
        if isinstance(message, list):
            await self._up_batch(line, message)
        elif isinstance(message, dict):
            await self._up_one(line, message)
        else:
            await self._client.write(line)

    async def _up_batch(self, line: bytes, messages: list[Any]) -> None:
        """A server may answer several requests in one array."""
        answered = {mcp.key(m) for m in messages if isinstance(m, dict) and mcp.is_response(m)}
        sent = [s for s in map(self._sent.get, answered) if s is not None]
        if all(s.decision is None and s.batch is None for s in sent):
            for message in messages:
                if isinstance(message, dict):
                    self._learn(message, self._sent.pop(mcp.key(message), None))
            await self._client.write(line)
            return
        for message in messages:
            if isinstance(message, dict):
                await self._up_one(_line(message), message)
            else:
                await self._client.write(_line(message))

    async def _up_one(self, line: bytes, message: dict[str, Any]) -> None:
        sent = self._sent.pop(mcp.key(message), None) if mcp.is_response(message) else None
        if sent is None:
            await self._client.write(line)
            return
        self._learn(message, sent)
        advice = self._finish(sent, message)
        if advice:
            message = mcp.advised(message, advice)
            line = _line(message)
        if sent.batch is None:
            await self._client.write(line)
        else:
            await self._answer(mcp.key(message), message, sent.batch)

    def _learn(self, message: mcp.Message, sent: _Sent | None) -> None:
        if sent is None:
            return
        if mcp.method(sent.message) == mcp.LIST:
            self._annotations.update(mcp.listed(message))
        self._name = self._name or mcp.server_name(message)

    def _finish(self, sent: _Sent, message: mcp.Message) -> str:
        """Record the result of a call; the advice to append to it."""
        decision = sent.decision
        if decision is None:
            return ""
        if leg := mcp.suspended(sent.message, message):
            self._legs[leg] = decision
            return ""
        if task := mcp.task_started(message):
            self._tasks[task] = decision
            return ""
        outcome, result = mcp.outcome(message)
        return self._session().after(decision, result, outcome=outcome)

    async def _answer(self, name: str, response: dict[str, Any], batch: _Batch | None) -> None:
        if batch is None:
            await self._client.write(_line(response))
            return
        batch.waits.discard(name)
        batch.responses.append(response)
        await self._answer_batch(batch)

    async def _answer_batch(self, batch: _Batch) -> None:
        if not batch.waits and batch.responses:
            responses, batch.responses = batch.responses, []
            await self._client.write(_line(responses))


def _parsed(line: bytes) -> Any:
    try:
        return load(line)
    except ValueError:
        return None  # nothing that concerns a guard: it passes as it is


def _line(message: object) -> bytes:
    return dump(message).encode() + b"\n"


def _beating(beat: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    return asyncio.create_task(beat)
