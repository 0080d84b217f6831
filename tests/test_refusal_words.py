"""What a refusal says: a person's note stands as a sentence, and a person is not told what the model is."""

from __future__ import annotations

import pytest

from loopguard_core import refusal
from loopguard_core.verdict import Ruling, Tier, Verdict

REASON = (
    "search was called 5 times with the same arguments; 2 more like it were refused. "
    "This one was not run. Do not repeat it unchanged."
)
VERDICT = Verdict(Tier.BLOCK, "progress", "search:1", 6, 6, reason=REASON)


@pytest.mark.parametrize("cause", ["deny", "halt"])
@pytest.mark.parametrize(("note", "said"), [("not this", "not this."), ("Stop!", "Stop!")])
def test_a_note_stands_as_a_sentence(cause: str, note: str, said: str) -> None:
    ruling = Ruling("refuse", VERDICT, cause=cause, note=note)
    text = refusal.refused(ruling, "", late=False)
    before, _, after = text.partition(f"They say: {said}")
    assert before.endswith(". ")
    assert after == "" or after.startswith(" ")


def test_no_note_leaves_nothing_behind() -> None:
    text = refusal.refused(Ruling("refuse", VERDICT, cause="deny"), "", late=False)
    assert "They say" not in text
    assert "  " not in text


@pytest.mark.parametrize("waits", [True, False])
def test_a_person_reads_what_happened_and_not_what_the_model_is_to_do(waits: bool) -> None:
    line = refusal.for_person(Ruling("ask", VERDICT), "search", "s1", "R7", waits=waits)
    assert "5 times with the same arguments; 2 more like it were refused. (to let it run" in line
    assert "This one was not run" not in line
    assert "Do not repeat" not in line
