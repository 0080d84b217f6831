"""A person may try the hook in their own shell, and decide there; an agent cannot make its hook say it is gone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hooks import LAUNCHER
from loopguard_core.store.door import open_store
from processes import CONSOLE, environment
from terminal import Terminal

SHELLS = [
    pytest.param(shell, marks=pytest.mark.skipif(not shutil.which(shell[0]), reason="no such shell"))
    for shell in (
        ("bash", "--norc", "--noprofile", "-i"),
        ("bash", "--norc", "--noprofile", "+m"),
        ("dash", "-i"),
        ("zsh", "-f"),
    )
]  # fmt: skip


def prepared(folder: Path) -> dict[str, str]:
    """Hook inputs in *folder* (``1`` to ``3``: a loop), and commands in the environment."""
    for number in (1, 2, 3):
        said = {
            "session_id": "s1",
            "hook_event_name": "PreToolUse",
            "cwd": str(folder),
            "tool_name": "Bash",
            "tool_input": {"command": "ls"},
            "tool_use_id": f"t{number}",
        }
        (folder / str(number)).write_text(json.dumps(said))
    start = {"session_id": "s1", "hook_event_name": "SessionStart", "source": "resume"}
    (folder / "resume").write_text(json.dumps({**start, "cwd": str(folder)}))
    (folder / "loopguard.toml").write_text('policy = "graded"\n')
    store = folder / "events.db"
    hook = folder / "hook"
    hook.write_text(
        f'exec {sys.executable} -I -S {LAUNCHER} --agent claude-code --store {store} "$@"\n'
    )
    lg = folder / "lg"
    lg.write_text(f'exec {" ".join(CONSOLE)} --store {store} "$@"\n')
    for made in (hook, lg):
        made.write_text(f"#!/bin/sh\n{made.read_text()}")
        made.chmod(0o755)
    return environment(HOME=str(folder), PATH=f"{folder}:{os.environ['PATH']}", PS1="$ ")


WAYS = {
    "typed": "for n in 1 2 3; do hook < $n; done",
    "piped": "for n in 1 2 3; do cat $n | hook; done",
    "as a command": "bash -c 'for n in 1 2 3; do hook < $n; done; :'",
    "as a command and piped": "sh -c 'for n in 1 2 3; do cat $n | hook; done; :'",
    "with a limit": "for n in 1 2 3; do timeout 60 hook < $n; done",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_session_that_is_tried_by_hand_is_not_lost_after_each_call(
    tmp_path: Path, way: str
) -> None:
    env = prepared(tmp_path)
    with Terminal(["bash", "--norc", "--noprofile", "-i"], env) as screen:
        screen.press(f"cd {tmp_path}; {WAYS[way]}; echo th''ree\n")
        screen.see("three", '"permissionDecision":"deny"')
        screen.press("clear; lg pending --session s1; lg sessions; lg doctor\n")
        screen.see("not waiting; approve within", " live ", "no session of a process that is gone")
        screen.press("clear; lg approve R1; cat 3 | hook; echo ra''n; lg sessions\n")
        assert "permissionDecision" not in screen.see("R1: approved", "ran", " live ")
    with closing(open_store(str(tmp_path / "events.db"))) as store:
        session = store.session("s1")
    assert session is not None and not session.pid, "nobody's process is the agent's"


@pytest.mark.parametrize("shell", SHELLS)
def test_who_tries_the_hook_by_hand_decides_in_the_same_shell(
    tmp_path: Path, shell: tuple[str, ...]
) -> None:
    env = prepared(tmp_path)
    with Terminal(shell, env) as screen:
        screen.press(f"cd {tmp_path}; for n in 1 2 3; do hook < $n; done; echo th''ree\n")
        screen.see("three", '"permissionDecision":"deny"')
        screen.press("clear; lg approve R1; echo co''de=$?\n")
        screen.see("R1: approved", "code=0")
    session = open_store(str(tmp_path / "events.db")).session("s1")
    assert session is not None and session.pid != screen.pid


AGENT = """
import subprocess, sys
def run(*argv, **more):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    print(done.returncode, done.stdout, flush=True)
for n in "123":
    run("sh", "-c", "hook; :", stdin=open(n))
{model}
run("lg", "approve", "R1")
"""
MODELS = {
    "plainly": "",
    "resumes its session through a process of its own": """
run(sys.executable, "-c", "import os; os.system('hook < resume')")
""",
    "resumes it in a shell that is typed into": """
import pty
pty.spawn(["bash", "-ic", "bash --norc -i < /dev/null; hook < resume; lg approve R1"])
""",
    "names another process": """
run("sh", "-c", "sleep 9 < /dev/null > /dev/null 2>&1 & CLAUDE_PID=$! hook < resume; kill $!")
""",
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("terminal", [False, True])
def test_no_agent_decides_whatever_it_does_with_its_hook(
    tmp_path: Path, model: str, terminal: bool
) -> None:
    env = prepared(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT.format(model=MODELS[model]))
    argv = [sys.executable, "agent.py"]
    if terminal:
        with Terminal(["sh", "-c", f"cd {tmp_path}; {' '.join(argv)}; echo en''d"], env) as screen:
            said = screen.see("end", "inside the guarded")
    else:
        said = subprocess.run(
            argv, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=True
        ).stdout
    assert "inside the guarded" in said and "R1: approved" not in said
    with closing(open_store(str(tmp_path / "events.db"))) as store:
        asked = store.request("R1")
        grants = [e for e in store.read("s1") if e.type == "grant"]
    assert asked is not None and asked.resolution == "expired" and not grants


SCRIPT = """
for n in 1 2 3; do hook < $n; done
{model}
lg approve R1
"""


@pytest.mark.parametrize("model", ["", "hook < resume", "sh -c 'hook < resume; :'"])
def test_an_agent_that_is_a_shell_script_does_not_decide_either(tmp_path: Path, model: str) -> None:
    env = prepared(tmp_path)
    (tmp_path / "agent.sh").write_text(SCRIPT.format(model=model))
    with Terminal(["bash", "--norc", "--noprofile", "-i"], env) as screen:
        screen.press(f"cd {tmp_path}; bash agent.sh; echo en''d\n")
        said = screen.see("end", "inside the guarded")
    assert "R1: approved" not in said
