"""Numbers on the command line and in the settings: what is none is refused in one line, before anything is done."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from commands import command
from loopguard_core.config import Config, ConfigError
from loopguard_core.events import Event
from loopguard_core.shim import LoopGuard
from loopguard_core.store.door import open_store
from loopguard_core.store.memory import MemoryStore

AMOUNTS = [
    ("prune", "--days"),
    ("prune", "--megabytes"),
    ("watch", "--once", "--since"),
    ("override", "s", "--scope", "session", "--minutes"),
    ("demo", "--wait"),
    ("mcp-proxy", "--limit"),
]
COUNTS = [
    ("show", "s", "--last"),
    ("search", "x", "--limit"),
    ("query", "SELECT 1", "--limit"),
    ("override", "s", "--scope", "session", "--calls"),
    ("serve", "--port"),
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    place = tmp_path / "e.db"
    with closing(open_store(str(place))) as made:
        made.append(Event("session_start", "s", ts=1.0, data={"agent": "a"}))
        made.append(Event("session_end", "s", ts=2.0))
    return place


@pytest.mark.parametrize("line", [*AMOUNTS, *COUNTS], ids=" ".join)
@pytest.mark.parametrize("number", ["nan", "-nan", "NaN", "-1", "many", ""])
def test_what_is_no_number_is_refused_and_nothing_is_done(
    store: Path, line: tuple[str, ...], number: str
) -> None:
    done = command(store, *line, number)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1 and line[-1] in done.err
    with closing(open_store(str(store))) as made:
        assert made.last("s") == 2


@pytest.mark.parametrize("line", COUNTS[:3], ids=" ".join)
def test_any_number_of_lines_may_be_asked_for(store: Path, line: tuple[str, ...]) -> None:
    for number in (1, 2**31, 2**63 - 1, 2**63, 10**30):
        done = command(store, *line, str(number))
        assert (done.code, "Traceback" in done.err) == (0, False), done.err


@pytest.mark.parametrize(
    "value",
    [10**400, -1, float("nan"), float("inf"), -float("inf"), "5", True],
    ids=lambda v: str(v)[:9],
)
@pytest.mark.parametrize("where", ["wait_seconds", "late_approval_seconds", "ceiling", "retention"])
def test_what_is_no_number_in_the_settings_is_said(where: str, value: object) -> None:
    inside = {"ceiling": "seconds", "retention": "days"}.get(where)
    raw = {where: {inside: value} if inside else value}
    with pytest.raises(ConfigError, match="is a number") as said:
        Config(raw)
    assert len(str(said.value)) < 200


@pytest.mark.parametrize("number", ["1" + 400 * "0", "nan", "inf"])
def test_an_agent_begins_on_its_defaults_where_a_number_in_its_settings_is_none(
    tmp_path: Path, number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "loopguard.toml"
    file.write_text(f"wait_seconds = {number}\n")
    monkeypatch.setenv("LOOPGUARD_CONFIG", str(file))
    lines: list[str] = []
    with LoopGuard("a", store=MemoryStore(), say=lines.append) as guard:
        assert guard.before_call("ls", {}).run
    assert [("wait_seconds is a number" in line) for line in lines] == [True]
