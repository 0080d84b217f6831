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


REASONS = (
    REASON,
    "One message holds 4 identical calls of search. This one was not run; one of them is enough. Stop.",
    "search was repeated 3 times with the same answer; this one was not run.",
    "search was repeated 4 times; this one was not run and the turn ends here.",
    "search failed 5 times, so this call was not run. Look at the error first.",
    "search failed 8 times, so this call was not run and the turn ends here. Look first.",
)


@pytest.mark.parametrize("reason", REASONS)
def test_the_model_reads_once_that_its_call_was_not_run(reason: str) -> None:
    verdict = Verdict(Tier.BLOCK, "progress", "search:1", 6, 6, reason=reason)
    text = refusal.refused(Ruling("ask", verdict), "R1", late=True)
    assert text.count("was not run") == 1
    assert not set("  |,.|;.|..".split("|")) & {text[at : at + 2] for at in range(len(text))}


@pytest.mark.parametrize("waits", [True, False])
def test_a_breakpoint_does_not_speak_of_a_guard_that_had_nothing_against_the_call(
    waits: bool,
) -> None:
    calm = Verdict(Tier.ALLOW, "progress", "pay:1", 1, 6)
    held = Ruling("ask", calm, tier=Tier.BLOCK, cause="breakpoint", ref="B1")
    line = refusal.for_person(held, "pay", "s1", "R7", waits=waits)
    assert "cause=breakpoint tier=allow tool=pay" in line
    assert ": it meets a breakpoint of yours. (to let " in line
    assert "in the same way" not in line


def test_once_is_no_number_of_times() -> None:
    said = refusal.advice(Verdict(Tier.WARN, "progress", "pay:1", 1, 6))
    assert "pay was called once in the same way" in said


@pytest.mark.parametrize("waits", [True, False])
def test_a_person_reads_what_happened_and_not_what_the_model_is_to_do(waits: bool) -> None:
    line = refusal.for_person(Ruling("ask", VERDICT), "search", "s1", "R7", waits=waits)
    assert "5 times with the same arguments; 2 more like it were refused. (to let it" in line
    assert "This one was not run" not in line
    assert "Do not repeat" not in line


def test_a_person_reads_what_is_true_when_they_read_it() -> None:
    asked = Ruling("ask", VERDICT)

    def line(*, waits: bool, runs: bool = False, request: str = "R7") -> str:
        return refusal.for_person(asked, "search", "s1", request, waits=waits, runs=runs)

    waiting = line(waits=True)
    assert waiting.startswith("call waits for you: ") and "(to let it run: " in waiting
    refused = line(waits=False)
    assert refused.startswith("call refused: ") and "(to let its next try run: " in refused
    ran = line(waits=False, runs=True)
    assert ran.startswith("call runs, since nobody can be asked: ") and "approve" not in ran


@pytest.mark.parametrize(
    ("resolution", "by", "said"),
    [
        ("denied", "you@desk", "you@desk denied R7: the call was refused"),
        ("halted", "", "a human halted the agent: the call was refused"),
        ("cancelled", "", "R7 was cancelled: the call was refused"),
        (
            "expired",
            "",
            "nobody answered R7 in time: the call was refused (to let its next try run",
        ),
    ],
)
def test_how_a_wait_ended_is_said(resolution: str, by: str, said: str) -> None:
    assert refusal.after_wait(resolution, "R7", by, runs=False).startswith(said)


def test_a_call_that_runs_without_an_answer_names_no_command() -> None:
    said = refusal.after_wait("expired", "R7", "", runs=True)
    assert said == "nobody answered R7 in time: the call runs"
