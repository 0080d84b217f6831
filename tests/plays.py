"""Playing a session against the guard alone: events in order, as an agent and a human write them."""

from __future__ import annotations

from typing import Any

from loopguard_core.events import Event
from loopguard_core.guard import Guard
from loopguard_core.policies import registry
from loopguard_core.verdict import Ruling, Verdict


def fresh(policy: str | list[str] = "graded", mode: str = "ask", **options: Any) -> Guard:
    """A guard in its first state. ``graded``: warn on the 2nd, block on the 3rd, halt on the 4th."""
    return Guard(registry.create(policy, options), mode=mode)


class Play:
    """One session. ``log`` is what was written, with the verdicts that stood on it."""

    def __init__(self, guard: Guard | None = None) -> None:
        self.guard = guard or fresh()
        self.log: list[Event] = []
        self.clock = 1_000_000.0

    def say(self, type: str, **data: Any) -> Event:
        """Any event, one second after the one before."""
        self.clock += 1.0
        event = Event(type, "s", seq=len(self.log) + 1, ts=self.clock, data=data)
        verdict = self.guard.apply(event)
        if verdict is not None:
            event.data["verdict"] = verdict.to_json()
        self.log.append(event)
        return event

    def start(self, tool: str = "search", args: object = "q", **more: Any) -> Ruling:
        """A call begins; the ruling on it."""
        name = f"c{len(self.log) + 1}"
        self.clock += 1.0
        data = {"call": name, "tool": tool, "args": args, **more}
        event = Event("call_start", "s", seq=len(self.log) + 1, ts=self.clock, data=data)
        ruling = self.guard.rule(event)
        event.data["verdict"] = ruling.verdict.to_json()
        assert self.guard.apply(event) == ruling.verdict
        self.log.append(event)
        return ruling

    def end(self, outcome: str = "ok", result: object = "r") -> Verdict | None:
        """The call that started last and is open ends."""
        call = self.guard.open_calls()[-1]
        event = self.say("call_end", call=call, outcome=outcome, result=result)
        found = event.data.get("verdict")
        return None if found is None else Verdict.from_json(found)

    def call(
        self,
        tool: str = "search",
        args: object = "q",
        result: object = "r",
        answer: str = "expired",
        outcome: str = "ok",
        **said: Any,
    ) -> Ruling:
        """A whole call: where a human is asked, *answer* is the resolution; refused, it ends blocked."""
        ruling = self.start(tool, args)
        runs = ruling.action == "run"
        if ruling.action == "ask":
            self.ask(answer, **said)
            runs = answer in ("approved", "modified")
        if runs:
            self.end(outcome, result)
        else:
            self.end("blocked")
        return ruling

    def ask(self, answer: str, **said: Any) -> None:
        """A request about the open call, and its resolution."""
        call = self.guard.open_calls()[-1]
        name = f"R{len(self.log)}"
        self.say(
            "request_opened", request=name, call=call, tier="block", late_until=self.clock + 60
        )
        self.say("request_resolved", request=name, call=call, resolution=answer, **said)

    def grant(self, scope: str = "signature", key: str = "", **data: Any) -> str:
        """A grant; for the signature of the last call unless *key* says otherwise."""
        name = f"G{len(self.log)}"
        if scope == "signature" and not key:
            key = self.signature
        self.say("grant", grant=name, scope=scope, key=key, **data)
        return name

    @property
    def signature(self) -> str:
        """That of the last call."""
        starts = [e for e in self.log if e.type == "call_start"]
        return str(starts[-1].data["verdict"]["signature"])

    def loop(self, times: int, **more: Any) -> list[str]:
        """The same call *times* times: what was done with each."""
        return [self.call(**more).action for _ in range(times)]
