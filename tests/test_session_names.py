"""The name that a person gives a session in the console names it in every command."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest
from textual.pilot import Pilot

import console_scene
from commands import command
from driving import drive
from loopguard_console.app import ConsoleApp
from loopguard_console.naming import remembered
from loopguard_core.events import Event
from loopguard_core.store.door import open_store

ID, OTHER = "6f1c2a90", "19aa34c0"
NAME = "night v1.2"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with the sessions of the scene, of which the person has renamed one."""
    place = tmp_path / "events.db"
    with closing(open_store(str(place))) as made:
        for session in (ID, OTHER):
            data = {"agent": "tester", "name": f"came as {session}"}
            made.append(Event("session_start", session, ts=time.time(), data=data))
            call = {"call": "c", "tool": "read", "args": {}}
            made.append(Event("call_start", session, ts=time.time(), data=call))
    remembered().rename(ID, NAME)
    return place


def rename(name: str) -> None:
    """As a person does, with ``R``."""

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("R", *(["space" if c == " " else c for c in name]), "enter")
        assert app.title_of(ID) == name

    app = console_scene.live()
    app.remembered = remembered()
    drive(step, app)


@pytest.mark.parametrize(
    "line",
    [
        ["show", NAME, "--json"],
        ["export", NAME],
        ["open", NAME, "--json"],
        ["grants", NAME],
        ["pending", "--session", NAME],
        ["halt", NAME],
        ["reset", NAME],
        ["override", NAME, "--scope", "session"],
        ["show", f"came as {ID}"],
    ],
    ids=lambda line: " ".join(line[:2]),
)
def test_it_names_it_in_every_command(store: Path, line: list[str]) -> None:
    done = command(store, *line)
    assert (done.code, done.err) == (0, "")
    by_id = command(store, *[ID if word in (NAME, f"came as {ID}") else word for word in line])
    if line[0] not in ("override", "halt"):
        assert done.out == by_id.out


def test_it_is_what_is_shown(store: Path) -> None:
    rename(NAME)
    named = {s["session"]: s["name"] for s in command(store, "sessions", "--json").objects}
    assert named == {ID: NAME, OTHER: f"came as {OTHER}"}
    assert NAME in command(store, "sessions").out
    assert command(store, "show", ID).out.startswith(NAME)
    command(store, "halt", NAME)
    assert command(store, "halt", ID).out.startswith(f"{NAME}: ")
    assert f"{NAME}: " in command(store, "pending").out
    assert f"did you mean {NAME}?" in command(store, "show", "night v1.3").err


def test_an_id_is_never_taken_for_a_name(store: Path) -> None:
    rename(OTHER)
    command(store, "halt", OTHER)
    halted = {s["session"] for s in command(store, "sessions", "--json").objects if s["halted"]}
    assert halted == {OTHER}


def test_a_default_store_that_is_misnamed_keeps_no_command_from_another(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPGUARD_STORE", "mysql://x/y")
    assert command(store, "show", ID).code == 0
