"""Breakpoints: which calls a condition holds, and that they are held in every mode."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopguard_core import escape
from loopguard_core.condition import Condition, ConditionError
from loopguard_core.verdict import Tier, Verdict
from sessions import call, meanwhile, pending, session, store_in


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", True),
        ("tool:bash", True),
        ("tool:read", False),
        ("tool:bash rm", True),
        ("tool:bash mv", False),
        ("/rm\\s+-rf/", True),
        ("/^rm/", False),
        ('"-rf /tmp"', True),
        ("tier>=warn", True),
        ("tier>warn", False),
        ("tier=warn count<=3 count>2 count:3", True),
        ("count>3", False),
        ("count<3", False),
    ],
)
def test_all_terms_must_hold(text: str, holds: bool) -> None:
    verdict = Verdict(Tier.WARN, "p", count=3)
    assert Condition(text).holds("Bash", {"command": "rm -rf /tmp"}, verdict) is holds


@pytest.mark.parametrize("text", ["/(/", "tier>=loud", "count>=many", "is:error"])
def test_what_cannot_be_read_is_said(text: str) -> None:
    with pytest.raises(ConditionError):
        Condition(text)


@pytest.mark.parametrize("mode", ["observe", "ask", "enforce"])
def test_a_breakpoint_holds_live_calls_until_a_human_decides(tmp_path: Path, mode: str) -> None:
    store, desk = store_in(tmp_path), store_in(tmp_path)
    with session(store, mode=mode, unattended_wait_seconds=20) as live:
        point = escape.set_breakpoint(desk, "s", "tool:rm /tmp/").breakpoint
        assert call(live, "ls", "/tmp").run
        with meanwhile(lambda: escape.deny(desk, pending(desk).request, note="not there")):
            held = call(live, "rm", "/tmp")
        assert not held.run
        assert (held.ruling.cause, "not there" in held.message) == ("breakpoint", True)
        escape.clear_breakpoint(desk, "s", point)
        live.turn("again")
        assert call(live, "rm", "/tmp").run


def test_a_condition_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with session(store), pytest.raises(escape.DecisionError, match="regular expression"):
        escape.set_breakpoint(store, "s", "/(/")
