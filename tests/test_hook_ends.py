"""A hook that nobody hears, or that has no home: an answer all the same, and no event lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from held_hooks import ARGV, DENY, GRADED, Agent, ended, heard_whole
from hooks import LAUNCHER
from loopguard_core.agents.claude_code import ADAPTER
from loopguard_core.events import Event
from loopguard_core.hook.input import HookInput
from loopguard_core.hook.process import Hook
from loopguard_core.store.door import open_store
from processes import environment

# -- nobody hears it -----------------------------------------------------------------------------


def unheard(host: Agent, redirection: str, call: str) -> subprocess.CompletedProcess[bytes]:
    shell = " ".join(f'"{word}"' for word in [*ARGV, "--store", str(host.store)])
    return subprocess.run(
        ["sh", "-c", f"exec {shell} {redirection}"],
        input=host.said(call),
        capture_output=True,
        env=environment(HOME=str(host.folder)),
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("redirection", [">&-", ">/dev/full"])
def test_a_refusal_that_cannot_be_written_is_a_denial_by_exit_code(
    tmp_path: Path, redirection: str
) -> None:
    host = Agent(tmp_path, config=GRADED)
    done = unheard(host, redirection, "c1")
    assert (done.returncode, done.stderr) == (0, b""), "there is nothing to say"
    host.loop()
    done = unheard(host, redirection, "c2")
    assert done.returncode == 2
    assert b"This call was not run" in done.stderr and b"cannot be written" in done.stderr
    assert b"Traceback" not in done.stderr


def test_an_agent_that_closed_its_end_of_the_pipe_gets_the_exit_code(tmp_path: Path) -> None:
    host = Agent(tmp_path, config=GRADED)
    host.loop()
    hook = host.start()
    assert hook.stdout is not None
    hook.stdout.close()
    heard_whole(hook, host.said("c9"))
    assert hook.wait(timeout=60) == 2
    assert hook.stderr is not None
    with hook.stderr as err:
        assert b"Traceback" not in err.read()
    assert host.kinds()[-1] == "call_end"


def test_advice_that_cannot_be_written_is_no_denial(tmp_path: Path) -> None:
    host = Agent(tmp_path, config=GRADED)
    host.before()
    host.after()
    host.before()
    hook = host.start()
    assert hook.stdout is not None
    hook.stdout.close()
    failed = {"hook_event_name": "PostToolUseFailure", "error": "Exit code 1\nno such file"}
    heard_whole(hook, host.said("toolu_2", **failed))
    assert hook.wait(timeout=60) == 0
    assert hook.stderr is not None
    with hook.stderr as err:
        assert b"cannot be written" in err.read()


@pytest.mark.parametrize("unheard", [0, 2])
def test_an_answer_that_nobody_reads_keeps_no_hook_beyond_its_time(unheard: int) -> None:
    code = (
        "import os, sys; sys.path.append(sys.argv[1])\n"
        "from loopguard_core.hook import signals\n"
        "signals.watch(0.3); signals.answered(int(sys.argv[2])); os.write(1, b'x' * 1_000_000)"
    )
    argv = [sys.executable, "-I", "-S", "-c", code, str(LAUNCHER.parents[1]), str(unheard)]
    hook = subprocess.Popen(argv, stdout=subprocess.PIPE)
    assert hook.stdout is not None
    with hook.stdout:
        assert hook.wait(timeout=30) == unheard


def test_a_long_answer_gets_through_a_pipe_that_does_not_block() -> None:
    code = (
        "import os, sys; sys.path.append(sys.argv[1]); os.set_blocking(1, False)\n"
        "from loopguard_core.hook.process import _told; print(_told({'a': 'x' * 300_000}), file=sys.stderr)"
    )
    argv = [sys.executable, "-I", "-S", "-c", code, str(LAUNCHER.parents[1])]
    hook = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert hook.stdout and hook.stderr
    time.sleep(0.3)  # it has begun to write
    with hook.stdout, hook.stderr:
        assert json.loads(hook.stdout.read()) == {"a": "x" * 300_000}
        assert hook.stderr.read() == b"True\n"
    assert hook.wait(timeout=30) == 0


# -- where it runs -------------------------------------------------------------------------------


def test_who_has_no_home_is_told_and_nothing_is_made_in_the_project(tmp_path: Path) -> None:
    code = (
        "import os, sys; sys.path.append(sys.argv[1]); os.path.expanduser = lambda path: path\n"
        "from loopguard_core.hook.process import main; main(sys.argv[2:])"
    )
    environ = {k: v for k, v in environment().items() if k not in ("HOME", "XDG_STATE_HOME")}
    host = Agent(tmp_path, config=DENY)
    argv = [sys.executable, "-I", "-S", "-c", code, str(LAUNCHER.parents[1])]

    def hook(*options: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*argv, "--agent", "claude-code", *options],
            input=host.said(),
            capture_output=True,
            env=environ,
            cwd=tmp_path,
            timeout=60,
            check=True,
        )

    nowhere = hook()
    assert b'"deny"' in nowhere.stdout and nowhere.stderr.count(b"\n") == 1
    assert b"no home directory; set HOME, or name the store" in nowhere.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["loopguard.toml"]
    named = hook("--store", str(host.store))
    assert (named.stdout, named.stderr) == (b"", b"")
    assert host.kinds() == ["session_start", "call_start"]
    made = {path.name for path in tmp_path.iterdir()}
    assert made <= {
        "loopguard.toml",
        "machine.key",
        *(f"store.db{end}" for end in ("", "-wal", "-shm")),
    }


@pytest.mark.skipif(sys.platform == "darwin", reason="its file system takes no such name")
@pytest.mark.parametrize("wrong", [False, True])
def test_a_folder_whose_name_is_no_utf_8_is_a_project_like_any(tmp_path: Path, wrong: bool) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/p\xff"))
    folder.mkdir()
    host = Agent(folder, config=DENY + GRADED + ("mode = [" if wrong else ""))
    hook = host.start()
    said = host.said(cwd=os.fsencode(folder).decode("utf-8", "replace"))
    heard_whole(hook, said)
    code, out, err = ended(hook)
    assert code == 0 and ('"deny"' in out) is wrong and ("is not TOML" in err) is wrong
    if not wrong:
        assert host.kinds() == ["session_start", "call_start"]


def test_what_goes_wrong_with_the_settings_is_answered_as_their_file_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Agent(tmp_path, config=DENY)
    reading, writing = os.pipe()
    os.write(writing, host.said())
    os.close(writing)

    def broken(*_: Any) -> None:
        raise KeyError("a fault of our own")

    monkeypatch.setattr("loopguard_core.session.pinning.new", broken)
    answer = Hook(ADAPTER, {}, {"XDG_STATE_HOME": str(tmp_path)}, HookInput(reading)).run()
    os.close(reading)
    assert answer is not None
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_where_no_state_can_be_kept_every_call_is_judged(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where a folder is expected")
    host = Agent(tmp_path, config=GRADED)
    denied = []
    for number in range(3):
        hook = host.start(XDG_STATE_HOME=str(tmp_path / "taken"))
        heard_whole(hook, host.said(f"c{number}"))
        code, out, _ = ended(hook)
        denied.append('"permissionDecision":"deny"' in out)
        assert code == 0
    assert denied == [False, False, True]


def test_a_clock_that_was_set_back_changes_no_count(tmp_path: Path) -> None:
    host = Agent(tmp_path, config=GRADED)
    store = open_store(str(host.store))
    tomorrow = time.time() + 86_400
    start = {"agent": "claude-code", "served": "hooks", "mode": "ask", "policy": "graded"}
    store.append(Event("session_start", "s1", ts=tomorrow, data=start))
    store.append(Event("user_message", "s1", ts=tomorrow, data={"text": "go"}))
    store.close()
    host.loop()
    assert host.before().denied
    stamps = [event.ts or 0 for event in host.events()]
    assert stamps[0] > stamps[-1], "it was set back"


def test_fifty_hooks_at_once_lose_nothing(tmp_path: Path) -> None:
    host = Agent(tmp_path, config=DENY + 'policy = "graded"\nmode = "observe"\n')
    hooks = [host.start() for _ in range(50)]
    for number, hook in enumerate(hooks):
        assert hook.stdin is not None
        hook.stdin.write(host.said(f"c{number}", "ls")[:-1])
        hook.stdin.flush()
    for hook in hooks:
        assert hook.stdin is not None
        hook.stdin.write(b"}")
        hook.stdin.flush()
    answers = [ended(hook) for hook in hooks]
    for hook in hooks:
        assert hook.stdin is not None
        hook.stdin.close()
    refused = sum('"deny"' in out for _, out, _ in answers)  # on a machine with far too much to do
    assert {code for code, *_ in answers} == {0}
    events = host.events()
    starts = [event for event in events if event.type == "call_start"]
    assert len(starts) + refused == 50
    assert [event.type for event in events if event.type != "call_start"] == ["session_start"]
    assert [event.data["verdict"]["count"] for event in starts] == [*range(1, len(starts) + 1)]
    assert [event.seq for event in events] == [*range(1, len(events) + 1)]
