"""What people said of calls, and what a policy would have made of these calls."""

from __future__ import annotations

from loopguard_core.events import expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.recording.judging import Row

STUCK, FINE, UNSURE = "stuck", "was fine", "not sure"
#: What a person may say of a call. Only the first two are counted.
LABELS = (STUCK, FINE, UNSURE)

_KEYS = ("stuck_stopped", "stuck_warned", "fine_stopped", "fine_warned")


def labels_of(events: Iterable[Event]) -> dict[str, str]:
    """The last label of each labelled call, by ``session/call``."""
    said = {
        f"{event.session}/{event.text('on')}": event.text("text").strip().lower()
        for _, event in expand(event for event in events if event.type == "label")
    }
    return {call: text for call, text in said.items() if text in (STUCK, FINE)}


class Labelled:
    """One policy against the labels of one recording.

    ``stuck`` and ``fine``: labelled calls. ``counts``: how many of each it would have stopped (also as
    calls of a turn that it had ended) and only warned of. ``missed``: stuck calls that it let pass without
    a word. ``detectors``: the same counts by the detector that spoke on the call itself.
    """

    __slots__ = ("_said", "counts", "detectors", "fine", "missed", "stuck")

    def __init__(self, said: Mapping[str, str]) -> None:
        self._said = said
        self.stuck = self.fine = self.missed = 0
        self.counts = dict.fromkeys(_KEYS, 0)
        self.detectors: dict[str, dict[str, int]] = {}

    def take(self, row: Row, over: bool) -> None:
        """Count one call; *over*: its turn had been ended."""
        said = self._said.get(row.call.call)
        if said is None:
            return
        kind = "stuck" if said == STUCK else "fine"
        self.stuck += said == STUCK
        self.fine += said == FINE
        verdict = row.verdict
        warned = verdict is not None and bool(verdict.tier)
        stopped = over or (row.before is not None and row.before.stops)
        if not (warned or stopped):
            self.missed += said == STUCK
            return
        key = f"{kind}_{'stopped' if stopped else 'warned'}"
        self.counts[key] += 1
        if verdict is not None and warned:
            of = self.detectors.setdefault(verdict.detector, dict.fromkeys(_KEYS, 0))
            of[key] += 1

    def to_json(self) -> dict[str, Any]:
        """The counts as one JSON object."""
        return {
            "stuck": self.stuck,
            "fine": self.fine,
            **self.counts,
            "stuck_missed": self.missed,
            "detectors": self.detectors,
        }
