"""Runs and cycles fold into one line, and every call stands on exactly one line."""

from __future__ import annotations

import random
from array import array

from hypothesis import given
from hypothesis import strategies as st

from loopguard_console.viewing.folding import LIVE_TAIL, Folding


def fold(text: str, *, unfolded: bool = False) -> Folding:
    """A folding over letters as calls, ``|`` as marks, and ``~`` as marks that close nothing.

    A small letter is the call of the large one, about which a person decided.
    """
    keys = array("I")
    folding = Folding(keys, fold=not unfolded)
    marks = 0
    for letter in text:
        if letter in "|~":
            folding.mark(marks, closes=letter == "|")
            marks += 1
        else:
            keys.append(ord(letter.upper()))
            folding.call(alone=letter.islower(), closes=False)
    return folding


def shown(folding: Folding) -> list[str]:
    out = []
    for number in range(len(folding)):
        line = folding.line(number)
        if line.is_mark:
            out.append("|")
        elif line.first == line.last:
            out.append(f"{line.first}" + (" in" if line.inside else ""))
        else:
            out.append(f"{line.first}-{line.last}/{line.period}")
    return out


def test_runs_fold_once_something_else_follows() -> None:
    assert shown(fold("AABBBC")) == ["0-1/1", "2-4/1", "5"]


def test_the_growing_run_keeps_its_last_calls_in_sight() -> None:
    assert shown(fold("AAA")) == ["0", "1", "2"]
    assert shown(fold("BAAAAAAA")) == ["0", "1-2/1", "3 in", "4 in", "5 in", "6 in", "7 in"]


def test_a_mark_that_closes_nothing_leaves_the_calls_before_it_in_sight() -> None:
    assert shown(fold("AAA|")) == ["0-2/1", "|"]
    assert shown(fold("AAA~")) == ["0", "1", "2", "|"]
    assert shown(fold("BAAAAAAA~~")) == [*shown(fold("BAAAAAAA")), "|", "|"]
    assert shown(fold("AAA~A")) == ["0-2/1", "|", "3"]
    assert shown(fold("AAA~|")) == ["0-2/1", "|", "|"]


def test_cycles_fold_and_marks_separate() -> None:
    assert shown(fold("XABABABABC")) == ["0", "1-8/2", "9"]
    assert shown(fold("AABAABAABC")) == ["0-8/3", "9"]
    assert shown(fold("AA|AAB")) == ["0-1/1", "|", "2-3/1", "4"]


def test_opening_and_closing() -> None:
    folding = fold("AAABC")
    assert folding.toggle(folding.line(0).segment)
    assert shown(folding) == ["0-2/1", "0 in", "1 in", "2 in", "3", "4"]
    assert folding.toggle(folding.line(0).segment) and shown(folding) == ["0-2/1", "3", "4"]
    folding.reveal(1)
    assert folding.line(folding.line_of(1)).first == 1
    assert not folding.toggle(folding.line(len(folding) - 1).segment)


def test_what_a_person_decided_stands_alone() -> None:
    assert shown(fold("AAaAAaB")) == ["0-1/1", "2", "3-4/1", "5", "6"]
    assert shown(fold("AAAa")) == ["0", "1", "2", "3"]
    assert shown(fold("ABABABaBABABC")) == ["0-5/2", "6", *"789", "10", "11", "12"]
    folding = fold("AAAAAABAAAC")
    assert folding.toggle(folding.line(2).segment)
    folding.part(3)
    assert shown(folding)[:5] == ["0-2/1", "3", "4-5/1", "6", "7-9/1"]
    assert shown(folding)[5:] == ["7 in", "8 in", "9 in", "10"]


@given(st.text("ABab|~", max_size=40), st.randoms(use_true_random=False))
def test_a_decision_that_comes_later_parts_as_one_that_was_known(
    text: str, chance: random.Random
) -> None:
    folding, calls = fold(text.upper()), [letter for letter in text if letter not in "|~"]
    late = [row for row, letter in enumerate(calls) if letter.islower()]
    chance.shuffle(late)
    for row in late:
        folding.part(row)
    assert shown(folding) == shown(fold(text))


@given(
    st.text("ABa|~C", max_size=60),
    st.lists(st.integers(0, 60), max_size=4),
    st.lists(st.integers(0, 60), max_size=3),
    st.booleans(),
)
def test_every_call_stands_on_one_line_and_is_found_there(
    text: str, toggles: list[int], late: list[int], unfolded: bool
) -> None:
    folding = fold(text, unfolded=unfolded)
    for number in toggles:
        if number < len(folding):
            folding.toggle(folding.line(number).segment)
    for row in late:
        if row < len(text.replace("|", "").replace("~", "")):
            folding.part(row)
    seen: list[int] = []
    marks = []
    heads = 0
    for number in range(len(folding)):
        line = folding.line(number)
        if line.is_mark:
            marks.append(line.mark)
            continue
        opened = line.folds and number + 1 < len(folding) and folding.line(number + 1).inside
        if opened and folding.line(number + 1).first == line.first:
            heads += 1
            continue
        seen.extend(range(line.first, line.last + 1))
        for row in range(line.first, line.last + 1):
            assert folding.line_of(row) == number
    assert seen == list(range(len(text.replace("|", "").replace("~", ""))))
    assert marks == list(range(text.count("|") + text.count("~")))
    assert len(folding) <= len(text) + heads + LIVE_TAIL
