"""A session that is watched through its transcript: judged, recorded, never touched.

What the store has of it already is passed over, so watching goes on where it stopped, and a transcript
may be read again from its beginning any number of times. Each new event is judged as in mode ``observe``
and written with its verdict. A session that somebody else records (our hook) is left to them. A log of
ours has verdicts and people's words of its own: those are kept as they stand.
"""

from __future__ import annotations

from loopguard_core.events import compared
from loopguard_core.folding import fold
from loopguard_core.guard import Guard
from loopguard_core.identity import Payload
from loopguard_core.importers.base import TRANSCRIPT
from loopguard_core.recording.calls import stored_verdict
from loopguard_core.store.contract import Stale, Taken
from loopguard_core.store.forwarding import name_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.config import Config
    from loopguard_core.events import Event
    from loopguard_core.identity import Digester, Record
    from loopguard_core.policies.options import Tell
    from loopguard_core.store.contract import Store
    from loopguard_core.verdict import Verdict

_RECORDED = "it is recorded by its own guard"
_REWRITTEN = "its transcript was rewritten"


class Left(Exception):
    """The session is left alone from here on, and why."""


class Watched:
    """One session. Feed it the events of its transcript in order. Raises ``StoreError`` as the store does.

    *tell* hears of a match function that fails. ``left``: why it is not watched any more, else empty.
    ``start`` is its first event.
    """

    def __init__(
        self,
        session: str,
        store: Store,
        config: Config,
        digester: Digester,
        tell: Tell | None = None,
    ) -> None:
        self.session = session
        self.left = ""
        self.start: Event | None = None
        self._store = store
        self._config = config
        self._digester = digester
        self._guard = Guard(
            config.make_policy(tell),
            mode="observe",
            traits=config.trait_table(),
            digester=digester,
        )
        self._marks: list[tuple[object, ...]] = []
        self._people: set[int] = set()
        self._words: list[tuple[int, Event]] = []
        self._open: dict[str, tuple[str, Payload, dict[str, Record]]] = {}
        self._seq = 0
        self._at = 0
        self._recorded = 0
        self._passed = 0
        self._folded = 0
        self._log = False
        for event in store.read(session, payloads=False):
            self._met(event)

    def again(self) -> None:
        """The transcript is read from its beginning once more."""
        self._at = self._passed = 0

    def take(self, event: Event) -> Verdict | None:
        """Record the next event of the transcript, unless it is; our verdict where it is a new one's.

        A call that has not ended yet is not recorded as such, except where a log of ours says so. Raises
        ``Left`` once.
        """
        if self.left:
            return None
        if event.type == "session_start":
            self._log = "policy" in event.data
        if not self._log and event.type == "call_end" and event.data.get("outcome") == "pending":
            return None
        self.start = self.start or event
        try:
            return None if self._pass(event) else self._add(event)
        except Left as why:
            self.left = str(why)
            raise

    # -- what is there already -----------------------------------------------------------------------

    def _pass(self, event: Event) -> bool:
        """Whether the store has *event*, or has no place for it any more: it is passed over."""
        mark, at, told = _mark(event), self._at, event.type not in TRANSCRIPT
        while at < len(self._marks) and self._marks[at] != mark:
            if at not in self._people:  # what people said in between is nothing of the transcript
                if told:
                    return True
                raise Left(_REWRITTEN if self._passed else _RECORDED)
            at += 1
        if at == len(self._marks):
            return False
        self._at = at + 1
        if not told:
            if self._passed >= self._folded:
                self._fold(event)
            self._passed += 1
        return True

    def _met(self, event: Event) -> None:
        """An event of the store."""
        self._seq = event.seq
        if event.type in TRANSCRIPT:
            self._recorded += 1
        else:
            self._people.add(len(self._marks))
            self._words.append((self._recorded, event))
        self._marks.append(_mark(event))

    def _fold(self, event: Event) -> Verdict | None:
        """Fold the next event of the transcript, behind what people said before it."""
        while self._words and self._words[0][0] <= self._folded:
            fold(self._guard, self._words.pop(0)[1])
        if event.type not in TRANSCRIPT:
            return fold(self._guard, event)
        self._folded += 1
        if event.type == "call_start":
            self._identify(event)
            verdict = self._guard.rule(event).verdict
            self._guard.apply(event)
            return verdict
        if event.type == "call_end":
            self._identify_result(event)
        return self._guard.apply(event)

    # -- what is new ---------------------------------------------------------------------------------

    def _add(self, event: Event) -> Verdict | None:
        if event.type == "session_start" and not self._log:
            self._say_how(event)
        request = event.text("request")
        if request:  # it has one name in a store
            event.data["request"] = name_in(self._store, self.session, request)
        event.seq = 0
        verdict = self._fold(event)
        if self._log:
            verdict = stored_verdict(event)
        elif verdict is not None:
            event.data.setdefault("verdict", verdict.to_json())
        while True:
            try:
                self._seq = self._store.append(event, expect=self._seq)
            except Stale:
                self._catch_up()
                continue
            except Taken:
                raise Left(_RECORDED) from None
            break
        if event.type in TRANSCRIPT:
            self._recorded += 1
            self._passed += 1
        else:
            self._people.add(len(self._marks))
        self._marks.append(_mark(event))
        self._at = len(self._marks)
        return verdict

    def _catch_up(self) -> None:
        """What others wrote: a person may; another recorder of the same session has it for itself."""
        for event in self._store.read(self.session, after=self._seq, payloads=False):
            if event.type in TRANSCRIPT:
                raise Left(_RECORDED)
            self._met(event)

    def _say_how(self, event: Event) -> None:
        config = self._config
        event.data["policy"] = config.policy_name
        event.data["mode"] = "observe"
        event.data["config"] = config.digest
        event.data["watched"] = True
        if config.recorded:
            event.data["settings"] = config.recorded

    def _identify(self, event: Event) -> None:
        if self._log and "ids" in event.data:  # what its verdicts and grants stand on
            return
        tool, args = str(event.data["tool"]), Payload(event.data.get("args"), self._digester)
        ids = self._guard.reading.request(tool, args)
        event.data["ids"] = ids
        self._open[str(event.data["call"])] = (tool, args, ids)

    def _identify_result(self, event: Event) -> None:
        opened = self._open.pop(str(event.data["call"]), None)
        if opened is None or "result" not in event.data:
            return
        tool, args, ids = opened
        result = Payload(compared(event.data), self._digester)
        ok = event.data.get("outcome") == "ok"
        event.data["ids"] = self._guard.reading.outcome(tool, args, result, ok, ids)


def _mark(event: Event) -> tuple[object, ...]:
    """What tells entries of a transcript apart, without texts: the store takes secrets out of those."""
    data: dict[str, Any] = event.data
    names = ("call", "tool", "outcome", "format")
    return (event.type, event.ts, *(data.get(name) for name in names))
