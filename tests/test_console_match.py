"""Whoever judges by a user's ``match`` function names one that fails, once: also who watches, and who replays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import command
from driving import drive
from loopguard_console import opening
from loopguard_core.config import Config
from loopguard_core.events import Event
from processes import console, environment
from transcribing import Claude

SAID = "match.Bash failed for a call of Bash: KeyError"
OWN = "def broken(tool, args):\n    return args['q']\n"


def broken(tool: str, args: Any) -> Any:
    return args["q"]


def call(number: int) -> dict[str, object]:
    return {"type": "call", "tool": "Bash", "args": {"page": number}, "result": "found"}


def test_who_watches_is_told_once_of_all_sessions(tmp_path: Path) -> None:
    for name in ("s1", "s2"):
        claude = Claude(tmp_path / "logs" / f"{name}.jsonl", name)
        lines = [claude.prompt("go")]
        for number in range(3):
            lines += [claude.calls(f"c{number}", page=number), claude.result(f"c{number}", "ok")]
        claude.path.write_bytes(b"".join(lines))
    (tmp_path / "own_match.py").write_text(OWN)
    config = tmp_path / "loopguard.toml"
    config.write_text('policy = "graded"\n[policies.graded.match]\nBash = "own_match:broken"\n')
    env = environment(LOOPGUARD_CONFIG=str(config), XDG_STATE_HOME=str(tmp_path / "state"))
    env["PYTHONPATH"] += f":{tmp_path}"
    done = console(
        "--store", tmp_path / "e.db", "watch", "--once", "--json", tmp_path / "logs", env=env
    )
    assert done.returncode == 0
    assert done.stderr.decode().count(SAID) == 1
    found = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert {news["session"] for news in found if news["what"] == "found"} == {"s1", "s2"}


def test_who_prints_a_replay_is_told_beside_it(tmp_path: Path) -> None:
    recording = tmp_path / "calls.jsonl"
    recording.write_text("".join(f"{json.dumps(call(n))}\n" for n in range(3)))
    config = tmp_path / "loopguard.toml"
    config.write_text(f'policy = "graded"\n[policies.graded.match]\nBash = "{__name__}:broken"\n')
    done = command(None, "open", recording, "--json", "--config", config)
    assert (done.code, done.err.count(SAID), len(done.objects)) == (0, 1, 3)


@pytest.mark.parametrize("before", [0, 5])
def test_who_steps_through_a_replay_is_told_once_however_late_it_fails(
    before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "AT_ONCE", 4)
    config = Config({"policy": "graded", "policies": {"graded": {"match": {"Bash": broken}}}})
    calm = {**call(0), "args": {"q": 1}}
    lines = [*([calm] * before), call(1), call(2), call(3)]
    events = [Event("call", data={k: v for k, v in line.items() if k != "type"}) for line in lines]
    app = opening.replay_app(events, title="file.jsonl", config=config)

    async def look(app: Any, pilot: Any) -> None:
        while app.loading(app.desk.current):
            await pilot.pause(0.02)
        said = [n.message for n in app._notifications]
        assert sum(SAID in message for message in said) == 1

    drive(look, app)
