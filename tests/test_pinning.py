"""A session of hooks keeps the configuration that it began with, until a human puts another one in force."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import Done, command
from hooks import Host
from loopguard_console import rules
from loopguard_console.deciding import Decider
from loopguard_console.rules import propose
from loopguard_console.thresholds import rule_of, thresholds_for
from loopguard_core.escape import DecisionError
from loopguard_core.events import Event
from loopguard_core.session import pinning, reloading
from loopguard_core.store.door import open_store

STRICT = 'policy = "graded"\nmode = "enforce"\n'
LOOSE = 'policy = "graded"\nmode = "observe"\n'


@pytest.fixture
def agent() -> Iterator[int]:
    """A process to be the agent's, so that this one is not inside it."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


@pytest.fixture
def host(tmp_path: Path, agent: int, monkeypatch: pytest.MonkeyPatch) -> Host:
    """An agent with a strict guard, and this process as its person's, in the same home."""
    for name in ("XDG_STATE_HOME", "LOOPGUARD_CONFIG", "LOOPGUARD_SESSION", "LOOPGUARD_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_PID", str(agent))
    return Host(tmp_path, config=STRICT)


def write(host: Host, text: str) -> None:
    (host.folder / "loopguard.toml").write_text(text, encoding="utf-8")


def denied(host: Host, tries: int = 6, **fields: Any) -> bool:
    """Whether a loop is stopped within so many tries."""
    for _ in range(tries):
        if host.before(**fields).denied:
            return True
        host.after(**fields)
    return False


def events(host: Host, session: str = "s1") -> list[Event]:
    store = open_store(str(host.store))
    found = store.read(session)
    store.close()
    return found


def notes(host: Host) -> list[str]:
    return [e.text("text") for e in events(host) if e.type == "note"]


def reload(host: Host, *more: str) -> Done:
    return command(host.store, "reload", "s1", *more)


@pytest.mark.parametrize(
    "loosened",
    [LOOSE, "mode = [", f"a = {'[' * 9000}", f"a = {'9' * 9000}", "#" * 5_000_000, None],
    ids=["loose", "broken", "deep", "digits", "large", "gone"],
)
def test_a_model_that_rewrites_breaks_or_deletes_the_file_loosens_nothing(
    host: Host, loosened: str | None
) -> None:
    host.send("SessionStart", source="startup")
    host.send("UserPromptSubmit", prompt="go")
    host.before("ls")
    if loosened is None:
        (host.folder / "loopguard.toml").unlink()
    else:
        write(host, loosened)
    assert denied(host)
    said = [note for note in notes(host) if "reload s1" in note]
    assert len(said) == 1, "it is said once"


def test_what_the_log_does_not_tell_of_the_settings_is_kept_as_well(host: Host) -> None:
    write(host, f'{STRICT}[redaction]\nnever_store = ["Bash"]\n')
    host.before("ls")
    write(host, STRICT)
    host.before("ls secrets")
    started = [e for e in events(host) if e.type == "call_start"]
    assert len(started) == 2
    assert not [e for e in started if "ls" in str(e.data["args"])]


def test_a_change_is_said_once_each_and_a_new_comment_is_none(host: Host) -> None:
    host.before("ls")
    write(host, f"# mine\n{STRICT}")
    assert not host.before("ls -l").err
    write(host, LOOSE)
    assert "reload s1" in host.before("ls -a").err
    assert not host.before("ls -b").err
    write(host, f"{LOOSE}wait_seconds = 5\n")
    assert "reload s1" in host.before("ls -c").err
    assert len(notes(host)) == 2


def test_a_human_puts_the_file_in_force_and_the_log_says_who(host: Host) -> None:
    host.before("ls")
    write(host, LOOSE)
    done = reload(host, "--json", "--note", "I watch it")
    assert done.code == 0, done.err
    assert done.objects == [{"session": "s1", "changed": ["s1"]}]
    assert not denied(host)
    last = [e for e in events(host) if e.type == "session_start"][-1]
    assert (last.data["mode"], last.data["note"]) == ("observe", "I watch it")
    assert last.text("by") and last.data["pid"]
    assert "in force already" in reload(host).out
    assert not notes(host)


def test_a_file_that_is_wrong_is_not_put_in_force(host: Host) -> None:
    host.before("ls")
    write(host, "mode = 'never'\n")
    done = reload(host)
    assert done.code == 2
    assert "mode is one of" in done.err
    assert denied(host)


def test_a_model_cannot_reload(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.before("ls")
    write(host, LOOSE)
    monkeypatch.setenv("LOOPGUARD_SESSION", "s1")
    assert reload(host).code == 1
    assert denied(host)


def test_a_session_that_starts_anew_reads_the_file(host: Host) -> None:
    host.before("ls")
    write(host, LOOSE)
    host.send("SessionStart", source="resume")
    assert not denied(host)
    write(host, STRICT)
    assert denied(host, session_id="s2"), "as does a new one"


def test_a_subagent_follows_its_parent(host: Host) -> None:
    host.before("ls")
    write(host, LOOSE)
    assert denied(host, agent_id="a1", agent_type="helper")
    assert reload(host).code == 0
    host.send("UserPromptSubmit", prompt="go on")
    assert not denied(host, agent_id="a2", agent_type="helper")


@pytest.mark.parametrize(
    "damaged",
    [
        lambda kept: "damaged",
        lambda kept: "[" * 100_000,
        lambda kept: kept[:-9],
        lambda kept: json.dumps({**json.loads(kept), "folder": 7}),
        lambda kept: json.dumps({**json.loads(kept), "raw": None}),
    ],
    ids=["no JSON", "deep", "cut", "folder", "settings"],
)
def test_where_what_was_kept_is_gone_the_log_says_what_holds(
    host: Host, damaged: Callable[[str], str]
) -> None:
    write(host, f"{STRICT}[policies.graded]\nhalt_at = 4\nblock_at = 3\nwarn_at = 2\n")
    host.before("ls")
    kept = list((host.folder / ".local/state/loopguard/pinned").iterdir())
    assert [oct(path.stat().st_mode & 0o777) for path in kept] == ["0o600"]
    kept[0].write_text(damaged(kept[0].read_text()))
    write(host, LOOSE)
    assert denied(host, tries=3)
    assert len(notes(host)) == 1
    assert sum(e.type == "session_start" for e in events(host)) == 1


def test_an_ended_session_leaves_nothing_behind(host: Host) -> None:
    host.before("ls")
    host.send("SessionEnd", reason="exit")
    assert not list((host.folder / ".local/state/loopguard/pinned").iterdir())
    store = open_store(str(host.store))
    with pytest.raises(DecisionError, match="start it anew"):
        reloading.reload(store, "s1")
    store.close()


def test_a_rule_of_the_console_is_in_force_at_once(host: Host) -> None:
    host.before("ls")
    write(host, f"{STRICT}[tools.Bash]\npoller = true\n")
    store = open_store(str(host.store))
    decider = Decider(store)
    said = decider.configured(str(host.folder / "loopguard.toml"))
    assert said == "In force at the next call of s1"
    assert "starts from now on" in decider.configured(os.devnull)
    store.close()
    pin = pinning.find(("s1",))
    assert pin is not None
    assert pin.config.tools["Bash"].poller
    host.before("ls")
    assert not notes(host)


def test_a_threshold_of_the_console_is_in_force_at_once(host: Host) -> None:
    assert not denied(host, tries=2)
    folder = str(host.folder)
    (graded,) = [t for t in thresholds_for(folder, "Bash", ["graded"]) if t.policy == "graded"]
    edit = propose(folder, "Bash", rule_of(graded, {"block_at": "6", "halt_at": "7"}))
    undo = rules.write(edit)
    store = open_store(str(host.store))
    decider = Decider(store)
    assert "In force at the next call of s1" in decider.configured(str(edit.path))
    assert not denied(host, tries=3), "the calls before count, the threshold is the new one"
    assert denied(host, tries=1)
    rules.write(undo)
    decider.configured(str(edit.path))
    store.close()
    host.send("UserPromptSubmit", prompt="again")
    assert denied(host, tries=3)


def test_a_session_of_the_same_name_in_another_store_is_another_session(host: Host) -> None:
    host.before("ls")
    write(host, LOOSE)
    first, host.store = host.store, host.folder / "other.db"
    assert not denied(host)
    host.store = first
    assert denied(host), "the first one still is under what its log says"


def test_doctor_says_where_a_change_is_not_in_force(host: Host) -> None:
    host.before("ls")
    assert "not in force" not in command(host.store, "doctor").out
    write(host, LOOSE)
    assert "reload s1" in command(host.store, "doctor").out
    reload(host)
    assert "not in force" not in command(host.store, "doctor").out
