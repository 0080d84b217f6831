"""Compact columns give back what was put in."""

from __future__ import annotations

import sys
from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopguard_core.columns import Rising, Times

moments = st.one_of(
    st.none(),
    st.floats(-1e300, 1e300, exclude_min=True, exclude_max=True),
    st.floats(1.7e9, 1.9e9),
    st.floats(1.8e9, 1.8e9 + 3_600),
)


@given(st.lists(moments, max_size=200))
def test_moments_to_the_microsecond(given: list[float | None]) -> None:
    times = Times()
    for ts in given:
        times.append(ts)
    assert len(times) == len(given)
    for row, ts in enumerate(given):
        assert times[row] == (None if ts is None else pytest.approx(ts, abs=1e-6, rel=1e-15))


@given(st.one_of(st.floats(1e300), st.floats(max_value=-1e300), st.just(float("nan"))))
def test_a_time_that_no_clock_tells_is_none(ts: float) -> None:
    times = Times()
    for each in (1.8e9, ts, 1.8e9 + 1):
        times.append(each)
    assert [times[row] for row in range(3)] == [1.8e9, None, 1.8e9 + 1]


@given(st.lists(st.one_of(st.integers(0, 3), st.integers(0, 100_000)), max_size=200))
def test_rising_numbers_exactly(steps: list[int]) -> None:
    rising, numbers, number = Rising(), [], 0
    for step in steps:
        number += step
        rising.append(number)
        numbers.append(number)
    assert [rising[row] for row in range(len(rising))] == numbers
    for wanted in {0, number, number + 1, *numbers[::7]}:
        assert rising.upto(wanted) == bisect_right(numbers, wanted)


def test_a_row_takes_few_bytes() -> None:
    times, rising = Times(), Rising()
    for row in range(10_000):
        times.append(1.8e9 + row * 1.5)
        rising.append(2 * row + 1)
    columns = [
        getattr(c, name) for c in (times, rising) for name in ("_bases", "_offsets", "_apart")
    ]
    assert sum(map(sys.getsizeof, columns)) < 10_000 * 7
