"""The gauge of the selected call counts what its card counts, whatever else counts for that call."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopguard_console.chains import recordings_of
from loopguard_console.inputs import open_input, read_events
from loopguard_console.inspector.card import card
from loopguard_console.inspector.gauges import counter_lines, counter_of_call
from loopguard_console.viewing.view import View
from loopguard_core.events import Event

SAMPLES = Path(__file__).parents[1] / "sample_sessions"


@pytest.mark.parametrize("name", ["alternating-pair", "failing-command", "research-loop"])
def test_gauge_and_card_count_the_same(name: str) -> None:
    with open_input(str(SAMPLES / f"{name}.jsonl")) as stream:
        (recording,) = recordings_of(read_events(stream))
    view = View(recording, live=False)
    judged = [index for index, tier in enumerate(recording.tiers) if tier]
    for index in judged:
        view.go(index)
        why = recording.why(index)
        assert why is not None
        narrow = counter_of_call(view, 80)
        wide = counter_lines(view, 120, 1)[0]
        assert narrow is not None
        pill = f" {why.tier.word.upper()} {why.count}"
        assert pill in card(view, None, 80).plain
        assert f" {why.count} · " in narrow.plain and f" {why.count} · " in wide.plain
        assert why.detector in wide.plain
    assert judged


def test_a_calm_call_shows_the_counter_that_is_nearest_to_its_next_threshold() -> None:
    with open_input(str(SAMPLES / "alternating-pair.jsonl")) as stream:
        (recording,) = recordings_of(read_events(stream))
    view = View(recording, live=False)
    calm = next(i for i in range(2, len(recording)) if not recording.tiers[i])
    view.go(calm)
    shown = counter_of_call(view, 80)
    assert shown is not None and "warn at" in shown.plain


def test_two_counters_of_one_call_are_told_apart() -> None:
    with open_input(str(SAMPLES / "alternating-pair.jsonl")) as stream:
        (recording,) = recordings_of(read_events(stream))
    view = View(recording, live=False)
    view.go(7)
    narrow = [line.plain for line in counter_lines(view, 52, 3)]
    assert 'B read_file("store' in narrow[0] and "B repetition" in narrow[1]
    wide = [line.plain for line in counter_lines(view, 120, 3)]
    assert "· cycle" in wide[0] and "· repetition" in wide[1]


def test_what_is_set_back_after_the_last_call_stands_in_no_gauge() -> None:
    with open_input(str(SAMPLES / "research-loop.jsonl")) as stream:
        (recording,) = recordings_of(read_events(stream))
    view = View(recording, live=False)
    view.go(len(recording) - 1)
    assert counter_of_call(view, 80) is not None
    last = recording.seq
    recording.append([Event("reset", recording.session, seq=last + 1, data={"scope": "session"})])
    assert counter_of_call(view, 80) is None and counter_lines(view, 120, 3) == []
    view.go(8)
    assert counter_of_call(view, 80) is not None
