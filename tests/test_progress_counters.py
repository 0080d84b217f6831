"""The marks of a counter agree with what the next identical call meets, whatever came in between."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.verdict import Count, Ruling, Tier
from plays import Play, fresh

#: What a step does, and how a person answers where it is asked about.
STEPS = {
    "again": ("bash", "same"),
    "other": ("read", "other"),
    "news": ("edit", "news"),
    "fails": ("build", "fails"),
}
ANSWERS = ("denied", "expired", "approved")
plays = st.lists(st.tuples(st.sampled_from([*STEPS, "again"]), st.sampled_from(ANSWERS)))


def take(play: Play, kind: str, answer: str = "denied") -> Ruling:
    tool, args = STEPS[kind]
    result = f"news {len(play.log)}" if kind == "news" else "r"
    outcome = "error" if kind == "fails" else "ok"
    return play.call(tool, args, result, answer=answer, outcome=outcome, message=str(len(play.log)))


def counter(play: Play, kind: str) -> Count | None:
    tool = STEPS[kind][0]
    counts = play.guard.counts()
    return next((c for c in counts if c.key.startswith(f"{tool}:")), None)


def known(play: Play) -> Count:
    count = counter(play, "again")
    assert count is not None
    return count


def agree(count: Count, met: Tier) -> None:
    """*count* says that the next identical call meets *met* (where that is more than a warning)."""
    due = [tier for tier, at in count.thresholds.items() if at <= count.count + 1]
    stops = Tier(max(due, default=Tier.ALLOW))
    assert (stops if stops >= Tier.BLOCK else Tier.ALLOW) == met, (count, count.thresholds)
    assert count.tier <= max(met, Tier.WARN)
    reached = [tier for tier, at in count.thresholds.items() if at <= count.count]
    assert max(reached, default=Tier.ALLOW) <= count.tier, "no mark is passed for nothing"


@pytest.mark.parametrize("policy", ["progress", "graded"])
@settings(max_examples=150, deadline=None)
@given(plays)
def test_a_counter_stands_at_the_mark_of_the_tier_that_holds(
    policy: str, steps: list[tuple[str, str]]
) -> None:
    play = Play(fresh(policy))
    for kind, answer in steps:
        before = counter(play, kind)
        ruling = take(play, kind, answer)
        own = ruling.verdict.detector in ("", "repetition", "cycle", "repeated_tool_calls")
        if before is not None and own:
            met = ruling.verdict.tier
            agree(before, met if met >= Tier.BLOCK else Tier.ALLOW)


@pytest.mark.parametrize("others", [1, 3])
def test_what_other_calls_bring_moves_the_marks_of_a_denied_loop_away(others: int) -> None:
    play = Play(fresh("progress"))
    for _ in range(8):
        take(play, "again")
    for _ in range(12):
        for _ in range(others):
            take(play, "news")
        for _ in range(3):
            take(play, "again")
    count = known(play)
    assert count.count > 30 and count.tier < Tier.BLOCK
    stops, latest = count.thresholds[Tier.BLOCK], count.thresholds[Tier.HALT]
    while known(play).count + 1 < stops:
        assert take(play, "again").verdict.tier < Tier.BLOCK
    halts = known(play).thresholds[Tier.HALT]
    assert stops < halts <= latest, "each of them that was denied counts"
    while known(play).count + 1 < halts:
        assert take(play, "again").verdict.tier is Tier.BLOCK
    assert take(play, "again").verdict.tier is Tier.HALT
