"""What people read: numbers with the right form of the word, whole sentences, keys by their names."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key

from commands import command
from driving import recording
from loopguard_console import output
from loopguard_console.leaving import left_waiting
from loopguard_console.render import size
from loopguard_core.events import Event
from loopguard_core.store.contract import Request
from loopguard_core.store.door import open_store
from test_cli_narrow import shown


def kept(place: Path, *events: dict[str, Any]) -> Path:
    """A store in *place* with the sessions of *events*."""
    log = place / "log.jsonl"
    log.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    assert command(place / "events.db", "import", log).code == 0
    return place / "events.db"


def test_every_command_is_told_in_a_whole_sentence() -> None:
    said = command(None, "--help").out
    assert "…" not in said and "..." not in said.partition("Commands:")[2]
    assert "Show the calls of a session: what was called, how it ended, what" in said


@pytest.mark.parametrize(("ended", "said"), [(1, "was lost is"), (2, "were lost are")])
def test_sessions_that_are_not_shown(tmp_path: Path, ended: int, said: str) -> None:
    store = kept(
        tmp_path,
        *(
            {"type": kind, "session": f"s{n}"}
            for n in range(ended)
            for kind in ("session_start", "session_end")
        ),
    )
    out = command(store, "sessions").out
    assert out == f"{ended} that ended or {said} not shown (--all)\n"


def test_one_call_is_one_call(tmp_path: Path) -> None:
    store = kept(tmp_path, {"type": "call", "session": "s", "tool": "t", "args": {}})
    assert command(store, "show", "s").out.splitlines()[1].startswith("1 call ")
    assert "\n1 call judged by" in command(None, "judge", tmp_path / "log.jsonl").out


def test_an_end_tells_its_reason_and_who_said_so(tmp_path: Path) -> None:
    ends: tuple[dict[str, str], ...] = (
        {},
        {"reason": "done"},
        {"reason": "its process was gone", "by": "you@desk"},
    )
    said = []
    for number, more in enumerate(ends):
        (tmp_path / str(number)).mkdir()
        store = kept(
            tmp_path / str(number),
            {"type": "session_start", "session": "s"},
            {"type": "session_end", "session": "s", **more},
        )
        said.append(command(store, "show", "s").out.splitlines()[-1].strip())
    assert said == [
        "session ended",
        "session ended: done",
        "session ended: its process was gone, said by you@desk",
    ]


def test_a_gap_tells_how_much_is_missing_and_why(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    store.append(Event("session_start", "s"))
    store.append(Event("gap", "s", data={"count": 1, "reason": "disk full"}))
    store.append(Event("gap", "s", data={"count": 2, "reason": ""}))
    store.close()
    lines = command(tmp_path / "events.db", "show", "s").out.splitlines()
    assert "  3 events missing" in lines[1]
    assert [line.strip() for line in lines[2:]] == [
        "1 event could not be written: disk full",
        "2 events could not be written",
    ]


@pytest.mark.parametrize(
    ("count", "said"),
    [(999, "999"), (999_949, "999.9k"), (999_999, "1.0M"), (62_450_200_000, "62.5G")],
)
def test_sizes_in_units_that_can_be_read(count: int, said: str) -> None:
    assert size(count) == said


@pytest.mark.parametrize("width", [60, 100])
def test_sentences_break_between_words(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    width: int,
) -> None:
    request = Request("R1", "s", 1)
    monkeypatch.setattr(output, "room", lambda *_: width)
    output.told(left_waiting([request]))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 1 and all(len(line) <= width for line in lines)
    assert " ".join(lines) == left_waiting([request])
    monkeypatch.undo()
    log = tmp_path / "log.jsonl"
    call = {"type": "call", "tool": "search", "args": {"q": "the same"}, "result": "nothing"}
    log.write_text((json.dumps(call) + "\n") * 8)
    lines = shown(monkeypatch, width, "judge", log)
    whole = command(None, "judge", log).out
    assert all(len(line) <= width for line in lines)
    assert " ".join(" ".join(lines).split()) == " ".join(whole.split())


def test_a_key_without_a_meaning_is_called_by_its_name() -> None:
    async def press() -> None:
        app = recording()
        async with app.run_test(size=(80, 24), notifications=True) as pilot:
            app.on_key(Key("shift+enter", "\r"))
            await pilot.pause()
            (said,) = (notice.message for notice in app._notifications)
            assert said.startswith("shift+enter does nothing here")

    asyncio.run(press())


def test_open_without_a_terminal_names_its_own_way_out() -> None:
    said = command(None, "open", Path(__file__).parents[1] / "sample_sessions/research-loop.jsonl")
    assert said.code == 2 and "open --json" in said.err
