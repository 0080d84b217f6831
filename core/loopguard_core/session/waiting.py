"""The agent's side of a request: open it, wait for a human, take the answer.

A wait costs no processor time: it ends on the store's wake-up, and looks by itself every two seconds. It
ends when the request is resolved, when an instruction that came since (a grant, a reset, a resume, a halt,
the denial of the same call) settles the call, or when its time is over; then the request is resolved
``expired``, unless a human was faster. However it ends, the resolution is written by compare-and-set, once.
"""

from __future__ import annotations

import os
import sys
import time
from functools import partial

from loopguard_core.clock import monotonic
from loopguard_core.foreign import text_of
from loopguard_core.inbox import abandoned
from loopguard_core.interrupts import pass_on
from loopguard_core.processes import started, user
from loopguard_core.refusal import plain
from loopguard_core.session.owing import owe
from loopguard_core.store.contract import StoreError, Taken
from loopguard_core.verdict import Tier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractContextManager
    from typing import Any

    from loopguard_core.config import Config
    from loopguard_core.events import Event
    from loopguard_core.session.journal import Journal
    from loopguard_core.store.contract import Request, Store
    from loopguard_core.verdict import Ruling

_LOOK = 2.0
#: seconds between two looks of a task that has no thread to wait for it
_GLANCE = 0.1
#: how long a wait goes on while the store cannot be read, in seconds
_BLIND = 5.0
#: times that a request is written on the condition that nobody else wrote
_TRIES = 20
#: the newest requests of a session among which one is looked for by its call
_RECENT = 50
_ENDS = "request_resolved"


class Answer:
    """How a request ended. ``args`` are a human's where ``resolution`` is ``modified``."""

    __slots__ = ("args", "by", "note", "resolution")

    def __init__(self, resolution: str, by: str = "", note: str = "", args: object = None) -> None:
        self.resolution = resolution
        self.by = by
        self.note = note
        self.args = args


class Ticket:
    """One call that waits. Times on the monotonic clock; ``until`` None waits as long as it takes.

    ``told``: a person was told that it waits. ``shared``: another process opened the request.
    """

    __slots__ = (
        "attended",
        "blind_since",
        "call",
        "left_since",
        "looked_at",
        "request",
        "ruling",
        "seen",
        "shared",
        "start",
        "told",
        "until",
    )

    def __init__(self, start: Event, ruling: Ruling, until: float | None, attended: bool) -> None:
        self.start = start
        self.call = start.text("call")
        self.ruling = ruling
        self.until = until
        self.attended = attended
        self.request = ""
        self.shared = self.told = False
        self.seen: Event | None = None
        self.blind_since = 0.0
        self.looked_at = self.left_since = 0.0


class Waiting:
    """The waits of one session. *turn* is what whoever touches *journal* must hold."""

    def __init__(self, journal: Journal, turn: AbstractContextManager[Any], config: Config) -> None:
        self._journal = journal
        self._turn = turn
        self._config = config
        self._wake: _Wake | None = None
        self._waiters = 0

    # -- before the wait (in turn) ---------------------------------------------------------------

    def attended(self) -> bool:
        """True where a console is attached to the store."""
        store = self._journal.store
        if store is None or self._journal.failure or self._journal.away is not None:
            return False
        try:
            return bool(store.attached(time.time()))
        except StoreError:
            return False

    def unanswered(self, ruling: Ruling) -> str:
        """What happens when nobody answers; a call about which nobody is asked is refused."""
        return self._config.unanswered[_tier(ruling).word] if ruling.action == "ask" else "refuse"

    def _late(self, ruling: Ruling) -> float:
        """For how long after its end a request may be approved, in seconds: what ran without an answer needs none."""
        return 0.0 if self.unanswered(ruling) == "run" else self._config.late_approval_seconds

    def open(
        self,
        start: Event,
        ruling: Ruling,
        seen: str,
        limit: float | None,
        *,
        wait: bool,
        attended: bool,
    ) -> Ticket:
        """Open a request about the call of *start*, or share one on which another process waits for it.

        *limit*: the host's own, in seconds.
        """
        config, journal = self._config, self._journal
        patience: float | None = 0.0
        unanswered = self.unanswered(ruling)
        if wait:
            patience = config.wait_seconds if attended else config.unattended_wait_seconds
            if unanswered == "wait":
                patience = None
        if limit is not None and not (isinstance(limit, (int, float)) and -1e9 < limit < 1e9):
            journal.say(f"wait_limit is a number of seconds, not {plain(text_of(limit), 60)}")
            limit = None
        if limit is not None:
            patience = limit if patience is None else min(patience, max(0.0, limit))
        now = time.time()
        until = None if patience is None else monotonic() + patience
        ticket = Ticket(start, ruling, until, attended)
        # what the ruling knew: more may come before the request is in the log
        ticket.seen = journal.word
        deadline = None if patience is None else now + patience
        data = {
            "call": ticket.call,
            "tool": start.text("tool"),
            "signature": ruling.verdict.signature,
            "tier": _tier(ruling).word,
            "cause": ruling.cause,
            "verdict": ruling.why.to_json(),
            "seen": seen,
            "deadline": deadline,
            "late_until": None if deadline is None else deadline + self._late(ruling),
            "unanswered": unanswered,
            "pid": os.getpid(),
            "pid_started": started(os.getpid()),
            "host": os.uname().nodename,
            "user": user(),
        }
        for last in range(_TRIES, -1, -1):
            ticket.request = "" if patience == 0 else self._asked_by_others(ticket.call)
            ticket.shared = bool(ticket.request)
            if ticket.shared:
                break
            opened = journal.event("request_opened", dict(data))
            journal.add(opened, once=bool(last))
            if opened.seq or journal.failure or not last:
                ticket.request = opened.text("request")
                break
        return ticket

    def _asked_by_others(self, call: str) -> str:
        """The request about *call* on which another process waits, as where a hook is installed twice; empty for none."""
        store = self._journal.store
        for request, about in self._journal.guard.asked():
            if about != call or not request or store is None or self._journal.failure:
                continue
            try:
                asked = store.request(request)
                if asked is not None and not asked.resolution and not abandoned(store, asked):
                    return request
            except StoreError:
                continue
        return ""

    # -- the wait (not in turn) ------------------------------------------------------------------

    def wait(self, ticket: Ticket, cancelled: Callable[[], bool] = lambda: False) -> Answer:
        """Wait until *ticket* has its answer. Blocks; holds nothing meanwhile."""
        with self._turn:
            self._waiters += 1
        try:
            return self._waited(ticket, cancelled)
        finally:
            with self._turn:
                self._waiters -= 1
                store = self._journal.store
                if self._wake is not None and not self._waiters and store is not None:
                    store.unwatch(self._journal.session)

    def _waited(self, ticket: Ticket, cancelled: Callable[[], bool]) -> Answer:
        while True:
            answer = self._answer(ticket, cancelled)
            if answer is not None:
                return answer
            left = _LOOK
            if ticket.until is not None:
                left = min(left, max(0.0, ticket.until - monotonic()))
            self._pause(left)

    def _answer(self, ticket: Ticket, cancelled: Callable[[], bool]) -> Answer | None:
        """The answer, where there is one by now or the time is over."""
        with self._turn:
            try:
                answer = self._look(ticket)
                if answer is None and cancelled():
                    answer = self.resolve(ticket, "cancelled")
                if answer is None and self._over(ticket):
                    answer = self.resolve(ticket, "expired")
            except BaseException:
                self._journal.undo()  # before another thread judges by what is half done
                raise
        return answer

    async def wait_async(self, ticket: Ticket) -> Answer:
        """As ``wait``, in a thread of its own; the event loop runs on. Cancelled, the thread ends soon."""
        import asyncio  # an agent that awaits has it loaded
        import threading

        if (sleep := _sleep_of_trio()) is not None:
            return await self._glancing(ticket, sleep)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # a loop of another kind, or none: it is held up
            return self.wait(ticket)
        future: asyncio.Future[Answer] = loop.create_future()
        cancelled = threading.Event()

        def deliver(answer: Answer | None, error: Exception | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            elif answer is not None:
                future.set_result(answer)

        def run() -> None:
            answer, failed = None, None
            try:
                answer = self.wait(ticket, cancelled.is_set)
            except Exception as error:  # noqa: BLE001 - raised again where it is awaited
                failed = error
            if cancelled.is_set():
                return
            try:
                loop.call_soon_threadsafe(deliver, answer, failed)
            except RuntimeError:
                pass  # the loop was closed: nobody waits any more

        try:
            threading.Thread(target=run, name="loopguard-wait", daemon=True).start()
        except RuntimeError:  # the system gives no more threads
            return await self._glancing(ticket, asyncio.sleep)
        try:
            return await future
        finally:
            cancelled.set()

    async def _glancing(self, ticket: Ticket, sleep: Callable[[float], Awaitable[None]]) -> Answer:
        """Wait without a thread: look, and let the other tasks go on meanwhile."""
        while (answer := self._answer(ticket, bool)) is None:
            await sleep(_GLANCE)
        return answer

    def _pause(self, seconds: float) -> None:
        store = self._journal.store
        if store is None or self._journal.failure or self._journal.away is not None:
            time.sleep(min(seconds, 0.2))
            return
        if self._wake is None:
            self._wake = _Wake()
        self._wake.pause(partial(store.changed, session=self._journal.session), seconds)

    def _look(self, ticket: Ticket) -> Answer | None:
        journal = self._journal
        if journal.over:
            return Answer("cancelled")
        journal.catch_up()
        answer = self._resolved(ticket)
        if answer is not None:
            return answer
        word, news = journal.word, journal.word is not ticket.seen
        ticket.seen = word
        if news or journal.guard.controls.denials:
            return self._settled(ticket, word if news else None)
        return None

    def _resolved(self, ticket: Ticket) -> Answer | None:
        store = self._journal.store
        if store is None or not ticket.request or self._journal.failure:
            return None
        try:
            request = store.request(ticket.request) or self._by_call(store, ticket)
            if request is None and self._journal.away is not None:
                return None  # it was opened before the server went away
            if request is None:  # deleted with its session, or with the whole store
                self._journal.catch_up()  # which begins the session anew, before the answer is noted
                return Answer("cancelled")
            if not request.resolution:
                return None
            given = _given(store, request) if request.resolution == "modified" else None
        except StoreError:
            return None
        return Answer(request.resolution, request.by, request.note, given)

    def _by_call(self, store: Store, ticket: Ticket) -> Request | None:
        """The request under another name: the server gave it one, and the answer was lost on the way."""
        for request in store.requests(session=self._journal.session, limit=_RECENT):
            if request.call == ticket.call:
                ticket.request = request.request
                return request
        return None

    def _settled(self, ticket: Ticket, word: Event | None) -> Answer | None:
        """What came meanwhile means for the call that waits: an instruction *word*, or the denial of another."""
        now = self._journal.guard.rule(ticket.start)
        by = now.by or ("" if word is None else word.text("by"))
        if now.cause == "deny":
            return self.resolve(ticket, "denied", by=by, note=now.note)
        if word is None:
            return None
        if now.action == "run":
            grant = now.ref if now.cause == "grant" else ""
            answer = self._written(ticket, "approved", {"by": by, "grant": grant}, once=True)
            if answer is None:  # somebody wrote meanwhile, who may have spent the grant, or halted
                ticket.seen = None
                return self._look(ticket)
            return answer
        if now.cause == "halt":
            return self.resolve(ticket, "halted", by=by, note=now.note)
        return None

    def overruled(self, ticket: Ticket) -> Answer | None:
        """The halt that a human gave since the answer that lets the call of *ticket* run; None for none. In turn.

        A no to another request says nothing of one that was answered.
        """
        journal, store = self._journal, self._journal.store
        journal.catch_up()
        halt, start = journal.guard.controls.halt, ticket.start
        if halt is None or journal.guard.rule(start).cause == "grant":
            return None
        if store is None or journal.failure or journal.away is not None:
            return None  # nobody can tell which came first
        try:
            since = store.read(journal.session, after=halt.seq, payloads=False)
        except StoreError:
            return None
        if any(e.type == _ENDS and e.text("request") == ticket.request for e in since):
            return None
        return Answer("halted", halt.by, halt.note)

    def resolve(self, ticket: Ticket, resolution: str, **said: str) -> Answer:
        """Resolve the request from the agent's side; where a human was faster, theirs is the answer."""
        return self._written(ticket, resolution, said) or Answer("expired")

    def _written(
        self, ticket: Ticket, resolution: str, said: dict[str, str], *, once: bool = False
    ) -> Answer | None:
        """The answer, in the log; with *once* only where nobody wrote to it meanwhile, else None."""
        data: dict[str, Any] = {
            "request": ticket.request,
            "call": ticket.call,
            "signature": ticket.ruling.verdict.signature,
            "resolution": resolution,
        }
        if resolution == "expired":
            data["late_until"] = time.time() + self._late(ticket.ruling)
        data.update((k, v) for k, v in said.items() if v)
        if ticket.request:
            resolved = self._journal.event(_ENDS, data)
            try:
                self._journal.add(resolved, once)
            except Taken:
                self._journal.catch_up()
                return self._resolved(ticket) or Answer("expired")
            if once and not resolved.seq and not self._journal.failure:
                return None
            owe(self._journal, resolved)
        return Answer(resolution, said.get("by", ""), said.get("note", ""))

    def _left(self) -> bool:
        """True where the store says that no console is attached any more."""
        journal, store = self._journal, self._journal.store
        if store is None or journal.failure or journal.away is not None:
            return False
        try:
            return not store.attached(time.time())
        except StoreError:
            return False

    def _over(self, ticket: Ticket) -> bool:
        now = monotonic()
        if self._journal.failure:
            ticket.blind_since = ticket.blind_since or now
            if now - ticket.blind_since > _BLIND:
                return True
        elif self._journal.away is not None:
            ticket.blind_since = ticket.blind_since or now
            if ticket.until is not None:  # as if no console were attached, after a moment
                alone = max(_BLIND, self._config.unattended_wait_seconds)
                ticket.until = min(ticket.until, ticket.blind_since + alone)
        else:
            ticket.blind_since = 0.0
        if ticket.attended and now - ticket.looked_at >= _LOOK:
            ticket.looked_at = now
            if not self._left():
                ticket.left_since = 0.0
            elif (
                not ticket.left_since
            ):  # its next beat may be due: a machine that slept wakes up one by one
                ticket.left_since = now
            elif now - ticket.left_since >= 2 * _LOOK:
                ticket.attended = False
                alone = now + self._config.unattended_wait_seconds
                if ticket.until is not None:
                    ticket.until = min(ticket.until, alone)
        return ticket.until is not None and now >= ticket.until


def _given(store: Store, request: Request) -> object:
    """The arguments that a human gave with a resolution. Raises ``StoreError``."""
    for event in store.read(request.session, after=request.seq):
        if event.type == _ENDS and event.text("request") == request.request:
            return event.data.get("args")
    return request.args


def _sleep_of_trio() -> Callable[[float], Awaitable[None]] | None:
    """How a task of Trio's sleeps; None where this is none."""
    trio = sys.modules.get("trio")
    try:
        trio.lowlevel.current_task()  # type: ignore[union-attr]
        sleep: Callable[[float], Awaitable[None]] = trio.sleep  # type: ignore[union-attr]
    except (AttributeError, RuntimeError):
        return None
    return sleep


def _tier(ruling: Ruling) -> Tier:
    return max(ruling.tier, Tier.BLOCK)


class _Wake:
    """One waiting thread listens to the store, the others to it."""

    def __init__(self) -> None:
        import threading  # only an agent that waits needs it

        self._told = threading.Condition()
        self._listening = False

    def pause(self, changed: Callable[[float], bool], seconds: float) -> None:
        with self._told:
            if self._listening:
                self._told.wait(seconds)
                return
            self._listening = True
        try:
            changed(seconds)
        except Exception as error:  # noqa: BLE001 - nothing to listen with: it is looked at by and by
            pass_on(error)
            time.sleep(min(seconds, 0.2))
        finally:
            with self._told:
                self._listening = False
                self._told.notify_all()
