"""What the hook hears of its agent: a whole object, bit by bit, half of one, nothing, from a pipe that stays open."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hooks import LAUNCHER, Said
from loopguard_core.agents.host import AFTER, BEFORE, Adapter, Answer, Heard
from loopguard_core.hook.input import HookInput
from loopguard_core.hook.process import Hook
from loopguard_core.store.door import open_store
from processes import environment

DENY = 'on_store_failure = "deny"\n'


class OpenPipe:
    """An agent that never closes the pipe to its hook."""

    def __init__(self, folder: Path, config: str = "", agent: str = "claude-code") -> None:
        self.folder = folder
        self.store = folder / "store.db"
        self.agent = agent
        (folder / "loopguard.toml").write_text(config, encoding="utf-8")

    def call(self, command: str = "ls", session: str = "s1") -> bytes:
        """What it says of a call that is about to run."""
        data = {
            "session_id": session,
            "cwd": str(self.folder),
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": command},
            "tool_use_id": "toolu_1",
        }
        return json.dumps(data).encode()

    def say(self, *pieces: bytes, limit: float = 600, event: str = "") -> Said:
        """Write *pieces* one after the other; the hook's answer, which comes while the pipe is still open."""
        argv = [sys.executable, "-I", "-S", str(LAUNCHER), "--agent", self.agent]
        argv += ["--store", str(self.store), "--limit", f"{limit:g}"]
        hook = subprocess.Popen(
            [*argv, *(["--event", event] if event else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=environment(HOME=str(self.folder)),
        )
        assert hook.stdin and hook.stdout and hook.stderr
        try:
            for piece in pieces:
                hook.stdin.write(piece)
                hook.stdin.flush()
            code = hook.wait(timeout=60)
            out, err = hook.stdout.read(), hook.stderr.read()
        finally:
            hook.kill()
            for pipe in (hook.stdin, hook.stdout, hook.stderr):
                pipe.close()
        return Said(subprocess.CompletedProcess(hook.args, code, out, err))

    def calls(self) -> list[Any]:
        """The arguments of the calls in the log."""
        store = open_store(str(self.store))
        try:
            return [e.data["args"] for e in store.read("s1") if e.type == "call_start"]
        finally:
            store.close()


@pytest.mark.parametrize("behind", [b"", b"\n", b"\r\n  ", b"\n{}\n", b" and more {"])
def test_an_object_is_answered_while_the_pipe_stays_open(tmp_path: Path, behind: bytes) -> None:
    host = OpenPipe(tmp_path)
    said = host.say(host.call() + behind)
    assert (said.code, said.out, said.err) == (0, "", "")
    assert host.calls() == [{"command": "ls"}]


def test_an_object_in_many_small_pieces_is_answered(tmp_path: Path) -> None:
    host = OpenPipe(tmp_path)
    whole = host.call('echo "{}\\" [é]')
    said = host.say(*(bytes([byte]) for byte in whole))
    assert (said.code, said.out, said.err) == (0, "", "")
    assert host.calls() == [{"command": 'echo "{}\\" [é]'}]


def test_an_object_of_two_megabytes_is_answered(tmp_path: Path) -> None:
    host = OpenPipe(tmp_path, config="payload_limit = 4000000\n")
    command = 'say "}" \\ {' * 180_000
    said = host.say(host.call(command), b"\n")
    assert (said.code, said.out, said.err) == (0, "", "")
    assert host.calls() == [{"command": command}]


@pytest.mark.parametrize(
    ("agent", "refusal"),
    [
        ("claude-code", '"permissionDecision":"deny"'),
        ("codex", '"permissionDecision":"deny"'),
        ("gemini", '"decision":"deny"'),
        ("copilot", '"permissionDecision":"deny"'),
        ("opencode", '"deny":'),
    ],
)
@pytest.mark.parametrize("said_before", [b"", b"\n"])
def test_an_agent_that_says_nothing_is_refused_in_time(
    tmp_path: Path, agent: str, refusal: str, said_before: bytes
) -> None:
    said = OpenPipe(tmp_path, DENY, agent).say(said_before, limit=0.5)
    assert said.code == 0 and refusal in said.out
    assert said.err == (
        "loopguard: the hook's input did not come within 0.5 seconds; the call is refused\n"
    )


def test_an_agent_that_says_nothing_runs_unguarded_where_so_configured(tmp_path: Path) -> None:
    said = OpenPipe(tmp_path).say(limit=0.5)
    assert (said.code, said.out) == (0, "")
    assert said.err == (
        "loopguard: the hook's input did not come within 0.5 seconds; the call runs unguarded\n"
    )


@pytest.mark.parametrize(("config", "runs"), [("", True), (DENY, False)])
@pytest.mark.parametrize("length", [1, 40, -30, -1])
def test_half_an_object_is_answered_in_time_as_configured(
    tmp_path: Path, config: str, runs: bool, length: int
) -> None:
    host = OpenPipe(tmp_path, config)
    said = host.say(host.call()[:length], limit=0.5)
    assert said.code == 0 and said.err.count("\n") == 1
    assert (said.out == "") is runs and bool(said.denied) is not runs
    assert not host.store.exists()


def test_half_an_object_of_a_session_is_answered_as_that_session_began(tmp_path: Path) -> None:
    host = OpenPipe(tmp_path, DENY)
    assert host.say(host.call()).out == ""
    (tmp_path / "loopguard.toml").write_text("")
    half = host.call()[:-30]
    assert b"session_id" in half and b"tool_use_id" not in half
    assert host.say(half, limit=0.5).denied


def test_half_of_another_event_is_no_call(tmp_path: Path) -> None:
    host = OpenPipe(tmp_path, DENY)
    half = b'{"session_id": "s1", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_re'
    said = host.say(half, limit=0.5)
    assert (said.code, said.out) == (0, "") and "did not come" in said.err
    assert OpenPipe(tmp_path, DENY, "copilot").say(limit=0.5, event="postToolUse").out == ""


@pytest.mark.parametrize("raw", [b"hello", b"[1, 2", b" 12", b"}", b'{"a": }', b"{'a': 1}"])
def test_what_can_be_no_object_is_not_waited_for(tmp_path: Path, raw: bytes) -> None:
    said = OpenPipe(tmp_path, DENY).say(raw)
    assert said.code == 0 and said.denied
    assert "not a JSON object" in said.err and said.err.count("\n") == 1


def test_an_input_that_ends_early_is_refused_where_so_configured(tmp_path: Path) -> None:
    host = OpenPipe(tmp_path, DENY)
    argv = [sys.executable, "-I", "-S", str(LAUNCHER), "--agent", "claude-code"]
    for raw in (b"", host.call()[:60], b'{"hook_event_name": "PreToolUse"}'):
        done = subprocess.run(
            [*argv, "--store", str(host.store)],
            input=raw,
            capture_output=True,
            cwd=tmp_path,
            env=environment(HOME=str(tmp_path)),
            check=True,
            timeout=60,
        )
        assert Said(done).denied


def test_an_input_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "loopguard.toml").write_text(DENY)
    argv = [sys.executable, "-I", "-S", str(LAUNCHER), "--agent", "claude-code"]
    unreadable = os.open(tmp_path / "loopguard.toml", os.O_WRONLY)
    environ = environment(HOME=str(tmp_path))
    options: dict[str, Any] = {"cwd": tmp_path, "env": environ, "check": True, "timeout": 60}
    done = subprocess.run(argv, stdin=unreadable, capture_output=True, **options)
    os.close(unreadable)
    said = Said(done)
    assert said.denied
    assert said.err == (
        "loopguard: the hook's input cannot be read: Bad file descriptor; the call is refused\n"
    )


def heard(pieces: list[bytes], *, end: bool) -> Any:
    """What is heard of *pieces* in a pipe; where *end*, it is closed behind them."""
    reading, writing = os.pipe()

    def write() -> None:
        for piece in pieces:
            os.write(writing, piece)
        if end:
            os.close(writing)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        return HookInput(reading).read()
    finally:
        writer.join()
        os.close(reading)
        if not end:
            os.close(writing)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='ab"\\{}[]:, é\n', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(alphabet='a"\\{}', max_size=3), VALUES, max_size=4),
    st.sampled_from([b"", b"\n", b" x", b"{}"]),
    st.lists(st.integers(1, 200), max_size=6, unique=True),
    st.booleans(),
    st.sampled_from([b"", b"\xef\xbb\xbf", b" \n"]),
)
def test_any_object_is_heard_however_it_is_cut(
    value: dict[str, Any], behind: bytes, cuts: list[int], readable: bool, before: bytes
) -> None:
    whole = before + json.dumps(value, ensure_ascii=not readable).encode() + behind
    ends = [0, *(cut for cut in sorted(cuts) if len(before) < cut < len(whole)), len(whole)]
    pieces = [whole[a:b] for a, b in pairwise(ends)]
    assert heard(pieces, end=False) == value


@given(st.dictionaries(st.text(max_size=3), VALUES, min_size=1, max_size=4), st.data())
def test_of_half_an_object_the_whole_members_are_known(
    value: dict[str, Any], data: st.DataObject
) -> None:
    whole = json.dumps(value).encode()
    half = whole[: data.draw(st.integers(1, len(whole) - 1))]
    reading, writing = os.pipe()
    os.write(writing, half)
    os.close(writing)
    source = HookInput(reading)
    with pytest.raises(ValueError, match="ended before"):
        source.read()
    os.close(reading)
    members = [*value.items()]
    came = [
        n
        for n in range(1, len(members))
        if half.startswith(json.dumps(dict(members[:n])).encode()[:-1] + b",")
    ]
    assert [*source.members().items()] == members[: max(came, default=0)]


@pytest.mark.parametrize(
    ("config", "refused"),
    [
        ('on_store_failure = "deny"\nmode = "asks"\n', True),
        ("'on_store_failure'\t=\t'deny' # always\r\nmode = \n", True),
        ('on_store_failure = "deny\n', True),
        ('[policies\non_store_failure="deny"\n# \udcff', True),
        ('on_store_failure = "allow" # not "deny"\nmode = "asks"\n', False),
        ('# on_store_failure = "deny"\nmode = "asks"\n', False),
        ('mode = "deny"\n', False),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_wrong_file_that_says_so_refuses_what_cannot_be_judged(
    tmp_path: Path, config: str, refused: bool, encoding: str
) -> None:
    host = OpenPipe(tmp_path)
    other = "surrogateescape" if encoding.startswith("utf-8") else "replace"
    (tmp_path / "loopguard.toml").write_bytes(config.encode(encoding, other))
    said = host.say(host.call())
    assert said.code == 0 and "loopguard.toml" in said.err and said.err.count("\n") == 1
    assert ('"permissionDecision":"deny"' in said.out) is refused
    assert ("refused" if refused else "unguarded") in said.err


LONG = 100_000


@pytest.mark.parametrize(("opening", "inmost", "closing"), [("[", "", "]"), ('{"a":', "1", "}")])
def test_a_call_that_is_nested_too_deeply_to_be_parsed_is_judged_by_its_text(
    tmp_path: Path, opening: str, inmost: str, closing: str
) -> None:
    deep = opening * LONG + inmost + closing * LONG
    host = OpenPipe(tmp_path, DENY + f"payload_limit = {10 * LONG}\n")
    whole = host.call().decode().replace('"ls"', deep)
    said = host.say(whole.encode())
    assert (said.code, said.out, said.err) == (0, "", "")
    assert host.calls() == [f'{{"command": {deep}}}']


@given(st.dictionaries(st.text(alphabet='a"\\{}:,é', max_size=3), VALUES, max_size=4), st.data())
@settings(max_examples=30)
def test_only_what_is_nested_too_deeply_stays_text(
    value: dict[str, Any], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from([*value, "more"]))
    deep = "[" * LONG + ' "]}" ' + "]" * LONG
    marked = {**value, name: "HERE"}
    whole = json.dumps(marked, ensure_ascii=False).replace('"HERE"', f" {deep} ")
    assert heard([whole.encode()], end=False) == {**marked, name: deep}


@pytest.mark.parametrize("split", [False, True])
def test_bytes_that_are_no_utf_8_hide_no_call(tmp_path: Path, split: bool) -> None:
    host = OpenPipe(tmp_path, DENY)
    whole = host.call().replace(b"ls", b"l\xff\xc3s")
    said = host.say(*([whole[:60], whole[60:]] if split else [whole]))
    assert (said.code, said.out, said.err) == (0, "", "")
    (args,) = host.calls()
    assert set(args) == {"command"} and args["command"][0::3] == "ls"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_another_encoding_is_said(tmp_path: Path, encoding: str) -> None:
    host = OpenPipe(tmp_path, DENY)
    said = host.say(host.call().decode().encode(encoding))
    assert said.code == 0 and said.denied
    assert said.err == (
        "loopguard: the hook's input is not a JSON object: it is not in UTF-8; the call is refused\n"
    )


def test_no_name_of_the_agents_reaches_the_terminal_as_it_is(tmp_path: Path) -> None:
    host = OpenPipe(tmp_path)
    odd = "s\x1b[31m\n\u202e\x07"
    host.say(host.call(session=odd))
    (tmp_path / "loopguard.toml").write_text('policy = "graded"\n')
    said = host.say(host.call(session=odd))
    assert said.err.endswith("reload s\\x1b[31m\\n\\u202e\\x07\n") and said.err.count("\n") == 1


@pytest.mark.parametrize("cut", [1, 2, 3, 4])
def test_a_byte_order_mark_may_come_in_pieces(cut: int) -> None:
    whole = b'\xef\xbb\xbf \n{"a": 1}'
    assert heard([whole[:cut], whole[cut:]], end=False) == {"a": 1}


def test_a_call_that_is_too_large_is_answered_and_counted_as_missing(tmp_path: Path) -> None:
    host = OpenPipe(tmp_path, DENY)
    whole = host.call().replace(b'"ls"', b'"' + b"x" * 70_000_000 + b'"')
    host.say(host.call())
    argv = [sys.executable, "-I", "-S", str(LAUNCHER), "--agent", "claude-code"]
    done = subprocess.run(
        [*argv, "--store", str(host.store)],
        input=whole,
        capture_output=True,
        env=environment(HOME=str(tmp_path)),
        check=True,
        timeout=60,
    )
    assert Said(done).denied and b"more than 64,000,000 bytes" in done.stderr
    store = open_store(str(host.store))
    gap = store.read("s1")[-1]
    store.close()
    assert (gap.type, gap.data["count"]) == ("gap", 1)
    assert "more than 64,000,000 bytes" in gap.text("reason")


def test_a_pipe_that_does_not_block_is_waited_for(tmp_path: Path) -> None:
    whole = OpenPipe(tmp_path).call()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    later = threading.Timer(0.05, os.write, (writing, whole[20:]))
    os.write(writing, whole[:20])
    later.start()
    try:
        assert HookInput(reading).read() == json.loads(whole)
    finally:
        later.join()
        os.close(reading)
        os.close(writing)


def test_nothing_is_raised_where_nobody_listens(tmp_path: Path) -> None:
    shell = f'exec "{sys.executable}" -I -S "{LAUNCHER}" --agent claude-code <&- >&-'
    done = subprocess.run(
        ["sh", "-c", shell],
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(HOME=str(tmp_path)),
        timeout=60,
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr and done.stderr.count(b"\n") == 1


class Broken(Adapter):
    """An adapter with a fault of its own."""

    name = "broken"
    kinds: Mapping[str, str] = {"PreToolUse": BEFORE, "PostToolUse": AFTER}

    def hear(self, data: Mapping[str, Any], event: str) -> Heard:
        raise KeyError("a fault")

    def before(self, heard: Heard, answer: Answer) -> dict[str, Any] | None:
        return None if answer.run else {"refused": heard.event}


@pytest.mark.parametrize(
    ("event", "answer"), [("", "PreToolUse"), ("PreToolUse", "PreToolUse"), ("PostToolUse", None)]
)
def test_a_fault_of_our_own_is_answered_as_configured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], event: str, answer: str | None
) -> None:
    (tmp_path / "loopguard.toml").write_text(DENY)
    reading, writing = os.pipe()
    os.write(writing, json.dumps({"cwd": str(tmp_path)}).encode())
    os.close(writing)
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    hook = Hook(Broken(), {"--event": event}, environ, HookInput(reading))
    assert hook.run() == (answer and {"refused": answer})
    os.close(reading)
    assert "a fault" in capsys.readouterr().err
