"""A running session as its agent sees it: judge a call, wait for a human, record how it ended.

Shim, hook and adapters stand on this one class. Nothing but ``ConfigError`` from a wrong policy leaves it:
whatever goes wrong inside is said once and the agent goes on.
"""

from __future__ import annotations

import os
import time
from _thread import RLock
from _weakref import ref

from loopguard_core import refusal
from loopguard_core.checkpoint import Checkpoint
from loopguard_core.config import state_folder
from loopguard_core.decision import ALLOWED, CallNames, Decision
from loopguard_core.events import OUTCOMES, Judged
from loopguard_core.foreign import fields_of, is_a_time, listening, once, text_of, told
from loopguard_core.guard import Guard
from loopguard_core.identity import Digester, Payload
from loopguard_core.interrupts import is_the_agents, pass_on
from loopguard_core.serving import BESIDE, joins
from loopguard_core.session.doors import Doors
from loopguard_core.session.journal import Journal
from loopguard_core.session.opening import key_for, opening, to_stderr
from loopguard_core.store.contract import Taken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from loopguard_core.config import Config
    from loopguard_core.session.returning import Traveller
    from loopguard_core.session.stopping import Stops
    from loopguard_core.session.waiting import Ticket
    from loopguard_core.store.contract import Store

__all__ = ["LiveSession", "to_stderr"]


class LiveSession:
    """One guarded session. Any thread or task may use it; it survives ``fork``.

    *store* is opened by the configuration unless given. *pid*: the agent's process where it is not this
    one. *attach*: this process serves a session that runs elsewhere (a hook, started for every call), so
    no session start is written where the store knows the session. *served* says by what, if not by the
    agent's own process; *beside*: another guard of this process serves it, too. Raises ``ConfigError`` for a policy
    that cannot be made.
    """

    #: when this process began, in seconds since the epoch, where it serves one call (a hook)
    began: float | None = None
    _met = ""  # the call that an interrupt met

    def __init__(
        self,
        config: Config,
        session: str,
        *,
        agent: str = "",
        name: str = "",
        cwd: str = "",
        parent: str = "",
        pid: int | Callable[[], int] = 0,
        resumed: bool = False,
        attach: bool = False,
        served: str = "",
        beside: bool = False,
        store: Store | None = None,
        doors: Doors | None = None,
        say: Callable[[str], None] = to_stderr,
    ) -> None:
        self.config = config
        self.session = session
        self._say = say = say if say is to_stderr else listening(say)
        self._lock = RLock()
        self._owns_store = store is None
        self._pid = os.getpid()
        self._ended = False
        self._brief = attach
        self._names = CallNames()
        tell = once(say)
        policies = [config.make_policy(tell)]
        traits = config.trait_table()
        if store is None:
            doors = doors or Doors(config)
        key = self._key = key_for(
            store.place if store is not None else doors.place if doors else ""
        )
        digester = self._digester = Digester(key)

        def fresh() -> Guard:
            policy = policies.pop() if policies else config.make_policy(tell)
            return Guard(
                policy, mode=config.mode, traits=traits, digester=digester, unique=True, ours=True
            )

        self._journal = Journal(session, store, fresh, say, doors)
        self._traveller: Traveller | None = None
        if doors is not None and doors.remote and not attach:  # a hook is too short-lived
            # a store in a file does not go away
            from loopguard_core.session.returning import Traveller

            self._traveller = Traveller(self._journal, self._lock, doors)
            self._journal.gone = self._traveller.wait
        self._stops: Stops | None = None
        if attach and store is not None:
            self._journal.checkpoint = Checkpoint(
                os.path.join(state_folder(), "guards"), key, store, session, config.digest
            )
        self._journal.opening = opening(config, agent, cwd, pid, parent, name=name, served=served)
        try:
            self._begin(resumed, attach, parent, served, beside)
        except BaseException as error:
            self.undone(error)
            raise
        _sessions[:] = [r for r in _sessions if r() is not None]
        _sessions.append(ref(self))

    def _stopped(self) -> Stops:
        """What is done with a call that may not run: no process that stops none needs its code."""
        if self._stops is None:
            from loopguard_core.session.stopping import Stops

            self._stops = Stops(self._journal, self._lock, self.config, self._digester, self._key)
        return self._stops

    def _begin(self, resumed: bool, attach: bool, parent: str, served: str, beside: bool) -> None:
        journal, own = self._journal, self._journal.opening
        known = journal.open()
        why = "outage" if known is None and attach and journal.away is not None else ""
        if known is not None:
            journal.resume()
            if not (known.ended or served) and (beside or joins(journal.store, self.session, own)):
                why = BESIDE
            elif attach and not known.ended:
                if journal.guard.settings not in ("", self.config.digest):
                    journal.begin(True, reason="configuration")
                return
        journal.begin(resumed or bool(why) or known is not None, why, shared=attach)
        if parent and known is None:
            from loopguard_core.session.inheriting import inherit  # few sessions have a parent

            inherit(journal, parent)

    # -- what the agent does ---------------------------------------------------------------------

    @property
    def guard(self) -> Guard:
        """The guard as it stands. To look at, not to feed."""
        return self._journal.guard

    @property
    def failure(self) -> str:
        """What is wrong with the store, empty where nothing is."""
        return self._journal.failure

    @property
    def away(self) -> str:
        """Since when the server is away, and why; empty where events reach it."""
        away = self._journal.away
        return "" if away is None else str(away)

    @property
    def stopped(self) -> bool:
        """True where a call of this process was refused, or asked about."""
        return self._stops is not None

    def tell(self, line: str) -> None:
        """Tell the person one line, where this session's lines go."""
        self._say(line)

    def turn(self, text: str = "", *, human: bool = True) -> None:
        """A turn begins: with a human's message, or declared by the host (*text* is its reason)."""
        if human:
            self._record("user_message", {"text": text})
        else:
            self._record("turn_start", {"reason": text})

    def note(self, type: str, data: dict[str, Any]) -> None:
        """Record an event that is not a call (``assistant_text``, ``system_message``, ``note``, ``usage``)."""
        self._record(type, data)

    def before(
        self,
        tool: str,
        args: object,
        call: str = "",
        message: str = "",
        agent: str = "",
        annotations: Mapping[str, Any] | None = None,
        wait_limit: float | None = None,
    ) -> Decision:
        """Judge a call before it runs; where a human is asked, wait for them.

        *wait_limit*: seconds after which the host itself would give up, less a margin. An interrupt that
        comes meanwhile (Ctrl-C) goes on to the agent, and the call is recorded as cancelled.
        """
        if type(call) is not str:
            call = text_of(call)
        named = not call
        try:
            with self._lock:
                if named:
                    call = self._names.another()
                decision, ticket = self._judge(
                    tool, args, call, named, message, agent, annotations, wait_limit
                )
            if ticket is not None:
                answer = self._stopped().wait(ticket)
                with self._lock:
                    self._stopped().settle(decision, ticket, answer)
                decision.began = time.monotonic()
            if self._journal.checkpoint is not None:
                with self._lock:
                    self._journal.keep()
        except BaseException as error:
            if is_the_agents(error):
                self._interrupted(call, tool, args, message)
                raise
            from loopguard_core.session.failing import unruled  # hardly ever

            asked = tool, args, call, message, agent, annotations, wait_limit
            return unruled(self, self._stops, error, asked)
        return decision

    async def before_async(
        self,
        tool: str,
        args: object,
        call: str = "",
        message: str = "",
        agent: str = "",
        annotations: Mapping[str, Any] | None = None,
        wait_limit: float | None = None,
    ) -> Decision:
        """As ``before``, without blocking the event loop. A cancelled task resolves its request ``cancelled``."""
        if type(call) is not str:
            call = text_of(call)
        named = not call
        try:
            with self._lock:
                if named:
                    call = self._names.another()
                decision, ticket = self._judge(
                    tool, args, call, named, message, agent, annotations, wait_limit
                )
            if ticket is not None:
                answer = await self._stopped().wait_async(ticket)
                with self._lock:
                    self._stopped().settle(decision, ticket, answer)
                decision.began = time.monotonic()
        except BaseException as error:
            if is_the_agents(error):
                self._interrupted(call, tool, args, message)
                raise
            from loopguard_core.session.failing import unruled  # hardly ever

            asked = tool, args, call, message, agent, annotations, wait_limit
            return unruled(self, self._stops, error, asked)
        return decision

    def recall(
        self, call: str, tool: str, args: object, annotations: Mapping[str, Any] | None = None
    ) -> Decision:
        """The decision on a call that another process let run, to be given to ``after``.

        Without *call* (a host that does not name calls) it is the oldest open one that looks the same.
        """
        payload = Payload(args, self._digester)
        with self._lock:
            guard = self.guard
            if not call:
                call = guard.open_call(tool, payload.digest)
            elif not guard.is_open(call, tool, payload.digest):  # an id that was used again
                from loopguard_core.session.again import name_of

                call = name_of(guard, call, tool, payload.digest) or call
            ids = guard.records(call, tool) or guard.reading.request(tool, payload, annotations)
            ruling = guard.ruling(call) or ALLOWED
            decision = Decision(call, tool, payload, ruling, ids, annotations)
            if ruling.action == "ask":
                decision.message = self._stopped().told(call, ruling)
        return decision

    def after(
        self,
        decision: Decision,
        result: object,
        outcome: str = "ok",
        duration: float | None = None,
        foreign: Mapping[str, Any] | None = None,
    ) -> str:
        """Record how a call ended (*outcome*: one of ``events.OUTCOMES``; *foreign*: another guard's verdict).

        Gives the advice that is to be appended to its result, empty for none. Nothing is recorded for a
        call that did not run, nor a second time.
        """
        if not (decision.run and decision.ids):
            return ""
        try:
            payload = Payload(result, self._digester)
            if duration is None or not is_a_time(duration):
                duration = time.monotonic() - decision.began
            ok = True
            if outcome != "ok":
                ok = False
                if outcome not in OUTCOMES:
                    self._say(refusal.no_outcome(text_of(outcome), OUTCOMES))
                    outcome = "error"
            asked, journal = decision.payload, self._journal
            with self._lock:
                ids = journal.guard.reading.outcome(
                    decision.tool, asked, payload, ok, decision.ids, decision.annotations
                )
                end = {
                    "call": decision.call,
                    "outcome": outcome,
                    "result": result,
                    "duration": int(duration * 1e6) / 1e6,
                    "ids": ids,
                }
                if foreign is not None:
                    end["foreign"] = dict(foreign)
                try:
                    verdict = journal.finish(Judged("call_end", self.session, time.time(), end))
                except Taken:
                    return ""
                except BaseException as error:
                    self.undone(error)
                    raise
                if journal.checkpoint is not None:
                    journal.keep()
            decision.verdict = verdict
            latch = journal.guard.latch
            if latch is not None and verdict is not None and latch.verdict is verdict:
                decision.ends_turn = True
            if self.config.mode == "observe":
                return decision.message
            return refusal.beside(decision.message, decision.ruling, verdict)
        except BaseException as error:
            if is_the_agents(error):
                if self.undone(error):
                    self.after(decision, result, outcome, duration, foreign)
                raise
            from loopguard_core.session.failing import unrecorded  # hardly ever

            return unrecorded(self, error, (decision, result, outcome, duration, foreign))

    def end(self, reason: str = "", *, beside: bool = False) -> None:
        """The session is over, unless others serve it too, or *beside* this. Recorded once, not by a forked child."""
        if self._pid != os.getpid():
            return
        with self._lock:  # no call of another thread comes in between, or after
            if self._ended:
                return
            self._journal.insist()
            from loopguard_core.session.leaving import leave  # once a session

            try:
                leave(self._journal, self._stopped, reason, beside=beside)
            except BaseException as error:
                self.undone(error)
                raise
            self._ended = True
            if self._owns_store and self._traveller is None:
                self._journal.close()
        if self._journal.checkpoint is not None:
            self._journal.checkpoint.remove()
        if self._traveller is not None:
            self._traveller.leave()
            if self._owns_store:
                self._journal.close()

    def __enter__(self) -> LiveSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()

    # -- judging ---------------------------------------------------------------------------------

    def _judge(
        self,
        tool: str,
        args: object,
        call: str,
        named: bool,
        message: str,
        agent: str,
        annotations: Mapping[str, Any] | None,
        limit: float | None,
    ) -> tuple[Decision, Ticket | None]:
        journal, guard = self._journal, self._journal.guard
        if not type(tool) is type(agent) is type(message) is str:
            tool, agent, message = text_of(tool), text_of(agent), text_of(message)
        if annotations is not None:
            annotations = fields_of(annotations)
        payload = Payload(args, self._digester)
        ids = guard.reading.request(tool, payload, annotations)
        data: dict[str, Any] = {
            "call": call,
            "tool": tool,
            "args": args,
            "message": message or guard.peer_message(tool, ids["exact"]["a"], agent) or call,
            "ids": ids,
        }
        if agent:
            data["agent"] = agent
        if annotations:
            data["traits"] = annotations
        start = Judged("call_start", self.session, time.time(), data, payload.text, named)
        decision = None
        try:
            try:
                ruling = journal.start(start)
            except Taken as taken:
                from loopguard_core.session.again import rule_again  # few calls come again

                ruling = rule_again(journal, start, taken.seq, message, self.began)
                call = start.text("call")
            decision = Decision(call, tool, payload, ruling, ids, annotations)
            if ruling.action == "run":
                return decision, None
            return decision, self._stopped().stop(decision, start, limit)
        except BaseException as error:
            self.undone(error)  # before another thread judges by what is half done
            if is_the_agents(error) or isinstance(error, RecursionError):
                raise
            from loopguard_core.session.failing import decide  # hardly ever

            return decide(
                self.missed, journal, self._stopped(), start, payload, decision, error
            ), None

    def _record(self, type: str, data: dict[str, Any]) -> None:
        try:
            with self._lock:
                try:
                    self._journal.add(self._journal.event(type, data))
                except BaseException as error:
                    self.undone(error)
                    raise
        except BaseException as error:
            if is_the_agents(error):
                raise
            self.missed(f"internal error while {text_of(type)} was recorded: {told(error)}")

    def missed(self, why: str) -> None:
        """Something of the session is not in the log, and not because of the store: say so, there as well."""
        self._say(why)
        try:
            with self._lock:
                self._journal.add(self._journal.event("gap", {"count": 1, "reason": why}))
        except Exception as error:  # noqa: BLE001 - it was said above
            pass_on(error)

    def _interrupted(self, call: str, tool: str, args: object, message: str) -> None:
        """An interrupt came while *call* was judged: it does not run."""
        self._met = call
        if not self._brief:
            self.cancel(call, tool, args, message)

    def cancel(self, call: str, tool: str, args: object, message: str = "") -> None:
        """*call* does not run after all: a process that serves one call was kept from judging it."""
        from loopguard_core.session.again import name_of  # few calls are interrupted

        with self._lock:
            if not self._ended and self._journal.undo():
                digest = Payload(args, self._digester).digest
                call, tool, message = self._met or call, text_of(tool), text_of(message)
                self._stopped().abandon(name_of(self.guard, call, tool, digest, message))

    def undone(self, error: BaseException) -> bool:
        """*error* came in the middle of a step: nothing of it stays half done. False where that fails."""
        if self._brief and not isinstance(error, Exception):
            return False  # a process that serves one call ends with an interrupt, and has no time for it
        with self._lock:  # nothing is half done in a store that was closed
            return (self._ended and self._owns_store) or self._journal.undo()


_sessions: list[ref[LiveSession]] = []


def _after_fork_in_child() -> None:
    """The child has one thread: no lock may stay with one that is gone."""
    for found in _sessions:
        session = found()
        if session is not None:
            session._lock = RLock()
            session._names.begin()
            session._stops = None
            if session._traveller is not None:
                session._traveller.turn = session._lock


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
