"""What each of several policies would have done with a recording."""

from __future__ import annotations

from loopguard_core.recording.judging import judge
from loopguard_core.recording.labels import Labelled, labels_of
from loopguard_core.verdict import Tier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.identity import Digester
    from loopguard_core.policies.base import Policy
    from loopguard_core.recording.judging import Row
    from loopguard_core.traits import TraitTable


class Comparison:
    """One policy over one recording. Calls are numbered from 1, in the order of the recording.

    ``first``: the number of the first call with a verdict of each tier, before or after; None: never.
    ``stops``: calls refused on their own verdict. ``not_run``: those, and all that follow in a turn that
    the policy ended. ``stopped_progress``: stops of calls whose recorded result was a success and none
    that the identical call had returned before, so that the stop would have cost something.
    ``labels``: how it does on the calls that people labelled; None where there are none.
    """

    __slots__ = (
        "calls",
        "first",
        "labels",
        "not_run",
        "policy",
        "recording",
        "stopped_progress",
        "stops",
    )

    def __init__(self, recording: str, policy: str, labels: Labelled | None = None) -> None:
        self.recording = recording
        self.policy = policy
        self.calls = 0
        self.first: dict[Tier, int | None] = dict.fromkeys((Tier.WARN, Tier.BLOCK, Tier.HALT))
        self.stops = 0
        self.not_run = 0
        self.stopped_progress = 0
        self.labels = labels

    def to_json(self) -> dict[str, Any]:
        """The comparison as one JSON object."""
        return {
            "recording": self.recording,
            "policy": self.policy,
            "calls": self.calls,
            **{f"first_{tier.word}": at for tier, at in self.first.items()},
            "stops": self.stops,
            "not_run": self.not_run,
            "stopped_progress": self.stopped_progress,
            **({} if self.labels is None else {"labels": self.labels.to_json()}),
        }

    def _take(self, row: Row, over: bool) -> bool:
        """Count one call; *over*: its turn had been ended. True where it is over after this call."""
        self.calls += 1
        stopped = row.before is not None and row.before.stops
        self.stops += stopped
        self.not_run += stopped or over
        self.stopped_progress += stopped and row.ok and row.new
        if self.labels is not None:
            self.labels.take(row, over)
        for verdict in filter(None, (row.before, row.after)):
            if verdict.tier and self.first[verdict.tier] is None:
                self.first[verdict.tier] = self.calls
            over = over or verdict.tier is Tier.HALT or verdict.ends_turn
        return over


def compare(
    recordings: Iterable[tuple[str, Iterable[Event]]],
    policies: Mapping[str, Policy],
    *,
    traits: TraitTable | None = None,
    digester: Digester | None = None,
) -> Iterator[Comparison]:
    """One ``Comparison`` for each recording and policy, recording by recording.

    *recordings*: names with their events. *policies*: names with policies in their first state, which
    are copied and stay so. What comes after a turn was ended is judged on like everything else.
    """
    for name, events in recordings:
        held = list(events)
        turns = _turns(held)
        said = labels_of(held)
        for label, policy in policies.items():
            comparison = Comparison(name, label, Labelled(said) if said else None)
            over: dict[str, int] = {}
            for row in judge(held, policy.copy(), traits=traits, digester=digester):
                session, turn = turns[row.at]
                if comparison._take(row, over.get(session) == turn):
                    over[session] = turn
            yield comparison


def _turns(events: list[Event]) -> list[tuple[str, int]]:
    """For each event its session and how many turns that had before."""
    found, counts = [], dict[str, int]()
    for event in events:
        if event.type in ("user_message", "turn_start", "resume", "reset"):
            counts[event.session] = counts.get(event.session, 0) + 1
        found.append((event.session, counts.get(event.session, 0)))
    return found
