"""A session of hooks whose settings cannot be had any more, or not be kept: it is guarded, told once, and ended."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hooks import Host
from loopguard_core.escape import DecisionError
from loopguard_core.events import Event
from loopguard_core.session import pinning, reloading
from loopguard_core.store.door import open_store

STRICT = 'policy = "graded"\nmode = "enforce"\n'
LOOSE = 'policy = "graded"\nmode = "observe"\n'
BROKEN = "mode = ["


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    for name in ("XDG_STATE_HOME", "LOOPGUARD_CONFIG", "LOOPGUARD_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return Host(tmp_path, config=STRICT)


def state(host: Host) -> Path:
    return host.folder / ".local/state/loopguard"


def write(host: Host, text: str) -> None:
    (host.folder / "loopguard.toml").write_text(text, encoding="utf-8")


def log(host: Host, session: str = "s1") -> list[Event]:
    store = open_store(str(host.store))
    found = store.read(session)
    store.close()
    return found


def types(host: Host) -> list[str]:
    return [event.type for event in log(host)]


def nothing_is_kept(host: Host) -> None:
    shutil.rmtree(state(host) / "pinned")
    (state(host) / "pinned").write_text("a file where a folder is expected")


def no_state_at_all(host: Host) -> None:
    shutil.rmtree(state(host))
    state(host).write_text("a file where a folder is expected")


def a_function_is_gone(host: Host) -> None:
    """Settings with an own function, whose package was taken away since."""
    (kept,) = (state(host) / "pinned").iterdir()
    pin = json.loads(kept.read_text())
    pin["raw"]["policies"] = {"graded": {"match": {"*": "no_such_package:key"}}}
    kept.write_text(json.dumps(pin))


LOST: list[Callable[[Host], None]] = [nothing_is_kept, no_state_at_all]


@pytest.mark.parametrize("lose", [*LOST, a_function_is_gone])
def test_a_session_ends_whatever_became_of_its_settings(
    host: Host, lose: Callable[[Host], None]
) -> None:
    host.before("ls")
    host.after("ls")
    host.before("sleep 9")
    lose(host)
    write(host, BROKEN)
    host.send("SessionEnd", reason="exit")
    store = open_store(str(host.store))
    known = store.session("s1")
    assert known is not None and known.ended
    assert not store.unended("s1")
    store.close()
    start, *_, call, end = log(host)
    assert [e.data.get("reason") for e in log(host) if e.type == "session_start"] == [None]
    assert start.type == "session_start"
    assert (call.type, call.text("outcome")) == ("call_end", "pending")
    assert (end.type, end.text("reason")) == ("session_end", "exit")


@pytest.mark.parametrize("lose", LOST)
def test_where_the_file_is_wrong_as_well_the_log_says_what_holds(
    host: Host, lose: Callable[[Host], None]
) -> None:
    host.before("ls")
    host.after("ls")
    lose(host)
    write(host, BROKEN)
    tried = []
    for _ in range(3):
        tried.append(bool(host.before("cat nope").denied))
        host.after("cat nope")
    assert tried == [False, False, True]
    assert types(host).count("session_start") == 1


def test_a_session_that_nobody_knows_is_answered_as_its_broken_file_says(host: Host) -> None:
    write(host, 'on_store_failure = "deny"\n' + BROKEN)
    assert host.before("ls").denied
    assert "is not TOML" in host.send("SessionEnd", reason="exit").err
    write(host, BROKEN)
    said = host.before("ls")
    assert not said.denied and "runs unguarded" in said.err


@pytest.mark.parametrize("lose", LOST)
@pytest.mark.parametrize("text", [LOOSE, BROKEN])
def test_a_change_is_told_once_where_nothing_can_be_kept(
    host: Host, lose: Callable[[Host], None], text: str
) -> None:
    host.before("ls")
    host.after("ls")
    lose(host)
    write(host, text)
    said = [host.before(f"ls {n}").err + host.after(f"ls {n}").err for n in range(3)]
    assert "reload s1" in said[0]
    assert said[1:] == ["", ""]
    write(host, f"{LOOSE}wait_seconds = 5\n")
    again = [host.before("ls -l").err, host.after("ls -l").err]
    assert "reload s1" in again[0] and not again[1]
    assert types(host).count("note") == 2
    assert types(host).count("session_start") == 1


def test_a_reload_that_cannot_be_kept_is_none(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.before("ls")
    write(host, LOOSE)
    store = open_store(str(host.store))
    before = store.last("s1")

    def full(path: str, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", path)

    with monkeypatch.context() as broken:
        broken.setattr("loopguard_core.files.replace", full)
        with pytest.raises(DecisionError, match="No space left on device"):
            reloading.reload(store, "s1")
    assert store.last("s1") == before
    pin = pinning.find(("s1",))
    assert pin is not None and pin.config.mode == "enforce"
    assert reloading.reload(store, "s1") == ["s1"]
    store.close()


@pytest.mark.parametrize("lose", LOST)
@pytest.mark.parametrize("text", [LOOSE, BROKEN])
def test_a_subagent_that_begins_then_follows_its_parent_all_the_same(
    host: Host, lose: Callable[[Host], None], text: str
) -> None:
    host.before("ls")
    lose(host)
    write(host, text)
    sub: dict[str, Any] = {"agent_id": "sub", "agent_type": "Explore"}
    tried = []
    for _ in range(3):
        tried.append(bool(host.before("cat nope", **sub).denied))
        host.after("cat nope", **sub)
    assert tried == [False, False, True]
    (start,) = (e for e in log(host, "s1/sub") if e.type == "session_start")
    assert start.text("mode") == "enforce"


def test_a_function_that_is_gone_stops_no_guard_and_is_told_once(host: Host) -> None:
    host.before("ls")
    host.after("ls")
    a_function_is_gone(host)
    tried, said = [], []
    for _ in range(3):
        before = host.before("cat nope")
        tried.append(bool(before.denied))
        said.append(before.err + host.after("cat nope").err)
    assert tried == [False, False, True]
    assert "no_such_package" in said[0] and "without own functions" in said[0]
    assert "no_such_package" not in "".join(said[1:])
    assert types(host).count("session_start") == 1
    (note,) = (event for event in log(host) if event.type == "note")
    assert "no_such_package" in note.text("text")


def test_a_session_that_would_begin_with_such_a_function_is_answered_as_configured(
    host: Host,
) -> None:
    missing = '[policies.graded.match]\n"*" = "no_such_package:key"\n'
    write(host, f'policy = "graded"\n{missing}')
    assert "runs unguarded" in host.before("ls").err
    write(host, f'policy = "graded"\non_store_failure = "deny"\n{missing}')
    assert host.before("ls").denied
