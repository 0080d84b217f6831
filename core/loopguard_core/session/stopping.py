"""What happens to a call that may not run by itself: it is refused, or a human is asked and waited for.

Loaded when the first call of a process is stopped.
"""

from __future__ import annotations

import os

from loopguard_core import refusal
from loopguard_core.clock import monotonic
from loopguard_core.foreign import told
from loopguard_core.interrupts import is_the_agents, pass_on
from loopguard_core.session.owing import owe, owes
from loopguard_core.session.waiting import Answer, Ticket, Waiting
from loopguard_core.store.contract import StoreError, Taken
from loopguard_core.store.paths import ENVIRONMENT, default_store
from loopguard_core.urls import MISNAMED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any

    from loopguard_core.config import Config
    from loopguard_core.decision import Decision
    from loopguard_core.events import Event
    from loopguard_core.identity import Digester
    from loopguard_core.session.journal import Journal
    from loopguard_core.verdict import Ruling

#: what the model gets where nothing better can be said
_NOT_RUN = "[loopguard] This call was stopped and did not run: an internal error kept its guard from asking anybody."
#: the newest requests of a session among which one is looked for by its call
_RECENT = 50
#: what a human's answer lets run
_RUNS = ("approved", "modified")


class Stops:
    """The stopped calls of one session. *turn* is what whoever touches *journal* must hold."""

    def __init__(
        self,
        journal: Journal,
        turn: AbstractContextManager[Any],
        config: Config,
        digester: Digester,
        key: bytes,
    ) -> None:
        self._journal = journal
        self._turn = turn
        self._config = config
        self._digester = digester
        self._key = key
        self._waiting = Waiting(journal, turn, config)

    # -- in turn ---------------------------------------------------------------------------------

    def stop(self, decision: Decision, start: Event, limit: float | None) -> Ticket | None:
        """A call that may not run: ask, or refuse at once. The ticket where a human is waited for."""
        ruling = decision.ruling
        ask = ruling.action == "ask"
        if not ask and (ruling.cause in ("halt", "deny") or self._asked_latch(ruling)):
            text = refusal.refused(ruling, ruling.ref, late=False, halted=self._halted())
            self._refuse(decision, text)
            return None
        attended = ask and self._waiting.attended()
        wait = attended or (ask and self._patient(ruling))
        if not wait and not ruling.ends_turn:
            known = self._journal.guard.unanswered(ruling.verdict.signature, start.ts)
            if known:
                decision.request = known
                self._refuse(decision, refusal.refused(ruling, known, late=True, away=self._away()))
                return None
        seen = self._seen(decision)
        ticket = self._waiting.open(start, ruling, seen, limit, wait=wait, attended=attended)
        decision.request = ticket.request
        waits = bool(ticket.request) and (ticket.until is None or ticket.until > monotonic())
        ticket.told = waits and not ticket.shared
        if ticket.shared:
            return ticket
        line = refusal.for_person(
            ruling,
            decision.tool,
            self._journal.session,
            ticket.request,
            waits=waits,
            runs=self._waiting.unanswered(ruling) == "run",
            late=self._late,
            store=self._elsewhere(),
        )
        away = self._away()
        self._journal.say(f"{line}; nobody can be asked: {away}" if away else line)
        if waits:
            return ticket
        self.settle(decision, ticket, self._waiting.resolve(ticket, "expired"))
        return None

    @property
    def _late(self) -> bool:
        """Whether a request may be approved when nobody waits for it any more."""
        return self._config.late_approval_seconds > 0

    def _away(self) -> str:
        """Why nobody can be asked now; empty where they can."""
        away = self._journal.away
        return "" if away is None else str(away)

    def _elsewhere(self) -> str:
        """Where the store is, unless a console finds it where it looks by itself."""
        usual = {name: text for name, text in os.environ.items() if name != ENVIRONMENT}
        place = self._journal.place
        return "" if place in (default_store(usual), MISNAMED) else place

    def _halted(self) -> str:
        """The scope of the human's halt that stands: ``session``, else ``turn``."""
        halt = self._journal.guard.controls.halt
        return "turn" if halt is None else halt.scope

    def _asked_latch(self, ruling: Ruling) -> bool:
        latch = self._journal.guard.latch
        return ruling.cause == "latch" and latch is not None and latch.asked

    def _patient(self, ruling: Ruling) -> bool:
        return (
            self._config.unattended_wait_seconds > 0 or self._waiting.unanswered(ruling) == "wait"
        )

    def _seen(self, decision: Decision) -> str:
        """Digest of what a person is shown of a request."""
        why, word = decision.ruling.why, decision.tier.word
        shown = (decision.tool, decision.payload.digest, word, str(why.count), why.reason)
        return self._digester("\0".join(shown))

    def settle(self, decision: Decision, ticket: Ticket, answer: Answer) -> None:
        """Turn an answer into what happens, and say in the log that the agent took it."""
        try:
            self._settle(decision, ticket, answer)
        except BaseException as error:
            self._journal.undo()  # before another thread judges by what is half done
            if is_the_agents(error):
                raise
            self._fell(decision, error, nobody=answer.resolution == "expired")

    def give_up(self, decision: Decision, start: Event, error: BaseException) -> None:
        """*error* came after the ruling that stops a call, before anybody answered: as if nobody did."""
        ruling = decision.ruling
        if not decision.ids:  # its start is not in the log
            self._fell(decision, error, nobody=True)
            return
        try:
            self._journal.say(_error(decision.tool, error))
            ticket = Ticket(start, ruling, 0.0, False)
            ticket.request = next(iter(self._asked_about(decision.call)), "")
            if ruling.action != "ask" and not ticket.request:
                text = refusal.refused(ruling, ruling.ref, late=False, halted=self._halted())
                self._refuse(decision, text)
                return
            self._settle(decision, ticket, self._waiting.resolve(ticket, "expired"))
        except Exception as again:  # noqa: BLE001 - whatever it is, the call is stopped
            pass_on(again)
            self._fell(decision, again, nobody=True)

    def _fell(self, decision: Decision, error: BaseException, *, nobody: bool) -> None:
        """Nothing works: a stopped call does not run, unless that is configured where *nobody* answers."""
        decision.run = nobody and self._waiting.unanswered(decision.ruling) == "run"
        decision.modified = False
        if not decision.run:
            decision.message, decision.ends_turn = _NOT_RUN, decision.ruling.ends_turn
        self._journal.say(_error(decision.tool, error))

    def _settle(self, decision: Decision, ticket: Ticket, answer: Answer) -> None:
        resolution, ruling = answer.resolution, decision.ruling
        runs = resolution == "expired" and self._waiting.unanswered(ruling) == "run"
        if (runs or resolution in _RUNS) and (later := self._waiting.overruled(ticket)):
            answer, resolution, runs = later, later.resolution, False
        if ticket.told and resolution not in _RUNS:
            store, late = self._elsewhere(), self._late
            line = refusal.after_wait(
                resolution, ticket.request, answer.by, runs=runs, late=late, store=store
            )
            self._journal.say(line)
        if resolution in _RUNS:
            if resolution == "modified" and not self._modify(decision, ticket, answer):
                return
            self._deliver(ticket)
            if resolution == "approved" and answer.note:
                decision.message = refusal.approved(ticket.request, answer.note)
            return
        if self._journal.over:  # whoever ended the session has written how it ends
            decision.run = False
            decision.message = refusal.answered(resolution, ruling, ticket.request, answer.note)
            return
        if runs:
            decision.message = refusal.unanswered(ruling)
            return
        if resolution == "expired":
            text = refusal.refused(ruling, ticket.request, late=self._late, away=self._away())
        else:
            self._deliver(ticket)
            halted, note = self._halted(), answer.note
            text = refusal.answered(resolution, ruling, ticket.request, note, halted=halted)
        self._refuse(decision, text, halted=resolution == "halted")

    def _modify(self, decision: Decision, ticket: Ticket, answer: Answer) -> bool:
        """Take the human's arguments; False where they cannot be had, and the call is refused."""
        from loopguard_core.restoring import Unknown, restore  # few calls are changed

        try:
            args = restore(answer.args, decision.args, self._key, self._config.redaction)
            if isinstance(decision.args, dict) and not isinstance(args, dict):
                raise Unknown("the arguments have names, and the new ones have none")
        except Unknown as error:
            self._journal.say(f"{ticket.request} could not be delivered: {error}")
            self._refuse(decision, refusal.undeliverable(ticket.request))
            return False
        decision.args, decision.modified = args, True
        decision.message = refusal.modified(ticket.request, answer.note)
        return True

    def _deliver(self, ticket: Ticket) -> None:
        if not ticket.request:
            return
        try:
            data = {"request": ticket.request, "call": ticket.call}
            delivered = self._journal.event("request_delivered", data)
            self._journal.add(delivered)
            owe(self._journal, delivered)
        except Taken:
            pass  # another process took it: both act on the same answer

    def _refuse(self, decision: Decision, text: str, *, halted: bool = False) -> None:
        decision.run = False
        decision.message = text
        decision.ends_turn = decision.ruling.ends_turn or halted
        self._close(decision.call, "blocked", text)

    def _close(self, call: str, outcome: str, result: str | None) -> None:
        end = self._journal.event("call_end", {"call": call, "outcome": outcome, "result": result})
        try:
            self._journal.finish(end)
        except Taken:
            pass  # the same call id has ended before; it counts once
        if owes(self._journal, call):
            owe(self._journal, end)

    def told(self, call: str, ruling: Ruling) -> str:
        """What the model is to read beside the result of *call*, which waited in another process; empty for nothing."""
        store = self._journal.store
        if store is None or self._journal.failure:
            return ""
        try:
            asked = store.requests(session=self._journal.session, limit=_RECENT)
        except StoreError:
            return ""
        about = next((request for request in asked if request.call == call), None)
        if about is not None and about.resolution == "approved" and about.note:
            return refusal.approved(about.request, about.note)
        if about is not None and about.resolution == "expired":
            return refusal.unanswered(ruling)
        return ""

    def abandon(self, call: str) -> None:
        """Nobody runs *call*, nor waits for it, any more: it is cancelled, and what was asked about it."""
        self.withdraw(call)
        if call in self._journal.guard.open_calls():
            self._close(call, "cancelled", None)

    def withdraw(self, call: str) -> None:
        """What was asked about *call* is asked no more."""
        with self._turn:
            for request in self._asked_about(call):
                said = {"request": request, "call": call, "resolution": "cancelled"}
                resolved = self._journal.event("request_resolved", said)
                try:
                    self._journal.add(resolved)
                    owe(self._journal, resolved)
                except Taken:
                    pass  # a human was faster

    def _asked_about(self, call: str) -> list[str]:
        """The requests about *call* that wait. The guard forgets them with its turn, the log does not."""
        journal = self._journal
        # one without a name was asked about while the store failed: the log has nothing of it
        known = [request for request, about in journal.guard.asked() if request and about == call]
        if known or journal.store is None or journal.failure:
            return known
        try:
            asked = journal.store.requests(session=journal.session, pending=True)
        except StoreError:
            return []
        return [request.request for request in asked if request.call == call]

    def leave_open(self, call: str) -> None:
        """The session ends, and nobody has said how *call* did."""
        self._close(call, "pending", None)

    # -- the wait (not in turn) ------------------------------------------------------------------

    def wait(self, ticket: Ticket) -> Answer:
        """Wait for the answer. Interrupted, the request does not stay open."""
        try:
            return self._waiting.wait(ticket)
        except BaseException as error:
            if not is_the_agents(error):
                return self._unanswered(ticket, error)
            self._interrupted(ticket)
            raise

    async def wait_async(self, ticket: Ticket) -> Answer:
        """As ``wait``, without blocking the event loop."""
        try:
            return await self._waiting.wait_async(ticket)
        except BaseException as error:
            if not is_the_agents(error):
                return self._unanswered(ticket, error)
            self._interrupted(ticket)
            raise

    def _unanswered(self, ticket: Ticket, error: BaseException) -> Answer:
        """*error* ended the wait: as if nobody had answered in time."""
        with self._turn:
            self._journal.say(_error(ticket.start.text("tool"), error))
            try:
                self._journal.undo()
                return self._waiting.resolve(ticket, "expired")
            except Exception as again:  # noqa: BLE001 - whatever it is, nobody answers
                pass_on(again)
                return Answer("expired")

    def _interrupted(self, ticket: Ticket) -> None:
        """Ctrl-C, or the task was cancelled: nobody waits any more, so the request must not stay open."""
        with self._turn:
            self._waiting.resolve(ticket, "cancelled")
            self._close(ticket.call, "cancelled", None)


def _error(tool: str, error: BaseException) -> str:
    return f"internal error while {refusal.plain(tool, 60)} was stopped: {told(error)}"
