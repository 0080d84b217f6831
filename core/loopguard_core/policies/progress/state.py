"""What ``progress`` remembers within a turn: agents and their calls. Plain slotted state."""

from __future__ import annotations

_SAMPLES = 3


class Asked:
    """One call (tool and tidied arguments) of one agent, and what it answered."""

    __slots__ = (
        "answers",
        "clocks",
        "counted",
        "failing",
        "flips",
        "how",
        "idle",
        "last",
        "letter",
        "message",
        "open",
        "outages",
        "poll",
        "refused",
        "same",
        "signature",
        "tool",
        "waits",
        "worth",
    )

    def __init__(self, signature: str, tool: str, message: str, poll: bool) -> None:
        self.signature = signature
        self.tool = tool
        self.poll = poll
        #: Digest of an answer -> how many messages it came in. ``last`` is the latest.
        self.answers: dict[str, int] = {}
        self.last = ""
        #: The latest answer to the letter; answers that are kept under their normalised digest.
        self.letter = ""
        self.same: dict[str, str] | None = None
        self.clocks: dict[str, int] | None = None
        #: Why the latest answer was no good, in words; empty where it was.
        self.failing = ""
        #: Points that such an answer adds to a dry run.
        self.worth = 0
        #: How the latest answer was compared: to the letter, without volatile parts (``v``) or times
        #: (``t``), as a failure's pattern (``f``).
        self.how = ""
        self.open = 0
        self.refused = 0
        self.waits = 0
        self.outages = 0
        self.flips = 0
        #: The latest message with this call, how many of them in it brought nothing, and the message
        #: in which the call was last counted.
        self.message = message
        self.idle = 1
        self.counted = ""

    @property
    def repeats(self) -> int:
        """How often the call gave its latest answer, refusals since then included."""
        return self.answers.get(self.last, 0) + self.refused

    def __copy__(self) -> Asked:
        twin: Asked = Asked.__new__(Asked)
        for name in self.__slots__:
            setattr(twin, name, getattr(self, name))
        twin.answers = self.answers.copy()
        twin.same = None if self.same is None else self.same.copy()
        twin.clocks = None if self.clocks is None else self.clocks.copy()
        return twin


class Agent:
    """One agent's calls, and its steps since the last news. A message is one step."""

    __slots__ = (
        "asked",
        "before",
        "clock",
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
        "message",
        "message_probe",
        "outage",
        "probe",
        "refusals",
        "repeated",
        "seen_as",
        "settled",
        "stale",
        "worked",
    )

    def __init__(self) -> None:
        self.asked: dict[str, Asked] = {}
        #: Signatures that were asked more than once, in order.
        self.repeated: dict[str, None] = {}
        #: Steps without news; how many of them failed or found nothing, and in points.
        self.stale = 0
        self.dry = 0
        self.dry_count = 0
        self.dry_class = ""
        self.dry_tools: set[str] = set()
        #: True while the next varying attempt of a dry run is let through.
        self.probe = False
        self.refusals = 0
        self.outage = 0
        #: Answers since the last news in which nothing but a time changed.
        self.clock = 0
        #: The latest message: whether it brought news or was counted as one without, was let through.
        self.message = ""
        self.settled = False
        self.message_probe: bool | None = None
        #: Failures, empty searches and answers of searches that were seen.
        self.known: dict[str, None] = {}
        #: Targets of messages with their last answer; answers of reads with the spelling of the path.
        self.kin: dict[str, str] = {}
        self.seen_as: dict[str, str] = {}
        self.covered: dict[str, list[tuple[int, int]]] = {}
        #: Tools that ever succeeded.
        self.worked: dict[str, None] = {}
        #: The call before the latest, and the latest: its signature, and whether it was bookkeeping; and the
        #: seconds that the latest which was none waited.
        self.before = self.last = ("", False)
        self.last_wait = 0.0
        self.gaps: tuple[int, float] = (0, 0.0)

    def spend(self, message: str) -> bool:
        """Count the step of *message* as one without news; False where it is counted or had news."""
        if self.message == message:
            if self.settled:
                return False
            self.settled = True
        self.stale += 1
        return True

    def refresh(self) -> None:
        """There was news: what was counted since the last begins afresh."""
        self.stale = self.dry = self.dry_count = self.refusals = 0
        self.dry_class = ""
        self.dry_tools.clear()
        self.probe = False

    def cover(self, target: str, first: int, end: int) -> bool:
        """Remember that the lines ``[first, end)`` were read; True where all of them were before."""
        known = self.covered.get(target)
        if known is None:
            self.covered[target] = [(first, end)]
            return False
        if any(a <= first and end <= b for a, b in known):
            return True
        out: list[tuple[int, int]] = []
        for a, b in sorted([*known, (first, end)]):
            if out and a <= out[-1][1]:
                out[-1] = (out[-1][0], max(out[-1][1], b))
            else:
                out.append((a, b))
        self.covered[target] = out
        return False

    @property
    def pace(self) -> float:
        """Usual seconds before a new call, 0 while too few are known to say."""
        count, total = self.gaps
        return total / count if count >= _SAMPLES else 0.0

    def __copy__(self) -> Agent:
        from copy import copy  # an agent never copies

        twin = Agent()
        for name in self.__slots__:
            setattr(twin, name, copy(getattr(self, name)))
        twin.asked = {key: asked.__copy__() for key, asked in self.asked.items()}
        return twin
