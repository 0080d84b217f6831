"""``progress`` leaves legitimate repetition alone and catches real loops."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest

from loopguard_core.verdict import Tier
from shared import SHARED
from situations import LATEST, OURS, caught, situations, tiers

#: the call by which half of the loops must be caught
SOON = 8
ALL = [*situations(OURS), *situations(SHARED / "cases" / "detector.jsonl")]


@pytest.mark.parametrize("situation", ALL, ids=[s["id"] for s in ALL])
def test_situation(situation: dict[str, Any]) -> None:
    if "max_tier" in situation["expect"]:
        assert max(tiers(situation)) <= Tier.of(situation["expect"]["max_tier"])
    else:
        at = caught(situation)
        assert at is not None and at <= LATEST


def test_half_of_the_loops_are_caught_soon() -> None:
    loops = [s for s in ALL if "min_tier" in s["expect"]]
    assert median(caught(s) or 99 for s in loops) <= SOON
