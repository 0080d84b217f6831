"""``progress`` behind a live session: bursts at once, approvals, another process, half-open stops."""

from __future__ import annotations

import threading
from pathlib import Path

from loopguard_core.decision import Decision
from sessions import session, store_in

MANY = 24


def test_a_burst_at_once_is_cut_short(tmp_path: Path) -> None:
    decided = threading.Barrier(MANY)
    ran: list[Decision] = []
    with session(store_in(tmp_path), policy="progress", mode="enforce") as live:

        def work() -> None:
            decision = live.before("post_order", {"sku": 1}, message="m1")
            decided.wait()  # nothing ends before everything was decided
            if decision.run:
                ran.append(decision)
                live.after(decision, "done")

        threads = [threading.Thread(target=work) for _ in range(MANY)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(ran) == 4


def test_identical_calls_in_many_messages_at_once_count_as_repeats(tmp_path: Path) -> None:
    with session(store_in(tmp_path), policy="progress", mode="enforce") as live:
        decisions = [live.before("fetch", {"u": 1}, message=f"m{n}") for n in range(MANY)]
    assert sum(decision.run for decision in decisions) == 5


def test_advice_comes_with_the_third_result_and_the_sixth_call_is_refused(tmp_path: Path) -> None:
    advice, refused = [], []
    with session(store_in(tmp_path), policy="progress", mode="enforce") as live:
        for _ in range(7):
            decision = live.before("search", {"q": "x"})
            if decision.run:
                advice.append(live.after(decision, "one page"))
            else:
                refused.append(decision.message)
    assert [bool(said) for said in advice] == [False, False, True, True, True]
    assert "called 3 times with the same arguments" in advice[2]
    assert len(refused) == 2 and "gave the same answer" in refused[0]


def test_an_agent_with_a_shell_alone_is_not_cut_off(tmp_path: Path) -> None:
    ran = []
    with session(store_in(tmp_path), policy="progress", mode="enforce") as live:
        for number in range(14):
            decision = live.before("bash", {"command": f"cat f{number}"})
            ran.append(decision.run)
            if decision.run:
                text = f"cat: f{number}: No such file or directory"
                live.after(decision, text, outcome="error")
        assert ran[:7] == [True] * 7 and ran[7:] == [False, True] * 3 + [False]
        found = live.before("bash", {"command": "ls"})
        assert found.run
        live.after(found, "g0 g1")
        assert live.before("bash", {"command": "cat g0"}).run
