"""What a report tells: the session, the call at which it went wrong, and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from loopguard_console.errors import Refused
from loopguard_console.render import signature_label
from loopguard_core.replay import Recording
from loopguard_core.verdict import Tier, Verdict

_LABEL = 60


@dataclass(frozen=True)
class Incident:
    """One call of a session, and what stood around it. ``index`` counts from 0.

    ``window``: the last calls up to it, each with its letter (``·`` for one that did not come again).
    ``repeats``: letter, label and number of each call that stands more than once among them.
    ``run``: the first and the last index of the identical calls in a row to which it belongs.
    """

    recording: Recording
    index: int
    verdict: Verdict | None
    label: str
    window: tuple[str, ...]
    repeats: tuple[tuple[str, str, int], ...]
    run: tuple[int, int]

    @property
    def number(self) -> int:
        """The call's number, from 1."""
        return self.index + 1

    @property
    def args(self) -> Any:
        return self.recording.args(self.index)

    @property
    def result(self) -> Any:
        return self.recording.result(self.index)


def incident(recording: Recording, call: int | None = None) -> Incident:
    """The incident of a session: at *call* (from 1), else where it is worst. Raises ``Refused``.

    That is the first call of the strongest tier; where no verdict is stronger than allow, the end of the
    longest run of identical calls.
    """
    if not len(recording):
        raise Refused("there is no call in it, so there is nothing to report")
    if call is not None and not 1 <= call <= len(recording):
        raise Refused(f"--call is a number from 1 to {len(recording)}, not {call}")
    index = _worst(recording) if call is None else call - 1
    key = recording.keys[index]
    keys = recording.window_at(index)
    counted = Counter(keys)
    repeats = tuple(
        (_letter(recording, k), _label(recording, k), times)
        for k, times in counted.most_common()
        if times > 1
    )
    return Incident(
        recording,
        index,
        recording.why(index),
        _label(recording, key),
        tuple(_letter(recording, k) if counted[k] > 1 else "·" for k in keys),
        repeats,
        _run(recording, index),
    )


def _worst(recording: Recording) -> int:
    strongest = max(recording.tiers)
    if strongest > Tier.ALLOW:
        return recording.tiers.index(strongest)
    best = (0, 0)
    for index in range(len(recording)):
        first, last = _run(recording, index)
        if last == index and last - first > best[1] - best[0]:
            best = (first, last)
    return best[1]


def _run(recording: Recording, index: int) -> tuple[int, int]:
    keys = recording.keys
    first = last = index
    while first > 0 and keys[first - 1] == keys[index]:
        first -= 1
    while last + 1 < len(keys) and keys[last + 1] == keys[index]:
        last += 1
    return first, last


def _letter(recording: Recording, key: int) -> str:
    return chr(65 + recording.letters.get(key, 0) % 26)


def _label(recording: Recording, key: int) -> str:
    return signature_label(recording.tools[key], recording.args_of_key(key), _LABEL)


def sentence(found: Incident) -> str:
    """The incident in one sentence."""
    recording = found.recording
    first, last = found.run
    times = last - first + 1
    tier = Tier(recording.tiers[found.index])
    did = {
        Tier.ALLOW: "The guard had nothing to object to",
        Tier.WARN: "The guard warned",
        Tier.BLOCK: "The guard stopped the call",
        Tier.HALT: "The guard halted the turn",
    }[tier]
    again = f" It is one of {times} identical calls in a row." if times > 1 else ""
    return f"{did} at call {found.number} of {len(recording)}: {found.label}.{again}"


def facts(found: Incident) -> list[tuple[str, str]]:
    """Names and values about the session and the verdict, not made safe yet."""
    recording = found.recording
    start = recording.start.data if recording.start is not None else {}
    told = [
        ("session", recording.session),
        ("agent", str(start.get("agent") or "")),
        ("guard", f"{start.get('policy') or recording.guard.policy.name}, {recording.guard.mode}"),
        ("calls", str(len(recording))),
        ("worst verdict", recording.worst.word),
    ]
    verdict = found.verdict
    if verdict is not None and verdict.tier > Tier.ALLOW:
        count = (
            f"{verdict.count} of {verdict.threshold}" if verdict.threshold else str(verdict.count)
        )
        told += [
            ("verdict", f"{verdict.tier.word} by {verdict.policy}"),
            ("why", verdict.reason),
            ("detector", verdict.detector),
            ("count", count),
            ("traits", ", ".join(verdict.traits)),
        ]
    return [(name, value) for name, value in told if value]
