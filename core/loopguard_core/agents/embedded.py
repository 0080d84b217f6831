"""Guarded sessions inside a framework's process: what its adapters share.

A framework's run is a turn; its conversation is a session. A session that is opened while a tool call of
another one runs is its child.
"""

from __future__ import annotations

import atexit
from collections import OrderedDict, deque
from contextvars import ContextVar
from threading import Lock
from uuid import uuid4

from loopguard_core.agents.host import settle
from loopguard_core.config import load_or_default
from loopguard_core.decision import ended_by
from loopguard_core.halted import TurnHalted
from loopguard_core.session import ahead  # noqa: F401 - later there may be no file descriptor left to load it
from loopguard_core.session.live import LiveSession, to_stderr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextvars import Token
    from typing import Any

    from loopguard_core.agents.host import Settled
    from loopguard_core.config import Config
    from loopguard_core.decision import Decision
    from loopguard_core.store.contract import Store

#: sessions kept in memory; one that was dropped is rebuilt from the store when it goes on
KEPT = 256

_WINDOW = 20
#: runs of one conversation whose counts are remembered
_RUNS = 64

_current: ContextVar[str] = ContextVar("loopguard_session", default="")


class Guarded:
    """One conversation of a framework. ``halted`` is the refusal that halted the turn, or empty.

    Call ids are the framework's. One that comes again in the same turn is the same call (a resumed
    interrupt, a replay) and counts once; in a later turn it is another call.
    """

    def __init__(self, live: LiveSession) -> None:
        self.live = live
        self.halted = ""
        self._turn = 0
        self._calls: dict[str, int] = {}
        self._window: deque[str] = deque(maxlen=_WINDOW)
        self._answers: dict[str, object] = {}
        self._so_far: dict[str, dict[str, int]] = {}

    def turn(self, text: str = "", *, human: bool = True) -> None:
        """A run begins."""
        self.halted = ""
        self._answers.clear()
        self._turn += 1
        self.live.turn(text, human=human)

    def before(
        self, tool: str, args: object, call: str, *, message: str = "", agent: str = ""
    ) -> Decision:
        """Judge a call; waits for a human where one is asked."""
        known = self._known(call)
        return self._heed(self.live.before(tool, args, call=known, message=message, agent=agent))

    async def before_async(
        self, tool: str, args: object, call: str, *, message: str = "", agent: str = ""
    ) -> Decision:
        """As ``before``, without blocking the event loop."""
        known = self._known(call)
        decision = await self.live.before_async(
            tool, args, call=known, message=message, agent=agent
        )
        return self._heed(decision)

    def after(
        self,
        decision: Decision,
        result: object,
        *,
        outcome: str = "ok",
        foreign: dict[str, Any] | None = None,
    ) -> str:
        """Record a result; the advice to append, or empty. *foreign*: another guard's verdict."""
        return self.live.after(decision, result, outcome=outcome, foreign=foreign)

    def failed(self, decision: Decision, error: BaseException) -> str:
        """Record that a call raised *error* (a cancelled one, too); the advice for the model, or empty."""
        outcome, result = ended_by(error)
        return self.after(decision, result, outcome=outcome)

    def used(self, answer: str, said: Mapping[str, object]) -> None:
        """What the model's *answer* (its id) used up, in the fields of ``usage``; once for each answer."""
        mine = object()
        if self._answers.setdefault(answer, mine) is mine:
            self._use({**said, "message": answer})

    def used_so_far(self, run: str, said: Mapping[str, int], *, before: bool = False) -> None:
        """The same from counts that grow with the answers of a *run*; *before* it, they are not its own."""
        known = self._so_far.pop(run, {})
        self._so_far[run] = dict(said)
        if len(self._so_far) > _RUNS:
            del self._so_far[next(iter(self._so_far))]
        if not before:
            self._use({name: count - known.get(name, 0) for name, count in said.items()})

    def _use(self, said: Mapping[str, object]) -> None:
        counts = {n: c for n, c in said.items() if isinstance(c, int) and not isinstance(c, bool)}
        counts = {name: count for name, count in counts.items() if count > 0}
        if counts:
            message = said.get("message")
            self.live.note("usage", {**({"message": message} if message else {}), **counts})

    def settle(self, calls: Iterable[Settled]) -> None:
        """End those of *calls* that are still open: somebody else denied them."""
        settle(self.live, calls)

    def running(self) -> Token[str]:
        """Sessions opened from here on are children of this one, until the token is given back."""
        return _current.set(self.live.session)

    def _known(self, call: str) -> str:
        if not call:
            return ""
        turn = self._calls.setdefault(call, self._turn)
        return call if turn == self._turn else f"{call}@{self._turn}"

    def _heed(self, decision: Decision) -> Decision:
        self._window.append(decision.ruling.verdict.signature)
        if decision.ends_turn and not decision.run:
            self.halted = decision.message
        return decision

    def halt(self, decision: Decision) -> TurnHalted:
        """What to raise where a framework ends a turn by an exception."""
        return TurnHalted(decision, self._window)


def not_running(token: Token[str]) -> None:
    """Take back what ``Guarded.running`` said."""
    _current.reset(token)


class Sessions:
    """The sessions of one adapter. Thread-safe.

    A configuration file that is wrong is said on stderr, and the defaults hold: no run of a framework fails over it.
    """

    def __init__(
        self, agent: str, config: Config | None = None, store: Store | None = None
    ) -> None:
        self.agent = agent
        self._config = config
        self._store = store
        self._open: OrderedDict[str, Guarded] = OrderedDict()
        self._lock = Lock()
        atexit.register(self.close)

    def get(self, session: str = "", *, parent: str = "", name: str = "") -> Guarded:
        """The session with that id, opened where it is not open; a new one without an id."""
        session = session or str(uuid4())
        with self._lock:
            found = self._open.get(session)
            if found is None:
                found = self._open[session] = Guarded(self._begin(session, parent, name))
            self._open.move_to_end(session)
            while len(self._open) > KEPT:
                self._open.popitem(last=False)
        return found

    def _begin(self, session: str, parent: str, name: str) -> LiveSession:
        parent = parent or _current.get()
        above = self._open.get(parent)
        # What a subagent's session may is not what its model wrote into a file meanwhile.
        inherited = None if above is None else above.live.config
        return LiveSession(
            self._config or inherited or load_or_default("", to_stderr),
            session,
            agent=self.agent,
            name=name,
            parent=parent if parent != session else "",
            attach=True,
            store=self._store,
        )

    def end(self, session: str, reason: str = "") -> None:
        """That session is over."""
        with self._lock:
            found = self._open.pop(session, None)
        if found is not None:
            found.live.end(reason)

    def close(self) -> None:
        """All of them are over."""
        for name in list(self._open):
            self.end(name, "the process ends")


def last_text(messages: object) -> str:
    """The text of the last message of a human among *messages* (dicts or objects), or empty."""
    for message in reversed(messages if isinstance(messages, list) else []):
        role = _field(message, "role") or _field(message, "type")
        if role in ("user", "human"):
            content = _field(message, "content")
            if isinstance(content, str):
                return content
            parts = content if isinstance(content, list) else []
            return "\n".join(str(_field(p, "text") or "") for p in parts)
    return ""


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)
