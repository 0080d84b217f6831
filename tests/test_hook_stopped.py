"""A hook that is stopped before its answer: an answer all the same, and no call left open."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from held_hooks import ARGV, DENY, GRADED, Agent, ended, heard_whole, until
from hooks import LAUNCHER
from loopguard_core.agents.claude_code import ADAPTER
from loopguard_core.guard import Guard
from loopguard_core.hook import signals
from loopguard_core.hook.input import HookInput
from loopguard_core.hook.process import Hook
from loopguard_core.hook.signals import CutShort
from loopguard_core.session.journal import Journal
from loopguard_core.session.stopping import Stops
from loopguard_core.store.contract import StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.sqlite import SqliteStore
from processes import environment

STOPS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
SIGNALS = Path("/proc/self/status")


@pytest.fixture
def heard() -> Iterator[None]:
    """Where these tests run under ``nohup``, what they start would ignore a hangup, too."""
    ignored = [number for number in STOPS if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


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
@pytest.mark.usefixtures("heard")
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


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no signal can be held back")
def test_a_hook_answers_in_time_also_where_its_host_holds_the_timer_back(tmp_path: Path) -> None:
    held = "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]); os.execv(sys.argv[1], sys.argv[1:])"
    host = Agent(tmp_path, config=DENY)
    hook = subprocess.Popen(
        [sys.executable, "-c", held, *ARGV, "--store", str(host.store), "--limit", "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(HOME=str(tmp_path)),
    )
    assert hook.stdin is not None
    with hook.stdin as stdin:
        stdin.write(host.said()[:-1])
        stdin.flush()
        hook.wait(timeout=30)
        code, out, _ = ended(hook)
    assert code == 0 and '"permissionDecision":"deny"' in out


@pytest.mark.parametrize("limit", [600, 60, 30, 5, 1])
def test_there_is_time_left_to_answer_whatever_the_hosts_limit_is(limit: float) -> None:
    hook = Hook(ADAPTER, {"--limit": str(limit)}, {}, HookInput(-1))
    assert hook.limit == limit
    assert min(0.3, limit / 2) < hook.margin < limit / 2


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
from loopguard_core.hook import process as hook
from loopguard_core.session import live
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


@pytest.mark.parametrize("step", ["rule", "apply", "write", "add"])
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
    assert (end.type, end.data["call"], end.data["outcome"]) == ("call_end", "c9", "blocked")


def test_a_store_that_keeps_a_stopped_hook_keeps_it_for_a_moment_only() -> None:
    code = (
        "import sys, time; sys.path.append(sys.argv[1])\n"
        "from loopguard_core.hook import signals\n"
        "signals.leave_within(0.1, 2); time.sleep(60)"
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
        signals.watch(60)
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
