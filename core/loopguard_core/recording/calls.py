"""What the read model hands out: calls, what stands between them, and where events are read again."""

from __future__ import annotations

from loopguard_core.events import OUTCOMES, Event
from loopguard_core.verdict import Tier, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.store.contract import Store

#: How a call stands: an outcome, or that it has none yet.
STATES = ("running", *OUTCOMES)


class Events:
    """Where the events of one session can be read again."""

    #: True where a call's start and end are known to stand in the log once, as in a store.
    unique = False

    def after(self, seq: int, limit: int, *, payloads: bool = True) -> list[Event]:
        """Up to *limit* events with a number above *seq*, in order; without *payloads* where these cost."""
        raise NotImplementedError


class ListEvents(Events):
    """Events that are all in memory, numbered from 1 without a gap."""

    def __init__(self, events: list[Event] | None = None) -> None:
        self.events: list[Event] = [] if events is None else events

    def after(self, seq: int, limit: int, *, payloads: bool = True) -> list[Event]:
        return self.events[seq : seq + limit]


class StoreEvents(Events):
    """Events of a session in a store."""

    unique = True

    def __init__(self, store: Store, session: str) -> None:
        self.store = store
        self.session = session

    def after(self, seq: int, limit: int, *, payloads: bool = True) -> list[Event]:
        return self.store.read(self.session, after=seq, limit=limit, payloads=payloads)


class Row:
    """One call as it is shown, without its payloads.

    ``number`` counts from 1. ``key`` numbers what was called with which arguments: equal calls have
    equal keys. ``count``: how often this key stands in the window that ends with this call.
    ``before``: the verdict's tier before the call, ``after``: on its result. Times are in seconds, None where unknown.
    """

    __slots__ = (
        "after",
        "before",
        "cause",
        "count",
        "duration",
        "key",
        "number",
        "outcome",
        "released",
        "signature",
        "start_seq",
        "tool",
        "ts",
        "turn",
    )

    number: int
    tool: str
    key: int
    signature: str
    ts: float | None
    duration: float | None
    outcome: str
    count: int
    before: Tier
    after: Tier
    cause: str
    released: bool
    turn: int
    start_seq: int

    @property
    def tier(self) -> Tier:
        """The stronger of the two verdicts."""
        return max(self.before, self.after)


class Mark:
    """What stands between two calls: a human's message or decision, a text, a gap.

    ``row``: how many calls had started before it.
    """

    __slots__ = ("event", "row")

    def __init__(self, row: int, event: Event) -> None:
        self.row = row
        self.event = event


class Asked:
    """A request as far as its session's log tells. ``resolved_seq`` is 0 while it waits.

    ``later``: the last thing that a person said of it after its end, a ``grant`` (a late approval), a ``revoke`` (a
    late denial) or a ``note``; None where nobody did.
    """

    __slots__ = ("call", "later", "opened", "request", "resolved", "resolved_seq", "row")

    def __init__(self, request: str, row: int, opened: Event) -> None:
        self.request = request
        self.row = row
        self.call = opened.text("call")
        self.opened = opened
        self.resolved: Event | None = None
        self.resolved_seq = 0
        self.later: Event | None = None

    @property
    def word(self) -> Event | None:
        """The last decision of a person: a late one, or the answer; None where none decided."""
        late = self.later if self.later is not None and self.later.type != "note" else None
        last = late or self.resolved
        return last if last is not None and last.text("by") else None

    def waits_at(self, seq: int) -> bool:
        """Whether it waited when event *seq* had come."""
        return self.opened.seq <= seq and not 0 < self.resolved_seq <= seq


def stored_verdict(event: Event, name: str = "verdict") -> Verdict | None:
    """The verdict that stands on *event*; None for none, or one that cannot be read."""
    stored = event.data.get(name)
    if not isinstance(stored, dict):
        return None
    try:
        return Verdict.from_json(stored)
    except (TypeError, ValueError):
        return None
