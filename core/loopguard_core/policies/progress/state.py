"""What ``progress`` remembers within a turn: agents, their calls, their messages. Plain slotted state."""

from __future__ import annotations

from copy import copy

_STEPS = 16
_SAMPLES = 3


class Asked:
    """One call (tool and tidied arguments) of one agent, and what it answered."""

    __slots__ = (
        "answers",
        "clocks",
        "failing",
        "flips",
        "last",
        "open",
        "outages",
        "refused",
        "signature",
        "tool",
        "waits",
    )

    def __init__(self, signature: str, tool: str) -> None:
        self.signature = signature
        self.tool = tool
        self.answers: dict[str, int] = {}
        self.clocks: dict[str, int] = {}
        self.last = ""
        self.failing = ""
        self.open = 0
        self.refused = 0
        self.waits = 0
        self.outages = 0
        self.flips = 0

    @property
    def repeats(self) -> int:
        """How often the call gave its latest answer, refusals since then included."""
        return self.answers.get(self.last, 0) + self.refused

    def __copy__(self) -> Asked:
        twin = Asked(self.signature, self.tool)
        for name in self.__slots__:
            setattr(twin, name, copy(getattr(self, name)))
        return twin


class Step:
    """One assistant message of one agent: however many calls it holds, it is one step."""

    __slots__ = ("idle", "news", "probe", "seen", "stale")

    def __init__(self) -> None:
        self.stale = False
        self.news = False
        self.probe: bool | None = None
        self.idle: dict[str, int] = {}
        self.seen: set[str] = set()

    def __copy__(self) -> Step:
        twin = Step()
        twin.stale, twin.news, twin.probe = self.stale, self.news, self.probe
        twin.idle, twin.seen = dict(self.idle), set(self.seen)
        return twin


class Started:
    """A call between its start and its end."""

    __slots__ = ("agent", "message", "signature", "ts", "waited")

    def __init__(
        self, agent: str, message: str, signature: str, ts: float | None, waited: bool
    ) -> None:
        self.agent = agent
        self.message = message
        self.signature = signature
        self.ts = ts
        self.waited = waited


class Agent:
    """One agent's steps since the last news."""

    __slots__ = (
        "asked",
        "covered",
        "dry",
        "dry_class",
        "dry_count",
        "dry_tools",
        "gaps",
        "kin",
        "known",
        "last",
        "last_wait",
        "outage",
        "probe",
        "refusals",
        "seen_as",
        "stale",
        "steps",
        "worked",
    )

    def __init__(self) -> None:
        self.asked: dict[str, Asked] = {}
        self.steps: dict[str, Step] = {}
        #: Steps without news, and without them those that failed or found nothing (in points).
        self.stale = 0
        self.dry = 0
        self.dry_count = 0
        self.dry_class = ""
        self.dry_tools: set[str] = set()
        #: True while the next varying attempt of a dry run is let through.
        self.probe = False
        self.refusals = 0
        self.outage = 0
        #: Failure templates and classes, empty searches and answers of searches that were seen.
        self.known: set[str] = set()
        #: Targets of messages with their last answer; basenames of paths with their answers.
        self.kin: dict[str, str] = {}
        self.seen_as: dict[str, str] = {}
        self.covered: dict[str, list[tuple[int, int]]] = {}
        #: Tools that ever succeeded.
        self.worked: set[str] = set()
        self.last = ""
        self.last_wait = 0.0
        self.gaps: tuple[int, float] = (0, 0.0)

    def step(self, message: str) -> Step:
        """The step of *message*; only the latest few are kept."""
        found = self.steps.get(message)
        if found is None:
            if len(self.steps) >= _STEPS:
                del self.steps[next(iter(self.steps))]
            found = self.steps[message] = Step()
        return found

    @property
    def pace(self) -> float:
        """Usual seconds before a new call, 0 while too few are known to say."""
        count, total = self.gaps
        return total / count if count >= _SAMPLES else 0.0

    def __copy__(self) -> Agent:
        twin = Agent()
        for name in self.__slots__:
            setattr(twin, name, copy(getattr(self, name)))
        twin.asked = {k: copy(v) for k, v in self.asked.items()}
        twin.steps = {k: copy(v) for k, v in self.steps.items()}
        twin.covered = {k: list(v) for k, v in self.covered.items()}
        return twin


def covers(lines: list[tuple[int, int]], first: int, end: int) -> bool:
    """True where the sorted, disjoint ranges *lines* hold every line of ``[first, end)``."""
    return any(a <= first and end <= b for a, b in lines)


def joined(lines: list[tuple[int, int]], first: int, end: int) -> list[tuple[int, int]]:
    """The ranges *lines* with ``[first, end)`` added, sorted and disjoint."""
    out: list[tuple[int, int]] = []
    for a, b in sorted([*lines, (first, end)]):
        if out and a <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], b))
        else:
            out.append((a, b))
    return out
