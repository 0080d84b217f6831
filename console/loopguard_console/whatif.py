"""What other policies would have done with the calls of one session. No Textual in here."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from loopguard_console.remembered import Remembered
from loopguard_core.events import Event, dump, load
from loopguard_core.policies import registry
from loopguard_core.policies.base import Policy
from loopguard_core.policies.options import PolicyError
from loopguard_core.recording.comparing import Comparison, compare
from loopguard_core.recording.judging import judge
from loopguard_core.traits import TraitTable
from loopguard_core.verdict import Tier

#: Calls that are judged; of a longer session the last ones.
CALLS = 20_000


@dataclass(frozen=True)
class Answer:
    """One policy's answer: the tier of each call, and what it adds up to."""

    policy: str
    tiers: bytes
    sums: Comparison

    @property
    def words(self) -> str:
        """First verdicts, calls saved, stops of calls that made progress, and what people said, in words."""
        first = [f"{tier.word} #{at}" for tier, at in self.sums.first.items() if at is not None]
        words = ["first " + " · ".join(first) if first else "allows every call"]
        if self.sums.not_run:
            calls = "call" if self.sums.not_run == 1 else "calls"
            words.append(f"{self.sums.not_run} {calls} would not have run")
        if self.sums.stopped_progress:
            words.append(f"{self.sums.stopped_progress} of them made progress")
        labels = self.sums.labels
        if labels is not None and labels.stuck:
            words.append(f"misses {labels.missed} of {labels.stuck} labelled stuck")
        if labels is not None and labels.fine:
            stopped = labels.counts["fine_stopped"]
            words.append(f"stops {stopped} of {labels.fine} labelled fine")
        return " · ".join(words)


def answers(
    events: Iterable[Event], policies: dict[str, Policy], traits: TraitTable
) -> list[Answer]:
    """The answer of each policy to the recorded calls."""
    held = list(events)
    sums = compare([("", held)], policies, traits=traits)
    return [
        Answer(name, _tiers(held, policy, traits), compared)
        for (name, policy), compared in zip(policies.items(), sums, strict=True)
    ]


def _tiers(events: list[Event], policy: Policy, traits: TraitTable) -> bytes:
    return bytes(
        max((v.tier for v in (row.before, row.after) if v is not None), default=Tier.ALLOW)
        for row in judge(events, policy.copy(), traits=traits)
    )


#: What stands behind a policy's name in the list where it is asked with its hard stop on; and the options that do so.
_HARD, _STOPS = ", hard stop", {"hard_stop_enabled": True}


def typed(label: str) -> str:
    """What a person would type for an answer's ``policy``."""
    name = label.removesuffix(_HARD)
    return label if name == label else f"{name} {dump(_STOPS)}"


def every_policy() -> dict[str, Policy]:
    """All policies with their own defaults; those that only warn unless told otherwise, with their hard stop on, too."""
    found: dict[str, Policy] = {}
    for name in registry.names():
        found[name] = registry.create(name)
        with suppress(PolicyError):  # it has no such option
            found[f"{name}{_HARD}"] = registry.create(name, _STOPS)
    return found


def chosen(remembered: Remembered, session: str) -> Policy | None:
    """The policy that a person chose to judge a recording with, None for its own."""
    text = remembered.judged(session)
    if not text:
        return None
    try:
        return read_policy(text)[1]
    except PolicyError:
        return None  # it is not known any more


def parse(text: str) -> tuple[str, dict[str, Any]]:
    """Name and options of a policy as a person types it. Raises ``PolicyError``."""
    name, _, given = text.strip().partition(" ")
    try:
        options = load(given) if given.strip() else {}
    except ValueError as error:
        raise PolicyError(f"the options are not JSON: {error}") from None
    if not isinstance(options, dict):
        raise PolicyError('the options are a JSON object, such as {"block_at": 5}')
    return name, options


def read_policy(text: str) -> tuple[str, Policy]:
    """A policy as a person types it: ``graded {"block_at": 5}``. Raises ``PolicyError``."""
    name, options = parse(text)
    return text.strip(), registry.create(name, options)
