"""The hook process: what an agent sees of the guard, call by call, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hooks import LAUNCHER, Host
from loopguard_core import escape
from loopguard_core.events import Event
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store
from processes import environment
from sessions import pending

GRADED = 'policy = "graded"\n'


def events(host: Host, session: str = "s1") -> list[Event]:
    store = open_store(str(host.store))
    try:
        return store.read(session)
    finally:
        store.close()


def decide(host: Host, what: Callable[[Store], object]) -> None:
    """A human's word, from another process than the hook's."""
    store = open_store(str(host.store))
    try:
        what(store)
    finally:
        store.close()


def outcomes(host: Host, session: str = "s1") -> list[str]:
    return [str(e.data["outcome"]) for e in events(host, session) if e.type == "call_end"]


def loop(host: Host, times: int) -> None:
    """The same failing call, *times* in a row."""
    for _ in range(times):
        host.before()
        host.after()


def test_a_loop_is_warned_then_blocked_then_halted(tmp_path: Path) -> None:
    host = Host(tmp_path, config=GRADED)
    host.send("SessionStart", source="startup")
    host.send("UserPromptSubmit", prompt="read it")
    assert host.before().out == ""
    assert host.after().out == ""
    assert host.before().out == ""
    assert "loopguard" in host.after().advice
    third = host.before()
    assert "not run" in third.denied and "continue" not in third.answer
    fourth = host.before()
    assert fourth.denied and fourth.answer["continue"] is False
    assert host.before("something else").denied, "a halt is a latch: every later call is denied"
    host.send("UserPromptSubmit", prompt="try again")
    assert host.before("something else").out == ""
    assert outcomes(host) == ["error", "error", "blocked", "blocked", "blocked"]


def test_trap_1_the_latch_denies_until_a_human_lets_go(tmp_path: Path) -> None:
    host = Host(tmp_path, config=GRADED + 'mode = "enforce"\n')
    loop(host, 4)
    assert host.before().denied and host.before("ls").denied
    decide(host, lambda store: escape.resume(store, "s1"))
    assert host.before("ls").out == ""


def test_the_person_learns_the_command_and_the_model_does_not(tmp_path: Path) -> None:
    host = Host(tmp_path, config=GRADED)
    loop(host, 2)
    said = host.before()
    assert " approve R1)" in said.err
    assert " approve R1)" in said.answer["systemMessage"]
    assert "approve" not in said.denied and "R1" in said.denied


def test_a_late_approval_lets_the_retry_through_once(tmp_path: Path) -> None:
    host = Host(tmp_path, config=GRADED)
    loop(host, 2)
    assert host.before().denied
    decide(host, lambda store: escape.approve(store, "R1"))
    assert host.before().out == "", "saying nothing lets it run"
    host.after()
    assert host.before().denied


def test_it_waits_for_a_human_within_the_hosts_limit(tmp_path: Path) -> None:
    host = Host(tmp_path, config=GRADED + "unattended_wait_seconds = 50\n")
    loop(host, 2)
    answers: list[str] = []
    waiting = threading.Thread(target=lambda: answers.append(host.before().out))
    waiting.start()
    decide(host, lambda store: escape.approve(store, pending(store).request))
    waiting.join(timeout=30)
    assert answers == [""]


def test_a_wait_ends_before_the_host_gives_up(tmp_path: Path) -> None:
    host = Host(tmp_path, config=GRADED + "unattended_wait_seconds = 50\n")
    loop(host, 2)
    host.calls += 1
    assert host.send("PreToolUse", limit=5, **host._tool("cat nope")).denied


@pytest.mark.parametrize(
    ("decision", "notice"),
    [
        (lambda s, r: escape.deny(s, r, by="you@desk"), "loopguard: you@desk denied R1: the call was refused"),
        (lambda s, r: escape.halt(s, request=r, by="you@desk"), "loopguard: you@desk halted the agent: the call was refused"),
        (None, "loopguard: nobody answered R1 in time: the call was refused (to let its next try run: loopguard-console --store {} approve R1)"),
    ],
)  # fmt: skip
def test_what_the_person_at_the_agent_reads_in_the_end_is_true_then(
    tmp_path: Path, decision: Callable[[Store, str], object] | None, notice: str
) -> None:
    host = Host(tmp_path, config=GRADED + "unattended_wait_seconds = 50\n")
    loop(host, 2)
    human = None
    if decision is not None:
        made = decision
        human = threading.Thread(
            target=decide, args=(host, lambda store: made(store, pending(store).request))
        )
        human.start()
    host.calls += 1
    said = host.send("PreToolUse", limit=30 if human else 2, **host._tool("cat nope"))
    if human is not None:
        human.join()
    assert said.answer["systemMessage"] == notice.format(host.store)
    assert "waits for you" not in said.out
    assert "call waits for you" in said.err, "while it waited it was said, too"


def test_changed_arguments_and_a_denial_reach_the_agent(tmp_path: Path) -> None:
    host = Host(tmp_path, config=GRADED + "unattended_wait_seconds = 50\n")
    loop(host, 2)

    def change(store: Store) -> None:
        escape.modify(store, pending(store).request, {"command": "ls"})

    human = threading.Thread(target=decide, args=(host, change))
    human.start()
    said = host.before()
    human.join()
    specific = said.answer["hookSpecificOutput"]
    assert specific["updatedInput"] == {"command": "ls"}
    assert "human changed" in specific["additionalContext"]
    assert "permissionDecision" not in specific


@pytest.mark.parametrize(("policy", "runs"), [("allow", True), ("deny", False)])
@pytest.mark.parametrize("broken", ["locked out", "not a store"])
def test_trap_3_a_store_that_fails_is_said_and_answered_as_configured(
    tmp_path: Path, policy: str, runs: bool, broken: str
) -> None:
    host = Host(tmp_path, config=f'on_store_failure = "{policy}"\n')
    if broken == "not a store":
        host.store.write_bytes(b"this is a text, and a long one" * 100)
    else:
        host.store = tmp_path
    said = host.before()
    assert said.code == 0
    assert said.err.count("\n") == 1 and "Traceback" not in said.err
    assert (said.out == "") is runs
    assert bool(said.denied) is not runs


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"\xff\xfe\x00", b'{"hook_event_name": "PreToolUse"}', b"9" * 5000]
)
def test_what_is_no_event_is_one_line_on_stderr(tmp_path: Path, raw: bytes) -> None:
    said = Host(tmp_path).raw(raw)
    assert (said.code, said.out) == (0, "")
    assert said.err.startswith("loopguard: ") and said.err.count("\n") == 1


@pytest.mark.parametrize(
    "argv", [[], ["--agent", "clippy"], ["--agent"], ["--agent", "codex", "-x"]]
)
def test_a_wrong_command_line_never_denies(argv: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(LAUNCHER), *argv],
        input=b"{}",
        capture_output=True,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1 and not done.stdout


def test_trap_4_a_call_that_somebody_else_denied_ends_with_its_message(tmp_path: Path) -> None:
    host = Host(tmp_path, config=GRADED)
    host.before()
    call = {**host._tool("cat nope"), "tool_response": "Permission denied by the user"}
    host.send("PostToolBatch", tool_calls=[call])
    host.send("PostToolBatch", tool_calls=[call])
    assert outcomes(host) == ["denied"]


def test_trap_6_the_same_call_again_counts_once(tmp_path: Path) -> None:
    host = Host(tmp_path, config=GRADED)
    loop(host, 1)
    host.calls += 1
    for _ in range(4):
        said = host.send("PreToolUse", **host._tool("cat nope"))
        assert said.out == "", "a deferred call comes again under its own id"
    assert [e.type for e in events(host)].count("call_start") == 2
    assert host.before().denied


def test_trap_7_a_subagent_counts_for_itself_and_names_its_parent(tmp_path: Path) -> None:
    host = Host(tmp_path, config=GRADED)
    loop(host, 2)
    sub: dict[str, Any] = {"agent_id": "a1", "agent_type": "Explore"}
    assert host.before(**sub).out == ""
    assert host.before().denied
    store = open_store(str(host.store))
    child = store.session("s1/a1")
    assert child is not None and (child.parent, child.agent) == ("s1", "claude-code")
    assert child.name == "Explore"
    store.close()
    host.send("SubagentStop", **sub)
    host.send("SubagentStop", agent_id="never-seen", agent_type="Explore")
    store = open_store(str(host.store))
    assert [s.ended for s in store.sessions() if s.session == "s1/a1"] == [True]
    assert store.session("s1/never-seen") is None
    store.close()


def test_trap_7_identical_calls_of_one_message_cannot_slip_past(tmp_path: Path) -> None:
    host = Host(tmp_path, config='policy = "tool-loop-guard"\n')
    said = [host.before() for _ in range(4)]
    assert [bool(each.denied) for each in said] == [False, False, True, True]


def test_a_host_that_names_no_calls_gets_its_results_matched(tmp_path: Path) -> None:
    host = Host(tmp_path, agent="gemini", config=GRADED)
    tool: dict[str, Any] = {"tool_name": "run_shell_command", "tool_input": {"command": "cat nope"}}
    done = {**tool, "tool_response": {"llmContent": "Output: x\nExit Code: 1"}}
    for _ in range(2):
        host.send("BeforeTool", **tool)
        said = host.send("AfterTool", **done)
    assert outcomes(host) == ["error", "error"]
    assert said.advice
    assert host.send("BeforeTool", **tool).answer["decision"] == "deny"


def test_the_agents_shells_are_marked(tmp_path: Path) -> None:
    host = Host(tmp_path)
    marks = tmp_path / "env.sh"
    data = {"session_id": "s1", "cwd": str(tmp_path), "hook_event_name": "SessionStart"}
    argv = [sys.executable, "-I", "-S", str(LAUNCHER), "--agent", "claude-code"]
    subprocess.run(
        [*argv, "--store", str(host.store)],
        input=json.dumps(data).encode(),
        env=environment(CLAUDE_ENV_FILE=str(marks), HOME=str(tmp_path)),
        check=True,
        timeout=60,
    )
    assert marks.read_text() == "export LOOPGUARD_SESSION='s1'\n"


def test_it_imports_nothing_but_the_standard_library_and_its_own_adapter() -> None:
    code = (
        "import sys; sys.path.append(sys.argv[1]); before = set(sys.modules)\n"
        "import loopguard_core.hook.process as hook; hook.adapter('claude-code')\n"
        "new = {n.partition('.')[0] for n in set(sys.modules) - before}\n"
        "heavy = {'dataclasses', 'typing', 'tomllib', 'asyncio', 'subprocess', 'argparse', 'inspect'}\n"
        "print(sorted(new - set(sys.stdlib_module_names) - {'loopguard_core'}), sorted(heavy & new))\n"
        "print('loopguard_core.agents.codex' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(LAUNCHER.parents[1])],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "[] []\nFalse\n"


def test_digests_are_the_same_with_and_without_openssl() -> None:
    code = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "if sys.argv[2]: import hashlib\n"
        "from loopguard_core.hashing import blake2b\n"
        "from loopguard_core.identity import Digester\n"
        "print('_hashlib' in sys.modules, Digester(b'key')('text' * 2000), Digester()(''))\n"
        "print(blake2b(b'text', digest_size=16).hexdigest())"
    )
    argv = [sys.executable, "-I", "-S", "-c", code, str(LAUNCHER.parents[1])]
    lean, full = (subprocess.check_output([*argv, with_openssl]) for with_openssl in ("", "x"))
    assert lean.startswith(b"False") and full.startswith(b"True")
    assert lean.split()[1:] == full.split()[1:]
