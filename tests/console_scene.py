"""A frozen live console for snapshots: fixed times, fixed digests, no store and no clock."""

from __future__ import annotations

from typing import Any

from loopguard_console.app import ConsoleApp
from loopguard_console.deciding import Decider, Permission
from loopguard_console.desk import Desk
from loopguard_console.feed import Batch
from loopguard_console.guards import guard_of
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.guard import Guard
from loopguard_core.recording.calls import ListEvents
from loopguard_core.store.contract import Request, Session

NOW = 1_800_000_000.0
QUERY = {"query": "quantum computing"}
PAGE = "Results for quantum computing: an introduction, a course, a news page. For more info, search on."


class Log:
    """Events of one session as a guard in ask mode would record them."""

    def __init__(
        self,
        session: str,
        agent: str,
        policy: str = "graded",
        options: dict[str, Any] | None = None,
    ) -> None:
        self.session = session
        self.events: list[Event] = []
        self.config = Config({"policy": policy, "policies": {policy: options or {}}})
        self.guard: Guard = guard_of(None, self.config)
        self.ts = NOW - 60.0
        self.calls = 0
        self.add("session_start", agent=agent, policy=policy, mode="ask")

    def add(self, type: str, **data: Any) -> Event:
        event = Event(type, self.session, seq=len(self.events) + 1, ts=self.ts, data=data)
        self.guard.apply(event)
        self.events.append(event)
        self.ts += 0.25
        return event

    def start(self, tool: str, args: Any, **more: Any) -> str:
        self.calls += 1
        call = f"{self.session}-{self.calls}"
        self.add("call_start", call=call, tool=tool, args=args, message=call, **more)
        return call

    def call(self, tool: str, args: Any, result: Any = "ok", outcome: str = "ok") -> None:
        call = self.start(tool, args)
        self.ts += 1.0
        self.add("call_end", call=call, outcome=outcome, result=result)

    def ask(self, request: str, call: str, tier: str) -> Request:
        event = self.add("request_opened", request=request, call=call, tier=tier)
        ruling = self.guard.ruling(call)
        assert ruling is not None
        start = next(e for e in self.events if e.data.get("call") == call)
        asked = Request(request, self.session, event.seq)
        asked.call, asked.tool, asked.args = call, start.data["tool"], start.data["args"]
        asked.signature = ruling.verdict.signature
        asked.tier = int(ruling.tier)
        asked.verdict = ruling.verdict.to_json()
        asked.seen = f"seen-{request}"
        asked.opened_ts = event.ts
        asked.deadline = NOW + 43.0
        return asked

    def known(self, **more: Any) -> Session:
        session = Session(self.session)
        session.agent = str(self.events[0].data["agent"])
        session.calls, session.judged = self.calls, True
        session.first_ts, session.last_ts = self.events[0].ts, self.ts
        for name, value in more.items():
            setattr(session, name, value)
        return session


def research() -> tuple[Log, Request]:
    """The research agent, stopped at its third identical search."""
    log = Log("6f1c2a90", "researcher")
    log.add("user_message", text="Write a summary about quantum computing.")
    log.call("list_dir", {"path": "notes"}, ["outline.md", "sources.md"])
    log.call("read_file", {"path": "notes/outline.md"}, "# Outline\n" * 9)
    log.call(
        "web_fetch", {"url": "https://example.org/qc", "timeout": 10}, "404 not found", "error"
    )
    for _ in range(2):
        log.call("search", QUERY, PAGE)
    return log, log.ask("R7", log.start("search", QUERY), "block")


def fixer() -> tuple[Log, Request]:
    """Another agent, whose fourth identical test run would halt its turn."""
    log = Log("b07d11e4", "ci-fixer")
    log.add("user_message", text="Make the tests pass.")
    for outcome in ("error", "error", "blocked"):
        log.call("bash", {"command": "pytest -q"}, "1 failed", outcome)
    return log, log.ask("R6", log.start("bash", {"command": "pytest -q"}), "halt")


def batch(
    *logs: Log,
    waiting: tuple[Request, ...] = (),
    now: float = NOW,
    lost: dict[str, int] | None = None,
) -> Batch:
    """What the feed would bring: the whole of *logs*, and two sessions without events."""
    counts = {r.session: 0 for r in waiting}
    for request in waiting:
        counts[request.session] += 1
    sessions = [
        log.known(waiting=counts.get(log.session, 0), worst=max(view_tiers(log))) for log in logs
    ]
    state = {s.session: "live" for s in sessions}
    if logs:
        child = Session("6f1c2a90/scout")
        child.agent, child.parent, child.calls = "scout", "6f1c2a90", 12
        child.judged = True
        old = Session("19aa34c0")
        old.agent, old.calls, old.worst, old.ended = "writer", 118, 1, True
        sessions += [child, old]
        state |= {child.session: "quiet", old.session: "ended"}
    events = {log.session: tuple(log.events) for log in logs}
    return Batch(now, tuple(sessions), state, waiting, events, lost=lost or {})


def view_tiers(log: Log) -> list[int]:
    """The tiers of a log's calls."""
    desk = empty_desk()
    desk.append(log.session, log.events)
    return list(desk.views[log.session].recording.tiers) or [0]


def empty_desk() -> Desk:
    return Desk(live=True, guard_of=guard_of, events_of=lambda _: ListEvents())


class Nobody(Decider):
    """Somebody could decide here; nothing is carried out."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str, Any]] = []

    def approve(self, request: Request, note: str = "") -> str:
        self.said.append(("approve", request.request, note))
        return f"{request.request} approved"

    def deny(self, request: Request, note: str = "") -> str:
        self.said.append(("deny", request.request, note))
        return f"{request.request} denied"

    def modify(self, request: Request, args: Any, note: str = "") -> str:
        self.said.append(("modify", request.request, args))
        return f"{request.request} runs with your arguments"

    def override(self, session: str, permission: Permission) -> str:
        self.said.append(("override", session, permission))
        return "granted"

    def reset(self, session: str, scope: str, key: str, note: str = "") -> str:
        self.said.append(("reset", session, (scope, key)))
        return "the count starts afresh"

    def halt(self, session: str, scope: str, children: bool, note: str = "") -> str:
        self.said.append(("halt", session, (scope, children, note)))
        return "halted"

    def resume(self, session: str, note: str = "") -> str:
        self.said.append(("resume", session, note))
        return "resumed"

    def revoke(self, session: str, grant: str) -> str:
        self.said.append(("revoke", session, grant))
        return "revoked"

    def hold(self, session: str, condition: str) -> str:
        self.said.append(("hold", session, condition))
        return "held"

    def release(self, session: str, breakpoints: list[str]) -> str:
        self.said.append(("release", session, breakpoints))
        return "released"

    def remark(self, session: str, kind: str, call: str, text: str) -> str:
        self.said.append((kind, session, (call, text)))
        return "kept"

    def delete(self, session: str) -> str:
        self.said.append(("delete", session, ""))
        return "deleted"


def live(decider: Decider | None = None, *, empty: bool = False) -> ConsoleApp:
    """A live console on the research agent and its neighbours, or on nothing yet."""
    desk = empty_desk()
    if empty:
        desk.take(batch())
    else:
        one, waits = research()
        two, halts = fixer()
        desk.take(batch(one, two, waiting=(waits, halts)))
        desk.select(one.session)
    return ConsoleApp(desk, source="~/events.db", decider=decider or Nobody())
