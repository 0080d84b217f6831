"""``watch``: transcripts that agents write to are followed, judged and recorded, and never touched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from commands import command, until
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store
from processes import CONSOLE, environment
from transcribing import Claude, Codex, Gemini, Hermes


class Watch:
    """The command, in a process of its own, on a store in *folder*."""

    def __init__(self, folder: Path, *args: str | Path) -> None:
        self.place = folder / "events.db"
        (folder / "loopguard.toml").write_text('policy = "graded"\n', encoding="utf-8")
        self.home = folder / "home"
        env = environment(HOME=str(self.home), XDG_STATE_HOME=str(folder / "state"))
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "HERMES_HOME"):
            env.pop(name, None)
        self.process = subprocess.Popen(
            [*CONSOLE, "--store", str(self.place), "watch", *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd=folder,
            text=True,
        )
        self.out: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.out.append(line)

    def says(self, what: str) -> None:
        """Wait until it has said so."""
        until(lambda: what in "".join(self.out), f"the words {what!r}")

    def events(self, session: str, type: str = "") -> list[Event]:
        if not self.place.exists():
            return []
        store = open_store(str(self.place))
        try:
            return [e for e in store.read(session) if not type or e.type == type]
        finally:
            store.close()

    def ended(self, session: str, times: int) -> list[Event]:
        """The ends of calls of *session*, once there are *times* of them."""
        return until(
            lambda: ends if len(ends := self.events(session, "call_end")) >= times else [],
            f"{times} calls of {session}",
        )

    def wait(self) -> tuple[str, str]:
        """Wait for its end; what was said on stdout and stderr."""
        assert self.process.stderr is not None
        said = self.process.stderr.read()
        self.process.wait(30)
        self._reader.join(30)
        return "".join(self.out), said

    def end(self) -> tuple[str, str]:
        """Stop watching; what was said."""
        self.process.send_signal(signal.SIGTERM)
        said = self.wait()
        assert self.process.returncode == 0, said
        return said

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(30)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


def tiers(events: list[Event]) -> list[str]:
    return [e.data["verdict"]["tier"] for e in events]


def once(folder: Path, *args: str | Path) -> subprocess.CompletedProcess[str]:
    """What lies there, read by a process that ends."""
    with Watch(folder, "--once", *args) as watch:
        out, said = watch.wait()
    return subprocess.CompletedProcess([], watch.process.returncode, out, said)


def test_a_session_is_followed_as_it_grows(tmp_path: Path) -> None:
    claude = Claude(tmp_path / "logs" / "s1.jsonl")
    claude.write(claude.prompt("read it"))
    claude.loop(1)
    with Watch(tmp_path, tmp_path / "logs") as watch:
        watch.ended("s1", 1)
        claude.loop(3, first=2)
        ends = watch.ended("s1", 4)
        out, said = watch.end()
    assert [e.data["result"] for e in ends] == ["no such file"] * 4
    assert tiers(watch.events("s1", "call_start"))[2:] == ["block", "halt"]
    start = watch.events("s1")[0]
    assert (start.data["mode"], start.data["policy"]) == ("observe", "graded")
    assert start.data["agent"] == "claude-code" and start.data["cwd"] == "/home/you/project"
    assert "nothing is warned or stopped here" in said
    assert "watching claude-code s1 in /home/you/project" in out
    assert "s1: halt would be said here" in out
    store = open_store(str(watch.place))
    assert store.requests() == [], "nobody is asked: nothing can be stopped"


def test_a_line_that_is_half_written_is_waited_for(tmp_path: Path) -> None:
    claude = Claude(tmp_path / "logs" / "s1.jsonl")
    claude.write(claude.prompt("read it"))
    line = claude.calls("t1", command="cat caf\u00e9")
    with Watch(tmp_path, tmp_path / "logs") as watch:
        until(lambda: watch.events("s1"), "the session")
        for at in range(0, len(line), 40):
            claude.write(line[at : at + 40])
            time.sleep(0.02)
        until(lambda: watch.events("s1", "call_start"), "the call")
        claude.write(claude.result("t1", "done").removesuffix(b"\n"))
        watch.ended("s1", 1)
        claude.write(b"\n" + claude.prompt("and now"))
        until(lambda: len(watch.events("s1", "user_message")) == 2, "the next prompt")
        watch.end()
    (start,) = watch.events("s1", "call_start")
    assert start.data["args"] == {"command": "cat caf\u00e9"}


def test_new_sessions_and_subagents_appear(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    first = Claude(logs / "p" / "s1.jsonl")
    first.write(first.prompt("go"))
    with Watch(tmp_path, logs) as watch:
        until(lambda: watch.events("s1"), "the session")
        second = Claude(logs / "q" / "s2.jsonl", "s2")
        second.write(second.prompt("go"))
        second.loop(2)
        child = Claude(logs / "p" / "s1" / "subagents" / "agent-a1.jsonl", "s1", agent="a1")
        meta = {"agentType": "explorer", "toolUseId": "t9"}
        (child.path.parent / "agent-a1.meta.json").write_text(json.dumps(meta))
        child.write(child.prompt("look around"))
        child.loop(2)
        watch.ended("s2", 2)
        watch.ended("s1/a1", 2)
        watch.end()
    assert tiers(watch.events("s1/a1", "call_start"))[0] == "allow"
    (start,) = watch.events("s1/a1", "session_start")
    assert (start.data["parent"], start.data["name"]) == ("s1", "explorer")
    assert watch.events("s1", "call_start") == []


def test_a_file_that_is_replaced_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "log.jsonl"
    claude = Claude(path)
    claude.write(claude.prompt("go"))
    claude.loop(2)
    with Watch(tmp_path, path.parent) as watch:
        watch.ended("s1", 2)
        other = Claude(tmp_path / "other.jsonl", "s2")
        other.write(other.prompt("another"))
        other.loop(1)
        other.path.replace(path)
        watch.ended("s2", 1)
        path.write_bytes(b"")
        again = Claude(path, "s2")
        again.write(again.prompt("rewritten"), again.calls("x1"), again.result("x1", "r"))
        watch.says("s2 is not watched any more: its transcript was rewritten")
        watch.end()
    assert len(watch.events("s1", "call_end")) == 2
    assert len(watch.events("s2", "call_end")) == 1


def test_a_copy_of_a_session_changes_nothing(tmp_path: Path) -> None:
    claude = Claude(tmp_path / "logs" / "s1.jsonl")
    claude.write(claude.prompt("go"))
    claude.loop(2)
    with Watch(tmp_path, tmp_path / "logs") as watch:
        watch.ended("s1", 2)
        (tmp_path / "logs" / "copy.jsonl").write_bytes(claude.path.read_bytes())
        claude.loop(1, first=3)
        watch.ended("s1", 3)
        claude.path.rename(tmp_path / "logs" / "moved.jsonl")
        claude.path = tmp_path / "logs" / "moved.jsonl"
        claude.loop(1, first=4)
        watch.ended("s1", 4)
        out, _ = watch.end()
    assert "is not watched" not in out
    assert [e.data["call"] for e in watch.events("s1", "call_start")] == ["t1", "t2", "t3", "t4"]


def test_watching_goes_on_where_it_stopped(tmp_path: Path) -> None:
    claude = Claude(tmp_path / "logs" / "s1.jsonl")
    claude.write(claude.prompt("go"))
    claude.loop(2)
    claude.write(claude.calls("t3", command="cat nope"))
    for _ in range(2):
        done = once(tmp_path, tmp_path / "logs")
        assert done.returncode == 0, done.stderr
        assert "s1: the strongest verdict so far is " in done.stdout
    store = open_store(str(tmp_path / "events.db"))
    before = store.read("s1")
    assert [e.type for e in before][-1] == "call_start", "a call that runs has not ended"
    store.append(Event("note", "s1", ts=1.0, data={"text": "a person's bookmark"}))
    claude.write(claude.result("t3", "no such file"))
    claude.loop(1, first=4)
    assert once(tmp_path, tmp_path / "logs").returncode == 0
    after = store.read("s1")
    assert [e.seq for e in after] == list(range(1, len(after) + 1))
    assert [e.type for e in after[len(before) :]] == ["note", "call_end", "call_start", "call_end"]
    assert tiers([e for e in after if e.type == "call_start"]) == [
        "allow",
        "allow",
        "block",
        "halt",
    ]


def test_what_is_watched_is_what_is_imported(tmp_path: Path) -> None:
    claude = Claude(tmp_path / "logs" / "s1.jsonl")
    claude.write(claude.prompt("go"))
    claude.loop(3)
    once(tmp_path, claude.path)
    imported = tmp_path / "imported.db"
    assert command(imported, "import", claude.path).code == 0
    ours = ("verdict", "ids", "mode", "policy", "config", "watched", "settings")

    def seen(place: Path) -> list[Any]:
        events = open_store(str(place)).read("s1")
        return [(e.type, e.ts, {k: v for k, v in e.data.items() if k not in ours}) for e in events]

    assert seen(tmp_path / "events.db") == seen(imported)


def test_logs_of_ours_are_watched_as_they_stand(tmp_path: Path) -> None:
    samples = Path(__file__).parents[1] / "sample_sessions"
    names = ("research-loop", "alternating-pair", "failing-command")
    for name in names:
        (tmp_path / "logs").mkdir(exist_ok=True)
        (tmp_path / "logs" / f"{name}.jsonl").write_bytes((samples / f"{name}.jsonl").read_bytes())
    done = once(tmp_path, tmp_path / "logs")
    assert "not watched" not in done.stdout
    imported = tmp_path / "imported.db"
    command(imported, "import", tmp_path / "logs")

    def seen(place: Path, name: str) -> list[Any]:
        events = open_store(str(place)).read(name)
        return [(e.type, e.ts, {k: v for k, v in e.data.items() if k != "request"}) for e in events]

    for name in names:  # two of them have a request R1
        assert seen(tmp_path / "events.db", name) == seen(imported, name)
    again = once(tmp_path, tmp_path / "logs")
    assert "not watched" not in again.stdout
    for line in command(tmp_path / "events.db", "import", tmp_path / "logs").out.splitlines():
        assert " 0 events added" in line
    assert "research-loop: the strongest verdict so far is block" in again.stdout


def hooked(store: Store, session: str) -> LiveSession:
    return LiveSession(Config(), session, agent="claude-code", store=store, say=lambda line: None)


def test_a_session_with_a_hook_is_left_to_it(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    live = hooked(store, "s1")
    claude = Claude(tmp_path / "logs" / "s1.jsonl")
    claude.write(claude.prompt("go"))
    claude.loop(2)
    before = store.last("s1")
    done = once(tmp_path, claude.path)
    assert "s1 is not watched: it is recorded by its own guard" in done.stdout
    assert "watching" not in done.stdout and "strongest" not in done.stdout
    assert store.last("s1") == before
    live.end()


def test_a_session_that_gets_a_hook_later_is_left_to_it(tmp_path: Path) -> None:
    claude = Claude(tmp_path / "logs" / "s1.jsonl")
    claude.write(claude.prompt("go"))
    claude.loop(1)
    with Watch(tmp_path, claude.path.parent) as watch:
        watch.ended("s1", 1)
        store = open_store(str(watch.place))
        live = hooked(store, "s1")
        live.before("Bash", {"command": "cat nope"}, call="t2")
        claude.loop(2, first=2)
        watch.says("s1 is not watched any more: it is recorded by its own guard")
        watch.end()
    assert [e.data["call"] for e in store.read("s1") if e.type == "call_start"] == ["t1", "t2"]


def test_agents_are_found_in_their_usual_places(tmp_path: Path) -> None:
    home = tmp_path / "home"
    Claude(home / ".claude" / "projects" / "-home-you" / "s1.jsonl").loop(1)
    Codex(home / ".codex" / "sessions" / "2026" / "05" / "01" / "rollout-x-c1.jsonl").loop(3)
    old = Claude(home / ".claude" / "projects" / "-home-you" / "old.jsonl", "old")
    old.loop(1)
    os.utime(old.path, (1, 1))
    gemini = Gemini(home / ".gemini" / "tmp" / "p" / "chats" / "session-1-g1.jsonl")
    gemini.call(1)
    hermes = Hermes(home / ".hermes" / "state.db", started=time.time())
    hermes.message("user", content="go")
    hermes.call(1)
    Hermes(home / ".hermes" / "state.db", "h0", started=1.0).message("user", content="long ago")
    with Watch(tmp_path) as watch:
        watch.ended("s1", 1)
        ends = watch.ended("c1", 3)
        watch.ended("g1", 1)
        watch.ended("h1", 1)
        for n in (2, 3):
            gemini.call(n)
            hermes.call(n)
        watch.ended("g1", 3)
        watch.ended("h1", 3)
        late = Claude(home / ".claude" / "projects" / "-home-usr" / "s9.jsonl", "s9")
        late.loop(1)
        watch.ended("s9", 1)
        watch.end()
    assert [e.data["outcome"] for e in ends] == ["error"] * 3
    for session in ("c1", "g1", "h1"):
        assert tiers(watch.events(session, "call_start"))[2] == "block", session
    assert watch.events("old") == [] and watch.events("h0") == []


def test_whoever_halts_it_is_told_that_it_is_only_watched(tmp_path: Path) -> None:
    claude = Claude(tmp_path / "logs" / "s1.jsonl")
    claude.write(claude.prompt("go"))
    claude.loop(2)
    once(tmp_path, claude.path)
    done = command(tmp_path / "events.db", "halt", "s1")
    assert done.code == 0
    assert "known by its transcript alone: its agent does not hear of this" in done.err
    claude.loop(1, first=3)
    assert once(tmp_path, claude.path).returncode == 0
    ends = [e for e in open_store(str(tmp_path / "events.db")).read("s1") if e.type == "call_end"]
    assert [e.data["outcome"] for e in ends] == ["ok"] * 3, "it ran on, and that is what is shown"


def test_nothing_of_the_agents_is_written_to(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    claude = Claude(logs / "s1.jsonl")
    claude.loop(2)
    gemini = Gemini(logs / "session-1.jsonl")
    gemini.call(1)
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in logs.iterdir()}
    logs.chmod(0o500)
    try:
        assert once(tmp_path, logs).returncode == 0
    finally:
        logs.chmod(0o700)
    assert {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in logs.iterdir()} == before


def test_programs_read_json(tmp_path: Path) -> None:
    claude = Claude(tmp_path / "logs" / "s1.jsonl")
    claude.loop(3)
    (tmp_path / "logs" / "binary.json").write_bytes(b"\0" * 9_000)
    done = once(tmp_path, "--json", tmp_path / "logs")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    whats = {t["what"] for t in told}
    assert whats == {"found", "verdict", "failed"}
    (block,) = [t for t in told if t.get("verdict", {}).get("tier") == "block"]
    assert (block["session"], block["call"]) == ("s1", "t3")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("nowhere",), 2, "nowhere: no such file or folder"),
        (("--once",), 0, "no agent was at work lately"),
        (("--since", "-1"), 2, "Invalid value"),
    ],
)
def test_there_is_nothing_to_watch(
    tmp_path: Path, args: tuple[str, ...], code: int, says: str
) -> None:
    with Watch(tmp_path, *args) as watch:
        out, said = watch.wait()
    assert watch.process.returncode == code
    assert says in out + said
    assert "Traceback" not in said
