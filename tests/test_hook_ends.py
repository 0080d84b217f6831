"""A hook that nobody hears, that is stopped, that has no home: an answer all the same, and no event lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hooks import LAUNCHER, Host
from loopguard_core import hook_signals
from loopguard_core.agents.claude_code import ADAPTER
from loopguard_core.events import Event
from loopguard_core.guard import Guard
from loopguard_core.hook import Hook
from loopguard_core.hook_input import HookInput
from loopguard_core.hook_signals import CutShort
from loopguard_core.journal import Journal
from loopguard_core.stopping import Stops
from loopguard_core.store.contract import StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.sqlite import SqliteStore
from processes import environment

ARGV = [sys.executable, "-I", "-S", str(LAUNCHER), "--agent", "claude-code"]
DENY = 'on_store_failure = "deny"\n'
GRADED = 'policy = "graded"\n'


class Agent(Host):
    """An agent whose hooks are held on to while they run."""

    @property
    def options(self) -> list[str]:
        return ["--agent", "claude-code", "--store", str(self.store), "--limit", "60"]

    def start(self, **environ: str) -> subprocess.Popen[bytes]:
        """A hook that has not heard anything yet."""
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(LAUNCHER), *self.options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=environment(**{"HOME": str(self.folder), **environ}),
        )

    def said(self, call: str = "c1", command: str = "cat nope", **fields: Any) -> bytes:
        """What the agent says of a call that is about to run."""
        tool = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": call}
        data = {"session_id": "s1", "cwd": str(self.folder), "hook_event_name": "PreToolUse"}
        return json.dumps({**data, **tool, **fields}).encode()

    def events(self) -> list[Event]:
        store = open_store(str(self.store))
        try:
            return store.read("s1")
        finally:
            store.close()

    def kinds(self) -> list[str]:
        return [event.type for event in self.events()]

    def loop(self) -> None:
        """So often that the next one is blocked."""
        for _ in range(2):
            self.before()
            self.after()


def heard_whole(hook: subprocess.Popen[bytes], data: bytes) -> None:
    assert hook.stdin is not None
    hook.stdin.write(data)
    hook.stdin.close()


def ended(hook: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """How it ended, what it answered and what it said to the person."""
    assert hook.stdout and hook.stderr
    with hook.stdout as out, hook.stderr as err:
        said = out.read().decode() if not out.closed else "", err.read().decode()
    assert "Traceback" not in said[1]
    return hook.wait(timeout=60), *said


def until(condition: Callable[[], bool]) -> None:
    for _ in range(1500):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it never came")


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


def test_an_answer_that_nobody_reads_keeps_no_hook_beyond_its_time() -> None:
    code = (
        "import os, sys; sys.path.append(sys.argv[1])\n"
        "from loopguard_core import hook_signals\n"
        "hook_signals.watch(0.3); hook_signals.answered(); os.write(1, b'x' * 1_000_000)"
    )
    hook = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code, str(LAUNCHER.parents[1])], stdout=subprocess.PIPE
    )
    assert hook.stdout is not None
    with hook.stdout:
        assert hook.wait(timeout=30) == -signal.SIGALRM


def test_a_long_answer_gets_through_a_pipe_that_does_not_block() -> None:
    code = (
        "import os, sys; sys.path.append(sys.argv[1]); os.set_blocking(1, False)\n"
        "from loopguard_core.hook import _told; print(_told({'a': 'x' * 300_000}), file=sys.stderr)"
    )
    argv = [sys.executable, "-I", "-S", "-c", code, str(LAUNCHER.parents[1])]
    hook = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert hook.stdout and hook.stderr
    time.sleep(0.3)  # it has begun to write
    with hook.stdout, hook.stderr:
        assert json.loads(hook.stdout.read()) == {"a": "x" * 300_000}
        assert hook.stderr.read() == b"True\n"
    assert hook.wait(timeout=30) == 0


# -- it is stopped -------------------------------------------------------------------------------

STOPS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
SIGNALS = Path("/proc/self/status")


def catches(pid: int, number: int) -> bool:
    """Whether process *pid* has a handler for a signal."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (mask,) = (line.split()[1] for line in lines if line.startswith("SigCgt:"))
    return bool(int(mask, 16) >> number - 1 & 1)


def stopped_while_it_listens(host: Agent, number: int, data: bytes) -> tuple[int, str, str]:
    hook = host.start()
    assert hook.stdin is not None
    hook.stdin.write(data)
    hook.stdin.flush()
    until(lambda: catches(hook.pid, signal.SIGALRM))  # it sets its clock last
    hook.send_signal(number)
    try:
        return ended(hook)
    finally:
        hook.stdin.close()


@pytest.mark.skipif(not SIGNALS.exists(), reason="it cannot be seen when the hook listens")
@pytest.mark.parametrize("number", STOPS)
@pytest.mark.parametrize(("config", "refused"), [(DENY, True), ("", False)])
def test_a_hook_that_is_stopped_answers_as_configured(
    tmp_path: Path, number: int, config: str, refused: bool
) -> None:
    host = Agent(tmp_path, config=config)
    code, out, err = stopped_while_it_listens(host, number, host.said()[:-1])
    assert code == 0
    assert ('"permissionDecision":"deny"' in out) is refused and bool(out) is refused
    assert f"stopped by signal {int(number)}" in err and err.count("\n") == 1


def test_a_call_that_waits_for_a_human_stays_stopped(tmp_path: Path) -> None:
    host = Agent(tmp_path, config=GRADED + "unattended_wait_seconds = 50\n")
    host.loop()
    hook = host.start()
    heard_whole(hook, host.said("c9"))
    until(lambda: "request_opened" in host.kinds())
    time.sleep(0.1)
    hook.terminate()
    code, out, _ = ended(hook)
    assert code == 0 and '"permissionDecision":"deny"' in out
    resolved, end = host.events()[-2:]
    assert (resolved.data["resolution"], end.data["outcome"]) == ("cancelled", "cancelled")


#: A hook that comes no further, once it has recorded its call.
SLOW = """
import sys, time; sys.path.append(sys.argv[1])
from loopguard_core import hook, live
def before(self, *args, _before=live.LiveSession.before, **options):
    _before(self, *args, **options)
    time.sleep(60)
live.LiveSession.before = before
hook.main(sys.argv[2:])
"""


@pytest.mark.parametrize(("config", "refused"), [(DENY, True), ("", False)])
def test_a_call_that_was_recorded_ends_where_a_stopped_hook_refuses_it(
    tmp_path: Path, config: str, refused: bool
) -> None:
    host = Agent(tmp_path, config=config)
    hook = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", SLOW, str(LAUNCHER.parents[1]), *host.options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(HOME=str(tmp_path)),
    )
    heard_whole(hook, host.said("c1"))
    until(lambda: host.kinds()[-1:] == ["call_start"])
    hook.terminate()
    code, out, err = ended(hook)
    assert code == 0 and err.count("\n") == 1
    assert ('"permissionDecision":"deny"' in out) is refused
    ends = [e.data["outcome"] for e in host.events() if e.type == "call_end"]
    assert ends == (["cancelled"] if refused else [])


@pytest.fixture
def looping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], tuple[Agent, Hook]]]:
    """Makes an agent with the given configuration and, in this process, the hook of a call that its guard stops."""
    reading, writing = os.pipe()

    def made(config: str) -> tuple[Agent, Hook]:
        host = Agent(tmp_path, config=config)
        host.loop()
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / ".local" / "state"))
        os.write(writing, host.said("c9"))
        os.close(writing)
        return host, Hook(ADAPTER, {"--store": str(host.store)}, os.environ, HookInput(reading))

    yield made
    os.close(reading)


@pytest.mark.parametrize("step", ["rule", "apply", "_write", "add"])
def test_a_hook_cut_short_anywhere_leaves_no_call_open_that_it_refuses(
    looping: Callable[[str], tuple[Agent, Hook]], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """``add`` is where the request of a call that is stopped begins."""
    host, hook = looping(DENY + GRADED)
    where: Any = Guard if step in ("rule", "apply") else Journal
    real = getattr(where, step)

    def cut(*args: Any) -> Any:
        done = real(*args)
        if hook.live is not None:
            monkeypatch.setattr(where, step, real)
            raise CutShort(0)
        return done

    monkeypatch.setattr(where, step, cut)
    kept = signal.getsignal(signal.SIGALRM)
    try:
        answer = hook.run()
        hook.settle(0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, kept)
    assert answer is not None
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    store = open_store(str(host.store))
    try:
        assert not store.unended("s1") and not store.requests(pending=True)
    finally:
        store.close()


def test_a_call_that_an_error_of_our_own_refuses_is_not_left_open(
    looping: Callable[[str], tuple[Agent, Hook]], monkeypatch: pytest.MonkeyPatch
) -> None:
    host, hook = looping(DENY + GRADED)

    def broken(*_: Any) -> None:
        raise KeyError("a fault of our own")

    monkeypatch.setattr(Stops, "stop", broken)
    answer = hook.run()
    assert answer is not None
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    end = host.events()[-1]
    assert (end.type, end.data["call"], end.data["outcome"]) == ("call_end", "c9", "cancelled")


def test_a_store_that_keeps_a_stopped_hook_keeps_it_for_a_moment_only() -> None:
    code = (
        "import sys, time; sys.path.append(sys.argv[1])\n"
        "from loopguard_core import hook_signals\n"
        "hook_signals.leave_within(0.1, 2); time.sleep(60)"
    )
    argv = [sys.executable, "-I", "-S", "-c", code, str(LAUNCHER.parents[1])]
    assert subprocess.run(argv, timeout=30, check=False).returncode == 2


def test_what_is_only_recorded_is_recorded_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person's Ctrl-C reaches the hooks of their agent as well."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    host = Agent(tmp_path)
    before = {n: signal.getsignal(n) for n in (*STOPS, signal.SIGALRM)}
    try:
        hook_signals.watch(60)
        reading, writing = os.pipe()
        os.write(writing, host.said(hook_event_name="UserPromptSubmit", prompt="go"))
        os.close(writing)
        hook = Hook(ADAPTER, {"--store": str(host.store)}, os.environ, HookInput(reading))
        real = hook._settings

        def interrupted(*args: Any) -> Any:
            for number in STOPS:
                signal.raise_signal(number)
            return real(*args)

        monkeypatch.setattr(hook, "_settings", interrupted)
        assert hook.run() is None
        os.close(reading)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
    assert host.kinds() == ["session_start", "user_message"]


@pytest.mark.parametrize("number", [0, signal.SIGTERM])
def test_an_answer_that_there_is_holds_whatever_comes_after_it(tmp_path: Path, number: int) -> None:
    hook = Hook(ADAPTER, {}, {"HOME": str(tmp_path)}, HookInput(0))
    hook.answer = (None,)
    assert hook.cut(CutShort(number)) is None
    hook.answer = ({"an": "answer"},)
    assert hook.cut(CutShort(number)) == {"an": "answer"}


def test_a_store_that_fails_when_it_is_left_changes_no_answer(
    looping: Callable[[str], tuple[Agent, Hook]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, hook = looping(GRADED)

    def broken(store: SqliteStore) -> None:
        raise StoreError("it is full")

    monkeypatch.setattr(SqliteStore, "leave", broken)
    answer = hook.run()
    assert answer is not None
    assert "times in a row" in answer["hookSpecificOutput"]["permissionDecisionReason"]


def test_time_that_is_over_before_the_settings_are_known_is_answered_as_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = Agent(tmp_path, config=DENY)
    reading, writing = os.pipe()
    os.write(writing, host.said())
    os.close(writing)
    hook = Hook(ADAPTER, {}, {"XDG_STATE_HOME": str(tmp_path)}, HookInput(reading))
    real, calls = hook._settings, []

    def late(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 1:
            raise CutShort(0)
        return real(*args)

    monkeypatch.setattr(hook, "_settings", late)
    answer = hook.run()
    os.close(reading)
    assert answer is not None
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert capsys.readouterr().err.startswith("loopguard: no answer within 600 seconds")


@pytest.mark.skipif(not SIGNALS.exists(), reason="it cannot be seen when the hook listens")
def test_a_signal_that_is_to_be_ignored_stays_ignored(tmp_path: Path) -> None:
    """As for an agent that ``nohup`` started."""
    host = Agent(tmp_path, config=DENY)
    shell = " ".join(f'"{word}"' for word in [*ARGV, "--store", str(host.store)])
    hook = subprocess.Popen(
        ["sh", "-c", f"trap '' HUP INT; exec {shell}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(HOME=str(tmp_path)),
    )
    until(lambda: catches(hook.pid, signal.SIGALRM))
    hook.send_signal(signal.SIGHUP)
    hook.send_signal(signal.SIGINT)
    heard_whole(hook, host.said())
    assert ended(hook) == (0, "", "")
    assert host.kinds() == ["session_start", "call_start"]


# -- where it runs -------------------------------------------------------------------------------


def test_who_has_no_home_is_told_and_nothing_is_made_in_the_project(tmp_path: Path) -> None:
    code = (
        "import os, sys; sys.path.append(sys.argv[1]); os.path.expanduser = lambda path: path\n"
        "from loopguard_core.hook import main; main(sys.argv[2:])"
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

    monkeypatch.setattr("loopguard_core.pinning.new", broken)
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
