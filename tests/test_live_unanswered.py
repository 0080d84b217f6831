"""What the model reads beside a call that ran since nobody answered, and beside one that a human let run."""

from __future__ import annotations

from pathlib import Path

from hooks import Host
from loopguard_core import escape, inbox
from loopguard_core.store.door import open_store
from sessions import meanwhile, pending, session, store_in

RUNS = 'policy = "graded"\n[unanswered]\nblock = "run"\nhalt = "run"\n'


def test_each_call_that_runs_without_an_answer_says_so_and_why(tmp_path: Path) -> None:
    nobody = {"block": "run", "halt": "run"}
    store, said = store_in(tmp_path), list[str]()
    with session(store, unanswered=nobody, said=said) as live:
        for number in range(1, 7):
            decision = live.before("search", {"q": 1})
            assert decision.run
            advice = live.after(decision, "r")
            if number >= 3:
                assert advice.startswith("[loopguard] Nobody answered, so this call ran. ")
                assert "search" in advice and "was not run" not in advice
        assert len(said) == 4
        assert all("call runs" in line and "not run" not in line for line in said)
        assert inbox.waiting(store) == [], "there is nothing left to decide about them"


def test_a_hook_says_it_beside_the_result(tmp_path: Path) -> None:
    host = Host(tmp_path, config=RUNS)
    for number in range(1, 5):
        assert not host.before("ls").denied
        advice = host.after("ls").advice
        assert ("Nobody answered, so this call ran." in advice) is (number >= 3)


def test_what_is_noted_on_an_approval_reaches_the_model_of_a_hook(tmp_path: Path) -> None:
    host = Host(tmp_path, config='policy = "graded"\nunattended_wait_seconds = 30\n')
    for _ in range(2):
        host.before("ls")
        host.after("ls")
    store = open_store(str(host.store))
    with meanwhile(lambda: escape.approve(store, pending(store).request, note="only once")):
        assert not host.before("ls").denied
    assert "They say: only once" in host.after("ls").advice
