"""The sidecar: a process that is told events as JSON Lines and answers with rulings."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commands import command
from loopguard_core import escape
from loopguard_core.events import Event
from loopguard_core.store.door import open_store
from processes import CONSOLE, environment
from sessions import pending

DOCS = Path(__file__).parents[1] / "docs" / "sidecar.md"


class Sidecar:
    """The process, on a store in *folder*."""

    def __init__(self, folder: Path, config: str = "", *options: str) -> None:
        self.place = folder / "events.db"
        (folder / "loopguard.toml").write_text(f'policy = "graded"\n{config}', encoding="utf-8")
        self.process = subprocess.Popen(
            [*CONSOLE, "--store", str(self.place), "sidecar", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(XDG_STATE_HOME=str(folder), HOME=str(folder)),
            cwd=folder,
        )

    def send(self, line: dict[str, Any] | bytes) -> None:
        data = line if isinstance(line, bytes) else json.dumps(line).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None and self.process.stderr is not None
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return dict(json.loads(line))

    def ask(self, line: dict[str, Any] | bytes) -> dict[str, Any]:
        self.send(line)
        return self.answer()

    def start(self, call: str, tool: str = "search", **more: Any) -> dict[str, Any]:
        return self.ask({"type": "call_start", "call": call, "tool": tool, "args": {}, **more})

    def run(self, call: str, tool: str = "search", **more: Any) -> dict[str, Any]:
        """A call from its start to its end: the advice."""
        ruling = self.start(call, tool, **more)
        assert ruling["run"], ruling
        return self.ask({"type": "call_end", "call": call, "result": "r", **more})

    def events(self, session: str = "") -> list[Event]:
        store = open_store(str(self.place))
        try:
            return store.read(session or store.sessions()[0].session)
        finally:
            store.close()

    def end(self) -> tuple[int, str]:
        out, said = self.process.communicate(timeout=60)
        assert out == b"", out
        return self.process.returncode, said.decode()

    def __enter__(self) -> Sidecar:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def test_calls_are_warned_blocked_and_halted(tmp_path: Path) -> None:
    with Sidecar(tmp_path) as sidecar:
        started = sidecar.ask({"type": "session_start", "agent": "js", "session": "one"})
        assert started == {"type": "session", "session": "one"}
        sidecar.send({"type": "user_message", "text": "find it"})
        assert sidecar.run("1")["advice"] == ""
        advised = sidecar.run("2")
        assert advised["advice"].startswith("[loopguard] ") and advised["verdict"]["tier"] == "warn"
        blocked = sidecar.start("3")
        assert (blocked["run"], blocked["tier"], blocked["request"]) == (False, "block", "R1")
        assert "not run" in blocked["message"] and not blocked["ends_turn"]
        assert blocked["verdict"]["count"] == 3
        assert sidecar.ask({"type": "call_end", "call": "3", "outcome": "blocked"})["advice"] == ""
        halted = sidecar.start("4")
        assert (halted["tier"], halted["ends_turn"]) == ("halt", True)
        assert sidecar.start("5", "other")["run"] is False
        sidecar.send({"type": "user_message", "text": "go on"})
        assert sidecar.start("6", "other")["run"] is True
        sidecar.send({"type": "session_end", "reason": "done"})
        code, said = sidecar.end()
    assert code == 0 and " approve R1)" in said
    events = sidecar.events("one")
    outcomes = [e.data["outcome"] for e in events if e.type == "call_end"]
    assert outcomes == ["ok", "ok", "blocked", "blocked", "blocked", "cancelled"]
    assert (events[-1].type, events[-1].data["reason"]) == ("session_end", "done")


def test_a_session_begins_with_the_first_event_and_ends_with_the_input(tmp_path: Path) -> None:
    with Sidecar(tmp_path, "", "--agent", "crawler") as sidecar:
        sidecar.run("1", ok=False)
        assert sidecar.end()[0] == 0
    start, *_, called, end = sidecar.events()
    assert start.data["agent"] == "crawler"
    assert start.session.startswith("crawler-")
    assert called.data["outcome"] == "error"
    assert end.data["reason"] == "the input ended"


def test_a_human_answers_while_other_calls_go_on(tmp_path: Path) -> None:
    with Sidecar(tmp_path, "unattended_wait_seconds = 60\n") as sidecar:
        sidecar.run("1")
        sidecar.run("2")
        sidecar.send({"type": "call_start", "call": "3", "tool": "search", "args": {}})
        request = pending(open_store(str(sidecar.place))).request
        assert sidecar.start("4", "other")["call"] == "4"
        done = command(sidecar.place, "modify", request, '{"q": "else"}')
        assert done.code == 0, done.err
        ruling = sidecar.answer()
        assert (ruling["call"], ruling["run"], ruling["modified"]) == ("3", True, True)
        assert ruling["args"] == {"q": "else"}
        told = sidecar.ask({"type": "call_end", "call": "3", "result": "r"})["advice"]
        assert "human changed the arguments" in told


def test_nobody_below_the_agent_decides(tmp_path: Path) -> None:
    with Sidecar(tmp_path) as sidecar:
        sidecar.ask({"type": "session_start", "session": "one", "pid": os.getpid()})
        sidecar.run("1")
        refused = command(sidecar.place, "halt", "one")
        assert (refused.code, "inside the guarded agent" in refused.err) == (1, True)
        sidecar.end()


def test_a_human_halts_and_resumes_and_an_approval_lets_one_call_through(tmp_path: Path) -> None:
    with Sidecar(tmp_path) as sidecar:
        sidecar.ask({"type": "session_start", "session": "one"})
        sidecar.run("1")
        store = open_store(str(sidecar.place))
        escape.halt(store, session="one", note="wait for me")
        halted = sidecar.start("2", "other")
        assert (halted["run"], halted["ends_turn"]) == (False, True)
        assert "wait for me" in halted["message"]
        escape.resume(store, "one")
        assert sidecar.run("3", "other")["call"] == "3"
        for call in ("4", "5"):
            sidecar.run(call, "again")
        stopped = sidecar.start("6", "again")
        escape.approve(store, stopped["request"], by="you")
        assert sidecar.run("7", "again")["call"] == "7", "approved late: the next one runs"
        assert sidecar.start("8", "again")["run"] is False


def test_a_waiting_call_is_taken_back_or_waits_as_long_as_it_may(tmp_path: Path) -> None:
    with Sidecar(tmp_path, "unattended_wait_seconds = 60\n") as sidecar:
        sidecar.run("1")
        sidecar.run("2")
        sidecar.send({"type": "call_start", "call": "3", "tool": "search", "args": {}})
        pending(open_store(str(sidecar.place)))
        ruling = sidecar.ask({"type": "call_end", "call": "3", "outcome": "cancelled"})
        assert (ruling["type"], ruling["run"]) == ("ruling", False)
        assert "cancelled" in ruling["message"]
        assert sidecar.answer()["type"] == "advice"
        assert sidecar.start("4", wait_limit=0.1)["run"] is False
        sidecar.send({"type": "call_start", "call": "5", "tool": "search", "args": {}})
        pending(open_store(str(sidecar.place)))
        out, _ = sidecar.process.communicate(timeout=60)
    last = json.loads(out.splitlines()[-1])
    assert (last["call"], last["run"]) == ("5", False)
    ended = [e.data["resolution"] for e in sidecar.events() if e.type == "request_resolved"]
    assert ended == ["cancelled", "expired", "cancelled"]


WRONG = [
    (b"{", "not JSON"),
    (b"[1]", "an event is a JSON object"),
    (b'{"tool":"x"}', "an event needs a type"),
    (b'{"type":"call_start","tool":"x"}', "needs the field call"),
    (b'{"type":"call_start","call":"1","tool":3}', "tool is not a string"),
    (b'{"type":"call_end","call":"9"}', "no call '9' is running"),
    (b'{"type":"call_end","call":"9","outcome":"fine"}', "outcome is not one of"),
    (b'{"type":"grant","grant":"g","scope":"session"}', "not an event of an agent"),
    (b'{"type":"request_resolved","request":"R1","resolution":"approved"}', "not an event"),
    (b'{"type":"nonsense"}', "not an event of an agent"),
    (b'{"type":"call","tool":"x"}', "cannot be stopped"),
    (b'{"type":"session_start","settings":{"mode":"loud"}}', "mode is one of"),
    (b'{"type":"session_start","settings":[]}', "settings is an object"),
    (b'{"type":"session_start","pid":"x"}', "pid is the number"),
    (b'{"type":"call_start","call":"1","tool":"x","wait_limit":"y"}', "wait_limit is a number"),
    (b'{"type":"call_start","call":"1","tool":"x","args":' + b"[" * 99_999, "not JSON"),
    (b"\xff\xfe\x00", "not JSON"),
]


def test_what_cannot_be_understood_is_an_error_of_that_line_alone(tmp_path: Path) -> None:
    with Sidecar(tmp_path) as sidecar:
        sidecar.send(b"")
        for number, (line, what) in enumerate(WRONG, 2):
            error = sidecar.ask(line)
            assert (error["type"], error["where"]) == ("error", f"line {number}")
            assert what in error["what"]
        assert sidecar.start("ok")["run"] is True
        _, said = sidecar.end()
    assert "Traceback" not in said


def test_a_host_that_uses_its_ids_again_hears_of_its_calls_under_them(tmp_path: Path) -> None:
    with Sidecar(tmp_path) as sidecar:
        for args in ("one", "two"):
            ruling = sidecar.start("call_0", args=args)
            assert (ruling["call"], ruling["run"]) == ("call_0", True)
            advice = sidecar.ask({"type": "call_end", "call": "call_0", "result": "r"})
            assert advice["call"] == "call_0"
        sidecar.end()
    starts = [e for e in sidecar.events() if e.type == "call_start"]
    assert [e.data["args"] for e in starts] == ["one", "two"]


def test_sessions_are_told_apart(tmp_path: Path) -> None:
    with Sidecar(tmp_path) as sidecar:
        for name in ("a", "b"):
            sidecar.ask({"type": "session_start", "session": name})
        assert "open already" in sidecar.ask({"type": "session_start", "session": "a"})["what"]
        assert "2 sessions are open" in sidecar.start("1")["what"]
        for call in "12":
            for name in ("a", "b"):
                advice = sidecar.run(call, session=name)
                assert (advice["session"], bool(advice["advice"])) == (name, call == "2")
        assert (
            "has started already"
            in [
                sidecar.start("3", "x", session="a"),
                sidecar.start("3", "x", session="a"),
            ][1]["what"]
        )
        sidecar.end()


def test_calls_that_have_run_can_be_watched(tmp_path: Path) -> None:
    with Sidecar(tmp_path) as sidecar:
        sidecar.ask({"type": "session_start", "settings": {"mode": "observe"}})
        for _ in range(4):
            advice = sidecar.ask({"type": "call", "tool": "t", "args": [1], "result": 2})
            assert advice["type"] == "advice" and advice["advice"] == ""
        sidecar.end()
    starts = [e.data["verdict"]["tier"] for e in sidecar.events() if e.type == "call_start"]
    assert starts[2:] == ["block", "halt"]


def test_what_an_answer_used_up_is_recorded(tmp_path: Path) -> None:
    with Sidecar(tmp_path) as sidecar:
        sidecar.ask({"type": "session_start"})
        sidecar.send({"type": "usage", "input": 9, "cost_usd": 0.5, "message": "m"})
        sidecar.start("c", message="m")
        sidecar.end()
    told = [e.data for e in sidecar.events() if e.type == "usage"]
    assert told == [{"input": 9, "cost_usd": 0.5, "message": "m"}]


def test_values_that_json_lacks_come_back_as_something_json_has(tmp_path: Path) -> None:
    with Sidecar(tmp_path) as sidecar:
        line = b'{"type":"call_start","call":"1","tool":"\\ud800","args":{"x":NaN,"y":1e999}}'
        assert sidecar.ask(line)["args"] == {"x": "nan", "y": "inf"}


def test_told_to_end_it_ends_its_sessions(tmp_path: Path) -> None:
    with Sidecar(tmp_path) as sidecar:
        sidecar.run("1")
        sidecar.process.send_signal(signal.SIGTERM)
        assert sidecar.process.wait(30) == 0
    assert sidecar.events()[-1].data["reason"] == "stopped"


def example() -> str:
    """The example in the documentation."""
    found = re.search(r"```js\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found.group(1)


def test_the_example_in_javascript_works(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    assert sum(bool(line.strip()) for line in example().splitlines()) <= 20
    (tmp_path / "guard.mjs").write_text(example(), encoding="utf-8")
    (tmp_path / "agent.mjs").write_text(
        """
import { guarded, close } from "./guard.mjs";
let ran = 0;
const search = async ({ q }) => { ran += 1; if (q === "bad") throw new Error("no"); return "r:" + q; };
const got = [];
for (const q of ["loops", "loops", "loops", "bad"]) got.push(await guarded("search", { q }, search));
close();
console.log(JSON.stringify({ ran, got }));
""",
        encoding="utf-8",
    )
    program = tmp_path / "loopguard-console"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m loopguard_console "$@"\n')
    program.chmod(0o755)
    (tmp_path / "loopguard.toml").write_text('policy = "graded"\n', encoding="utf-8")
    env = environment(LOOPGUARD_STORE=str(tmp_path / "events.db"), XDG_STATE_HOME=str(tmp_path))
    env["PATH"] = f"{tmp_path}:{env['PATH']}"
    done = subprocess.run(
        [node, "agent.mjs"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["ran"] == 3
    assert told["got"][0] == "r:loops"
    assert told["got"][1].startswith("r:loops\n\n[loopguard] ")
    assert "not run" in told["got"][2]
    assert told["got"][3] == "Error: no"
