"""The contract of every event store. The contract test suite runs against each engine.

Appending is one statement and durable once it returns. Within a session sequence numbers run from 1
without a gap, whoever writes. Reading never holds a snapshot: every method fetches all it returns.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from loopguard_core.events import Event
    from loopguard_core.redaction.redact import Redactor

#: A console is attached while its last beat is not older than this.
ATTACHED_SECONDS = 10.0
#: Events that are read at a time where all are wanted: as many as stay near the processor.
_PAGE = 128
#: The greatest number of an event within its session.
LAST_NUMBER = (1 << 40) - 1
#: event types that can hold beyond the turn in which they were written
STANDING = ("session_start", "grant", "revoke", "halt", "resume", "breakpoint")
#: event types that only people write: their instructions to a guard
WORDS = frozenset({"grant", "reset", "resume", "halt", "breakpoint", "revoke"})
#: event types that say nothing of when an agent was active: people write them, or who tidies up after it
NO_SIGN = (*sorted(WORDS), "label", "note", "request_resolved")

#: why events are missing from a store that is not what it was: for all who write to it, or for one process
REPLACED = "the event store was replaced while the session ran"
CUT = "the log of the event store was cut or taken away while the session ran"
TAKEN_BACK = "an exception had left a transaction open, which was taken back"


class StoreError(Exception):
    """The store cannot be read or written: what happened, where, and what to do."""


class Absent(StoreError):
    """There is no store where it was looked for: nobody has made it yet."""


class Foreign(StoreError):
    """What was named is there and is no store: nothing is to be done to it."""


class Older(StoreError):
    """The store is of an older version and was opened to be read only, so it was not brought up to date."""


class Denied(StoreError):
    """The store is there, but this user may not do that."""


class Replaced(StoreError):
    """The store is another one than before: its file was deleted, replaced or restored.

    Nothing was written. The store is open on the new file and usable: say it once, and go on from
    ``last``. What stood in the old file is not in this one; where that was ``kept``, what ``last`` leaves out.
    ``reason``: what a ``gap`` says of what is missing.
    """

    kept = False
    reason = REPLACED


class Stale(Exception):
    """Others wrote to the session since ``expect``: read on, fold, and try again. Nothing was written."""


class Taken(Exception):
    """An entry that exists once is there already (a call's start or end, a request's resolution).

    ``seq`` is the position of the one that is there. Nothing was written.
    """

    def __init__(self, seq: int) -> None:
        super().__init__(f"already recorded at {seq}")
        self.seq = seq


class Session:
    """What the store knows of one session without reading its events. Times in seconds since the epoch.

    ``last_ts`` is when its agent was active last: what a person said since, and the end of a request, leave it
    where it is.

    ``worst`` is the strongest tier that was recorded; where not ``judged``, as of an imported transcript, no
    guard has judged its calls yet, and it says nothing. ``halted`` is the scope of a human's halt that holds (``turn`` or ``session``), empty where none does;
    ``halted_by``, ``halted_seq`` and ``halted_ts`` say who gave it, where in the log, and when.
    """

    __slots__ = (
        "agent",
        "calls",
        "cwd",
        "ended",
        "first_ts",
        "halted",
        "halted_by",
        "halted_seq",
        "halted_ts",
        "host",
        "judged",
        "last_ts",
        "name",
        "parent",
        "pid",
        "pid_started",
        "seq",
        "session",
        "user",
        "waiting",
        "worst",
    )

    def __init__(self, session: str) -> None:
        self.session = session
        self.name = ""
        self.agent = ""
        self.parent = ""
        self.cwd = ""
        self.host = ""
        self.user = ""
        self.pid = 0
        self.pid_started = ""
        self.first_ts: float | None = None
        self.last_ts: float | None = None
        self.ended = False
        self.seq = 0
        self.calls = 0
        self.worst = 0
        self.judged = False
        self.waiting = 0
        self.halted = ""
        self.halted_by = ""
        self.halted_seq = 0
        self.halted_ts: float | None = None


class Request:
    """A human's decision that was asked for. ``resolution`` is empty while it is pending.

    ``tool`` and ``args`` are those of the call's start, the rest stands on ``request_opened``: ``cause``
    (a ruling's), ``seen`` (digest of what a person is shown), ``late_until`` (until when an approval may
    come after its end), ``unanswered`` (``refuse``, ``wait`` or ``run``: what happens when nobody
    answers), and the waiting process (``pid``, ``pid_started``, ``host``, ``user``). ``by`` says who
    decided and from where (``user@host``). ``args`` after a resolution ``modified`` are the human's.
    """

    __slots__ = (
        "args",
        "by",
        "call",
        "cause",
        "deadline",
        "delivered",
        "host",
        "late_until",
        "note",
        "opened_ts",
        "pid",
        "pid_started",
        "request",
        "resolution",
        "resolved_ts",
        "seen",
        "seq",
        "session",
        "signature",
        "tier",
        "tool",
        "unanswered",
        "user",
        "verdict",
    )

    def __init__(self, request: str, session: str, seq: int) -> None:
        self.request = request
        self.session = session
        self.seq = seq
        self.call = ""
        self.tool = ""
        self.args: object = None
        self.signature = ""
        self.tier = 0
        self.verdict: dict[str, object] = {}
        self.cause = ""
        self.seen = ""
        self.unanswered = "refuse"
        self.pid = 0
        self.pid_started = ""
        self.host = ""
        self.user = ""
        self.late_until: float | None = None
        self.opened_ts: float | None = None
        self.deadline: float | None = None
        self.resolution = ""
        self.resolved_ts: float | None = None
        self.by = ""
        self.note = ""
        self.delivered = False


def number(n: int) -> int:
    """*n* as a place in a log, or as a number of entries, of which an engine can be asked.

    What lies before any log counts as 0, what lies behind any as ``LAST_NUMBER``.
    """
    return min(max(n, 0), LAST_NUMBER)


def whose(of: Session | Request) -> str:
    """``user@host`` of the agent's process, as far as it is known."""
    return "@".join(part for part in (of.user, of.host) if part)


class Machine:
    """What the store knows of one host. ``heard``: the latest it was in touch, in seconds since the epoch.

    ``running``: its sessions that have not ended. ``behind``: the events that waited there when it last
    told (at ``told``, None where it never had to).
    """

    __slots__ = ("behind", "heard", "host", "running", "told")

    def __init__(self, host: str) -> None:
        self.host = host
        self.running = 0
        self.heard: float | None = None
        self.behind = 0
        self.told: float | None = None


class Store:
    """What an engine does. Every method raises ``StoreError`` where the store fails.

    A number may be any whole number: before the first event there is nothing, nor behind the last, and fewer
    than none are none. A time that is no number, or an infinite one, is unknown.

    A store may be used from several threads at a time, and in a child after ``fork``.
    """

    #: Where it is, as a person names it.
    place = ""
    #: True where another process does the writing, so that who waits for it can do something else.
    remote = False
    #: What takes secrets out of what is appended; None: nothing does.
    redactor: Redactor | None = None

    @property
    def generation(self) -> int:
        """Grows when the store behind it became another one: cursors and numbers of before mean nothing."""
        return 1

    def append(self, event: Event, *, expect: int | None = None) -> int:
        """Append *event* to its session; its sequence number.

        With *expect*, only if the session's last number is *expect*, else ``Stale``. Raises ``Taken``
        for a second start or end of one call, a second resolution or delivery of one request, and a
        second grant that names the same request. ``request_opened`` without a request id is given one,
        short and unique in the store (``R7``), which is set on *event*.
        """
        raise NotImplementedError

    def extend(self, events: Sequence[Event], *, expect: int | None = None) -> int:
        """Append many recorded events in one transaction, much cheaper each; how many were appended.

        Those that exist once and are there already are passed over. Others cannot write meanwhile, so
        some hundreds at a time are enough. With *expect* the events are of one session and all of them
        are appended or none: ``Stale`` if its last number is not *expect*, ``Taken`` if one that exists
        once is there already.
        """
        raise NotImplementedError

    def prepare(self, events: Sequence[Event]) -> Callable[[], int]:
        """``extend`` in two steps: what it returns does what is left, on any thread, once.

        So the next events can be made ready while these are written.
        """
        return lambda: self.extend(events)

    def read(
        self, session: str, *, after: int = 0, limit: int | None = None, payloads: bool = True
    ) -> list[Event]:
        """Events of *session* with a number above *after*, in order.

        Without *payloads*, arguments, results and texts are left out: what the fold needs remains.
        """
        raise NotImplementedError

    def read_all(self, session: str, *, after: int = 0, payloads: bool = True) -> Iterator[Event]:
        """What ``read`` gives, a page at a time: of a long session, it is read in half the time and never held whole."""
        while page := self.read(session, after=after, limit=_PAGE, payloads=payloads):
            yield from page
            after = page[-1].seq

    def last(self, session: str) -> int:
        """The number of the session's last event; 0 where there is none."""
        raise NotImplementedError

    def last_turn(self, session: str, *, before: int | None = None) -> int:
        """The number before the session's last ``user_message`` (0 without one).

        With *before*, the last one numbered below it.
        """
        raise NotImplementedError

    def standing(self, session: str, upto: int) -> list[Event]:
        """Events of the types ``STANDING`` numbered up to *upto*, in order.

        With them and the events after *upto* a guard is rebuilt; engines answer from an index.
        """
        return [
            e for e in self.read(session, payloads=False) if e.seq <= upto and e.type in STANDING
        ]

    def unended(self, session: str) -> list[Event]:
        """The starts of the session's calls that have no end, in order, without payloads.

        Asked when a session ends; engines answer without reading it all.
        """
        log = self.read(session, payloads=False)
        ended = {"", *(e.text("call") for e in log if e.type == "call_end")}
        return [e for e in log if e.type == "call_start" and e.text("call") not in ended]

    def next_change(self, session: str, seq: int, *, back: bool = False) -> int:
        """The number of the next event after *seq* (or the last before it) where the tier changed.

        That is a call that starts with a stronger tier than the call before it, or that ends with
        another one. 0 where there is none.
        """
        raise NotImplementedError

    def gaps(self, session: str, after: int, upto: int) -> list[Event]:
        """The ``gap`` events of *session* numbered above *after* and up to *upto*, in order.

        Engines look through that part of the log, no more, and without payloads.
        """
        after, upto = number(after), number(upto)
        part = self.read(session, after=after, limit=max(0, upto - after), payloads=False)
        return [event for event in part if event.type == "gap"]

    def calls_upto(self, session: str, seq: int) -> int:
        """How many calls of *session* had started when event *seq* was written; that is a start's own number.

        Engines that keep a running count look at one row.
        """
        part = self.read(session, limit=seq, payloads=False)
        return sum(event.type == "call_start" and event.seq <= seq for event in part)

    def sessions(self) -> list[Session]:
        """All sessions, the most recently active first."""
        raise NotImplementedError

    def session(self, session: str) -> Session | None:
        """One session, or None."""
        raise NotImplementedError

    def requests(
        self, *, session: str = "", pending: bool = False, limit: int | None = None
    ) -> list[Request]:
        """Requests, the newest last; only those of *session* where given, only unresolved if *pending*.

        With *limit*, the newest so many.
        """
        raise NotImplementedError

    def request(self, request: str) -> Request | None:
        """One request by its id, or None."""
        raise NotImplementedError

    def changed(self, timeout: float, *, session: str = "") -> bool:
        """Wait until anything may have been written since the last call, at most *timeout* seconds.

        With *session*, at least until somebody's word, or a request's, may have come to that session: an
        engine may let others' calls pass. A hint only: look at the store after either answer.
        """
        raise NotImplementedError

    def unwatch(self, session: str) -> None:
        """Nobody waits for what is said to *session* any more: an engine need not hear of it. Never raises."""

    def beat(self, ts: float) -> None:
        """Say that a console of this process is attached."""
        raise NotImplementedError

    def attached(self, now: float) -> Sequence[int]:
        """Process ids of consoles that are attached."""
        raise NotImplementedError

    def machine(self, behind: int, ts: float) -> None:
        """Say that this machine is in touch, and how many of its events wait there still.

        A store in a file has one machine, which has nothing to tell.
        """

    def machines(self, sessions: Iterable[Session] | None = None) -> list[Machine]:
        """The hosts whose agents write here, by name. *sessions*: all of them, where they are at hand."""
        found: dict[str, Machine] = {}
        for session in self.sessions() if sessions is None else sessions:
            one = found.setdefault(session.host, Machine(session.host))
            one.running += not session.ended
            one.heard = max(one.heard or 0.0, session.last_ts or 0.0) or None
        for host, behind, ts in self._told():
            one = found.setdefault(host, Machine(host))
            one.behind, one.told = behind, ts
            one.heard = max(one.heard or 0.0, ts)
        return [found[host] for host in sorted(found) if host]

    def _told(self) -> Iterable[tuple[str, int, float]]:
        """What each host said last of what waits there: host, events, when."""
        return ()

    def forget(self, session: str) -> int:
        """Remove *session* with everything that belongs to it alone; how many events that were."""
        raise NotImplementedError

    def forget_all(self, sessions: Sequence[str]) -> Iterator[str]:
        """Remove these sessions; each is given once it is gone. Engines may take several at a time."""
        for session in sessions:
            self.forget(session)
            yield session

    def size(self, session: str | None = None) -> int:
        """Bytes that the store takes, or those that the events of *session* do."""
        raise NotImplementedError

    def exclusively(self) -> AbstractContextManager[object]:
        """While its block lasts nobody else appends, where the engine can keep others out; else they may, as ever.

        For a moment: others wait for it. What is appended in it is durable once it is left. Raises ``StoreError``.
        """
        from contextlib import nullcontext  # no engine that keeps others out needs it

        return nullcontext()

    def recover(self) -> None:
        """An interrupt left a method of this store in the middle, in this thread: let go of what it held."""

    def tidy(self) -> None:
        """Do what would cost a call too much, also so that what was forgotten is not left to read. Never raises."""

    def leave(self) -> None:
        """Let go as fast as can be, in a process that ends now (``os._exit``). Never raises."""
        self.close()

    def close(self) -> None:
        """Let go of the store. A closed store raises ``StoreError``."""
        raise NotImplementedError
