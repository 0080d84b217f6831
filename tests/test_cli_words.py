"""What a slip of the fingers gets: one line that says what there is, and help that speaks the manual's words."""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path

import click
import pytest

from commands import command
from loopguard_console.cli import COMMANDS, cli
from loopguard_console.install import INSTALLERS
from loopguard_core.events import Event
from loopguard_core.policies import registry
from loopguard_core.store.door import open_store

ROOT = Path(__file__).parents[1]
MANUAL = (ROOT / "docs" / "cli.md").read_text("utf-8")
SAMPLE = ROOT / "sample_sessions" / "research-loop.jsonl"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    found = tmp_path / "events.db"
    with contextlib.closing(open_store(str(found))) as store:
        store.append(Event("session_start", "researcher-1", data={"agent": "researcher"}))
    return found


def options(name: str) -> list[click.Option]:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return [p for p in found.params if isinstance(p, click.Option) and not p.is_flag]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_values_as_the_manual_does(name: str) -> None:
    context = click.Context(cli)
    for option in options(name):
        if option.opts[0] == "--scope" or isinstance(option.type, click.Choice):
            continue
        named = option.make_metavar(context)
        assert named in {"TEXT", *re.findall(r"--[a-z-]+ ([A-Z|]+)", MANUAL)} | {
            "FILE|FOLDER",
            "NAME|SIGNATURE",
            "NAMES",
        }, option.opts
        assert named != "TEXT" or option.name in ("note", "name"), option.opts


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_comes_for_either_spelling(word: str) -> None:
    assert command(None, word).out == command(None, "--help").out
    assert command(None, "show", word).out == command(None, "show", "--help").out


@pytest.mark.parametrize("name", ["install", "uninstall"])
def test_the_agents_that_can_be_connected_are_named(name: str) -> None:
    help_text = " ".join(command(None, name, "--help").out.split())
    for agent in INSTALLERS:
        assert agent in help_text and f"`{agent}`" in MANUAL
    assert command(None, name, "claude").err.endswith("called claude: did you mean claude-code?\n")
    said = command(None, name, "cursor")
    assert said.code == 2 and f"there are {', '.join(INSTALLERS)}" in said.err


@pytest.mark.parametrize("name", ["judge", "compare", "open"])
def test_the_policies_that_can_be_asked_are_named(name: str) -> None:
    help_text = re.sub(r"\s+", " ", command(None, name, "--help").out)
    assert ", ".join(registry.names()) in help_text.replace("- ", "-")


def test_the_option_that_named_a_wrong_policy_is_named() -> None:
    said = command(None, "compare", SAMPLE, "--policies", "progress,herms")
    assert said.code == 2 and "--policies: there is no policy 'herms'" in said.err
    said = command(None, "judge", SAMPLE, "--policy", "herms")
    assert said.code == 2 and "--policy: there is no policy 'herms'" in said.err


def test_a_session_that_is_spelled_nearly_right_is_guessed(place: Path) -> None:
    said = command(place, "show", "reseracher-1")
    assert said.code == 2 and "did you mean researcher-1?" in said.err
    assert "`loopguard-console sessions --all` lists them" in said.err
    assert "did you mean" not in command(place, "show", "quite-another").err


def test_of_several_that_begin_alike_the_one_that_runs_is_meant(place: Path) -> None:
    now = time.time()
    with contextlib.closing(open_store(str(place))) as store:
        store.append(Event("session_start", "researcher-2", ts=now, data={"agent": "researcher"}))
        store.append(Event("session_start", "researcher-3", ts=now, data={"agent": "researcher"}))
        store.append(Event("session_end", "researcher-3", ts=now))
    said = command(place, "halt", "researcher")
    assert (said.code, said.out.split(":")[0]) == (0, "researcher-2")
    with contextlib.closing(open_store(str(place))) as store:
        store.append(Event("session_start", "researcher-4", ts=now, data={"agent": "researcher"}))
    said = command(place, "halt", "researcher")
    assert said.code == 2 and "can mean 4 sessions" in said.err


def test_a_note_stands_behind_who_gave_it(place: Path) -> None:
    for line in (["halt", "--note", "enough"], ["resume", "--note", "go on"], ["halt"]):
        assert command(place, line[0], "researcher-1", *line[1:]).code == 0
    said = [text.strip() for text in command(place, "show", "researcher-1").out.splitlines()[-3:]]
    assert re.fullmatch(r"halted turn by \S+: enough", said[0])
    assert re.fullmatch(r"resumed by \S+: go on", said[1])
    assert re.fullmatch(r"halted turn by \S+", said[2])


def test_a_grant_and_a_reset_are_told_in_words(place: Path) -> None:
    key = ["--scope", "signature", "--key", "search:1f2e3d4c5b6a"]
    assert command(place, "override", "researcher-1", *key, "--calls", "3").code == 0
    assert command(place, "reset", "researcher-1").code == 0
    granted, reset = command(place, "show", "researcher-1").out.splitlines()[-2:]
    assert "granted search with these arguments for 3 calls" in granted and " by " in granted
    assert "reset the count of everything by " in reset


@pytest.mark.parametrize("line", [("halt",), ("reset",), ("override", "--calls", "1")])
@pytest.mark.parametrize("target", ["R99", "r99", "99"])
def test_a_request_that_is_not_there_is_called_a_request(
    place: Path, line: tuple[str, ...], target: str
) -> None:
    said = command(place, line[0], target, *line[1:])
    assert said.code == 1 and f"no request {target}; `loopguard-console pending`" in said.err


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (("prune", "--days", "x"), "'x' is not a valid number"),
        (("show", "s", "--last", "1.5"), "'1.5' is not a valid whole number"),
    ],
)
def test_what_is_no_number_is_called_so(line: tuple[str, ...], what: str) -> None:
    said = command(None, *line)
    assert said.code == 2 and what in said.err


def test_no_page_tells_to_fetch_what_no_index_has() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        text = page.read_text("utf-8")
        assert not re.search(r"pip install (-\S+ )*'?loopguard-console", text), page


def test_what_is_neither_a_file_nor_a_session_is_called_both(place: Path) -> None:
    said = command(place, "open", "reseracher-1")
    assert said.code == 2
    assert "reseracher-1: no such file, and no session is called reseracher-1" in said.err
    assert "did you mean researcher-1?" in said.err
