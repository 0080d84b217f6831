"""A guard for an agent in any language: our events in on stdin, rulings and advice out on stdout.

One JSON object a line, both ways. ``call_start`` is answered with a ``ruling``, ``call_end`` with
``advice``, ``session_start`` with a ``session``; what cannot be understood with an ``error``. Calls may
overlap: an answer names its call, and one that waits for a human holds up no other.
"""

from __future__ import annotations

import asyncio
import os
import signal

from loopguard_core.config import ConfigError, load_or_default
from loopguard_core.events import EventError, dump, from_json, load
from loopguard_core.inside import ENVIRONMENT
from loopguard_core.pipes import LineReader, LineWriter
from loopguard_core.serving import other_guard
from loopguard_core.session.doors import Doors
from loopguard_core.session.live import LiveSession, to_stderr
from loopguard_core.store.contract import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.config import Config
    from loopguard_core.decision import Decision
    from loopguard_core.events import Event

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: recorded as they are, and not answered
_SAID = ("assistant_text", "system_message", "note", "usage")
_ACCEPTED = (
    "session_start",
    "session_end",
    "user_message",
    "turn_start",
    *_SAID,
    "call_start",
    "call_end",
    "call",
)
_CANCELLED = "[loopguard] This call was not run: it was cancelled while it waited for a human."


class Misunderstood(Exception):
    """An event that cannot be acted on: what is wrong with it."""


def serve(*, agent: str = "agent", store: str = "") -> int:
    """Guard until the input ends; the exit code. *agent*: the name of a session that gives none.

    *store*: another event store than the configured one.
    """
    return asyncio.run(Sidecar(agent, store).run())


def _guarded_by(config: Config, session: str) -> str:
    """The other process that guards *session*, empty where none does, or nobody can tell."""
    try:
        store = Doors(config).store()
        try:
            return other_guard(store, session, hooks=True)
        finally:
            store.close()
    except StoreError:
        return ""


class _Open:
    """One session, and its calls that have not ended."""

    def __init__(self, live: LiveSession) -> None:
        self.live = live
        self.asking: dict[str, asyncio.Task[None]] = {}
        self.running: dict[str, Decision] = {}
        #: refused in this turn: a client may say of one that it ended so
        self.refused: set[str] = set()


class Sidecar:
    """Any number of sessions of one process, which started this one."""

    def __init__(self, agent: str, store: str) -> None:
        self._agent = agent
        self._store = store
        self._open: dict[str, _Open] = {}
        self._line = 0

    async def run(self) -> int:
        """Answer until the input ends, the output is closed, or this process is told to end."""
        self._out = LineWriter(os.dup(1))
        listening = asyncio.create_task(self._listen(LineReader(0)))
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, listening.cancel)
        try:
            await listening
            reason = "the input ended"
        except (asyncio.CancelledError, OSError):
            reason = "stopped"
        for each in list(self._open.values()):
            await self._end(each, reason)
        return 0

    async def _listen(self, reader: LineReader) -> None:
        async for line in reader.lines():
            self._line += 1
            if line.strip():
                await self._heard(line)

    async def _heard(self, line: bytes) -> None:
        raw: Any = None
        try:
            raw = _parsed(line)
            event = from_json(_completed(raw))
            if event.type not in _ACCEPTED:
                raise Misunderstood(
                    f"{event.type!r} is not an event of an agent: {', '.join(_ACCEPTED)}"
                )
            await self._act(event)
        except (EventError, Misunderstood, ConfigError) as error:
            await self._wrong(str(error), raw)

    async def _wrong(self, what: str, raw: object) -> None:
        call = raw.get("call") if isinstance(raw, dict) else None
        about = {"call": call} if isinstance(call, str) else {}
        await self._say(type="error", where=f"line {self._line}", what=what, **about)

    async def _say(self, **message: Any) -> None:
        await self._out.write(dump(message).encode() + b"\n")

    # -- one event -------------------------------------------------------------------------------

    async def _act(self, event: Event) -> None:
        if event.type == "session_start":
            await self._start(event)
            return
        session = self._session(event)
        if event.type in ("user_message", "turn_start"):
            session.refused.clear()
        if event.type == "session_end":
            await self._end(session, event.text("reason"))
        elif event.type == "user_message":
            session.live.turn(event.text("text"))
        elif event.type == "turn_start":
            session.live.turn(event.text("reason"), human=False)
        elif event.type in _SAID:
            session.live.note(event.type, event.data)
        elif event.type == "call_start":
            await self._call(session, event)
        elif event.type == "call_end":
            await self._finished(session, event)
        else:
            await self._reported(session, event)

    async def _start(self, event: Event) -> None:
        if event.session in self._open:
            raise Misunderstood(f"session {event.session!r} is open already")
        session = self._begin(event)
        await self._say(type="session", session=session.live.session)

    def _begin(self, event: Event) -> _Open:
        data = event.data
        settings, pid = data.get("settings", {}), data.get("pid", 0)
        if not isinstance(settings, dict):
            raise Misunderstood("settings is an object of keys of loopguard.toml")
        if not isinstance(pid, int) or isinstance(pid, bool):
            raise Misunderstood("pid is the number of the agent's process")
        agent, cwd = event.text("agent") or self._agent, event.text("cwd")
        config = load_or_default(cwd, to_stderr)
        if self._store:
            settings = {**settings, "store": self._store}
        config = config.changed(**settings)
        other = _guarded_by(config, event.session) if event.session else ""
        if other:  # a model could say that a human spoke
            raise Misunderstood(f"session {event.session!r} is guarded by {other}")
        live = LiveSession(
            config,
            event.session or f"{agent}-{os.urandom(4).hex()}",
            agent=agent,
            cwd=cwd,
            parent=event.text("parent") or os.environ.get(ENVIRONMENT, ""),
            pid=pid or os.getpid(),
        )
        opened = self._open[live.session] = _Open(live)
        return opened

    def _session(self, event: Event) -> _Open:
        """The session that *event* belongs to; one that nobody started begins with it."""
        if event.session:
            return self._open.get(event.session) or self._begin(_start_of(event))
        if len(self._open) > 1:
            raise Misunderstood(f"{len(self._open)} sessions are open: name one as session")
        for only in self._open.values():
            return only
        return self._begin(_start_of(event))

    async def _end(self, session: _Open, reason: str) -> None:
        for task in list(session.asking.values()):
            task.cancel()
        await asyncio.gather(*session.asking.values(), return_exceptions=True)
        for decision in session.running.values():
            session.live.after(decision, None, outcome="cancelled")
        session.live.end(reason)
        self._open.pop(session.live.session, None)

    # -- calls -----------------------------------------------------------------------------------

    async def _call(self, session: _Open, event: Event) -> None:
        call = event.text("call")
        if call in session.asking or call in session.running:
            raise Misunderstood(f"call {call!r} has started already")
        limit = event.data.get("wait_limit")
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float))):
            raise Misunderstood("wait_limit is a number of seconds")
        task = asyncio.create_task(self._judge(session, event, limit))
        session.asking[call] = task
        await asyncio.sleep(0)  # judged now, in the order of arrival
        if call not in session.asking:
            await task

    async def _judge(self, session: _Open, event: Event, limit: float | None) -> None:
        data, call = event.data, event.text("call")
        traits = data.get("traits")
        try:
            decision = await session.live.before_async(
                data["tool"],
                data.get("args"),
                call=call,
                message=event.text("message"),
                agent=event.text("agent"),
                annotations=traits if isinstance(traits, dict) else None,
                wait_limit=limit,
            )
        except asyncio.CancelledError:
            await self._ruled(session, call, run=False, message=_CANCELLED)
            raise
        finally:
            session.asking.pop(call, None)
        if decision.run:
            session.running[call] = decision
        else:
            session.refused.add(call)
        ruling = decision.ruling
        try:
            await self._ruled(
                session,
                call,
                run=decision.run,
                args=decision.args,
                modified=decision.modified,
                message="" if decision.run else decision.message,
                tier=decision.tier.word,
                ends_turn=decision.ends_turn,
                request=decision.request,
                verdict=ruling.verdict.to_json(),
            )
        except OSError:
            pass  # nobody listens any more, and the session ends

    async def _ruled(self, session: _Open, call: str, **ruling: Any) -> None:
        await self._say(type="ruling", session=session.live.session, call=call, **ruling)

    async def _finished(self, session: _Open, event: Event) -> None:
        call = event.text("call")
        waiting = session.asking.get(call)
        if waiting is not None:
            if event.data["outcome"] != "cancelled":
                raise Misunderstood(f"call {call!r} waits for a human and has not run")
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await self._advise(session, call, "")
            return
        if call in session.refused and event.data["outcome"] not in ("ok", "error"):
            session.refused.discard(call)
            await self._advise(session, call, "")
            return
        decision = session.running.pop(call, None)
        if decision is None:
            raise Misunderstood(f"no call {call!r} is running")
        await self._record(session, decision, event)

    async def _reported(self, session: _Open, event: Event) -> None:
        """A call that has run already: it can be watched, not stopped."""
        if session.live.config.mode != "observe":
            raise Misunderstood(
                "a call that has run cannot be stopped: send call_start before it runs, "
                'or start the session with "settings": {"mode": "observe"}'
            )
        decision = session.live.before(
            event.data["tool"],
            event.data.get("args"),
            call=event.text("call"),
            message=event.text("message"),
            wait_limit=0,
        )
        await self._record(session, decision, event)

    async def _record(self, session: _Open, decision: Decision, event: Event) -> None:
        duration = event.data.get("duration")
        advice = session.live.after(
            decision,
            event.data.get("result"),
            outcome=event.data["outcome"],
            duration=duration if isinstance(duration, (int, float)) else None,
        )
        more: dict[str, Any] = {"ends_turn": decision.ends_turn}
        if decision.verdict is not None:
            more["verdict"] = decision.verdict.to_json()
        await self._advise(session, event.text("call") or decision.call, advice, **more)

    async def _advise(self, session: _Open, call: str, advice: str, **more: Any) -> None:
        name = session.live.session
        await self._say(type="advice", session=name, call=call, advice=advice, **more)


def _parsed(line: bytes) -> Any:
    try:
        raw = load(line)
    except ValueError as error:
        raise Misunderstood(f"not JSON: {error}") from None
    if not isinstance(raw, dict):
        raise Misunderstood("an event is a JSON object")
    return raw


def _completed(raw: dict[str, Any]) -> dict[str, Any]:
    """*raw* with the outcome that ``ok`` stands for, as in recordings."""
    if raw.get("type") in ("call_end", "call") and "outcome" not in raw:
        return {**raw, "outcome": "ok" if raw.get("ok", True) else "error"}
    return raw


def _start_of(event: Event) -> Event:
    return from_json({"type": "session_start", "session": event.session})
