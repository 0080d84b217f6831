"""The command that a stopped agent's line names works as it stands, wherever a person pastes it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from commands import command
from loopguard_core import refusal
from loopguard_core.shim import LoopGuard
from loopguard_core.verdict import Ruling, Tier, Verdict


def named(said: str) -> list[str]:
    """The words of the command in a person's line, as a shell takes them."""
    found = re.search(r"\(to let (?:it|its next try) run: loopguard-console (.+)\)$", said)
    assert found is not None, said
    return shlex.split(found[1])


def stopped(capsys: pytest.CaptureFixture[str], store: str = "") -> str:
    """What an agent says whose third identical call is stopped."""
    with LoopGuard("a", policy="graded", store=store) as guard:
        for _ in range(3):
            decision = guard.before_call("search", {"q": 1})
            if decision.run:
                guard.after_call(decision, "nothing")
    return capsys.readouterr().err.splitlines()[0]


@pytest.mark.parametrize("name", ["events.db", "with space's.db", "ünder-ä.db"])
def test_a_store_of_its_own_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    words = named(stopped(capsys, name))
    assert words[:2] == ["--store", str(tmp_path / name)]
    monkeypatch.chdir("/")
    assert command(None, *words).code == 0


def test_a_store_that_only_the_agents_environment_names_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LOOPGUARD_STORE", str(tmp_path / "other.db"))
    words = named(stopped(capsys))
    monkeypatch.delenv("LOOPGUARD_STORE")
    assert command(None, *words).code == 0


def test_the_usual_store_needs_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    words = named(stopped(capsys))
    assert words == ["approve", "R1"]
    assert command(None, *words).code == 0


def test_what_a_terminal_does_not_print_is_spelled_out() -> None:
    verdict = Verdict(Tier.BLOCK, "graded", "search:1", 3, 3, reason="It repeats.")
    line = refusal.for_person(
        Ruling("ask", verdict), "search", "s", "R1", waits=True, store="/a\x1b[2J/e.db"
    )
    assert line.isprintable()
