"""A person's word for a session that nobody runs any more: it says so."""

from __future__ import annotations

from pathlib import Path

from commands import command
from loopguard_console.deciding import Decider
from sessions import loop, session, store_in


def test_a_word_for_a_session_that_nobody_runs_says_so(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with session(store, mode="enforce") as live:
        loop(live, 3)
    decider, place = Decider(store), tmp_path / "events.db"
    asked = store.request("R1")
    assert asked is not None
    assert "nobody runs s now; it holds when it goes on" in command(place, "approve", "R1").out
    assert "nobody runs s now" in command(place, "reset", "s").out
    for act in ("halt", "resume"):
        assert f"s: {act}" in (out := command(place, act, "s").out)
        assert "nobody runs s now" in out
    assert command(place, "resume", "s").out == "s: not halted; nothing was changed\n"
    assert "nobody runs s now" in command(place, "revoke", "R1-late").out
    for said in (
        decider.hold("s", "tool:search"),
        decider.halt("s", "turn", True),
        decider.resume("s"),
        decider.reset("s", "session", ""),
    ):
        assert "nobody runs the session now: it holds when it goes on" in said
