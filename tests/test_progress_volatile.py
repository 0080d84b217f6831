"""The quick ways of reading a piece give what looking at every word gives."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from loopguard_core.policies.progress import volatile
from loopguard_core.policies.progress.volatile import read

MUTE = ["answer", "the", "row", "12", "7", "99", "1234567890", "٣", "²"]
SAYING = [
    "took",
    "took:",
    "pid",
    "in",
    "of",
    "id",
    "bar_id",
    "requestid",
    "attempt",
    "times",
    "ms",
    "5.",
    "5,",
]
ODD = ["x=", "(", "#", "--", "3ms", "0x12ab", "a1", "10:12:13", "#12", "12%", "jan", "ago", "eta"]


@given(
    st.lists(st.sampled_from(MUTE) | st.sampled_from(SAYING) | st.sampled_from(ODD), max_size=9)
    | st.lists(st.sampled_from(MUTE), max_size=9),
    st.booleans(),
    st.booleans(),
)
def test_a_number_is_passed_over_quickly_only_where_nothing_says_more_of_it(
    words: list[str], reads: bool, numbered: bool
) -> None:
    piece = " ".join(words)
    quick = read(piece, reads=reads, numbered=numbered)
    with (
        patch.object(volatile, "_SAYING", frozenset(piece.split())),
        patch.object(volatile, "_is_plain", lambda *_: False),
    ):
        assert read(piece, reads=reads, numbered=numbered) == quick
