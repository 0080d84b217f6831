"""Reports and tests made from a session: complete, harmless, and able to fail."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from driving import loop, recording
from hostile import BIDI, MARKUP, ORDERS
from loopguard_console.exporting import ExportError, export, picture
from loopguard_console.guards import guard_of
from loopguard_core.config import Config
from loopguard_core.events import Event, decode
from loopguard_core.recording.replay import Recording
from loopguard_core.store.door import open_store
from processes import console, environment


def folded(events: list[Event]) -> Recording:
    return Recording.of(events, guard_of(None, Config({"policy": "graded"})))


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)


def test_reports_show_the_loop_and_nothing_of_an_agent_is_obeyed(tmp_path: Path) -> None:
    tool = "<script>alert(1)</script>" + MARKUP
    events = [
        Event("session_start", "s", data={"agent": "<b>" + ORDERS}),
        *[
            Event(
                "call", "s", data={"tool": tool, "args": {"q": BIDI}, "result": "</pre><img src=x>"}
            )
            for _ in range(4)
        ],
    ]
    for kind in ("html", "markdown"):
        text = export(folded(events), kind, tmp_path)[0].read_text("utf-8")
        assert "first halt" in text and "call 4" in text
        assert "\x1b" not in text and "\u202e" not in text
        if kind == "html":
            tags = Tags()
            tags.feed(text)
            assert not {"script", "img", "b"} & tags.seen
            assert {"svg", "table", "details"} <= tags.seen
        else:
            assert "<script" not in text.replace("\\<", "")


def test_nothing_is_replaced_and_files_are_for_one_user(tmp_path: Path) -> None:
    one, other = (export(folded(loop()), "jsonl", tmp_path)[0] for _ in range(2))
    assert one != other and one.stat().st_mode & 0o777 == 0o600
    again = folded([decode(line) for line in one.read_text("utf-8").splitlines()])
    assert again.tiers == folded(loop()).tiers
    with pytest.raises(ExportError, match="cannot be written"):
        export(folded(loop()), "html", tmp_path / "no such folder")


def test_a_test_finds_its_own_recording_whatever_has_a_name_like_it(tmp_path: Path) -> None:
    first = export(folded(loop()), "test", tmp_path)
    first[0].unlink()
    second = export(folded(loop()), "test", tmp_path)
    assert second[0].with_suffix(".jsonl") == second[1] and second[1] != first[1]


def test_a_test_leaves_out_what_says_nothing(tmp_path: Path) -> None:
    senseless = Event("call_start", "s", data={"call": "lacks its tool"})
    _, data = export(folded([*loop(), senseless]), "test", tmp_path)
    lines = data.read_text("utf-8").splitlines()
    assert [decode(line).type for line in lines] and "lacks" not in data.read_text("utf-8")


def test_the_test_passes_where_the_loop_is_caught_and_fails_where_it_is_not(tmp_path: Path) -> None:
    test, data = export(folded(loop()), "test", tmp_path)
    assert data.stem == test.stem

    said = ""

    def run() -> int:
        nonlocal said
        argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]
        env = environment(PYTEST_ADDOPTS="", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
        done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, check=False)
        said = done.stdout.decode()
        return done.returncode

    config = tmp_path / "loopguard.toml"
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    config.write_text('policy = "graded"\n')
    assert run() == 0
    config.write_text(
        'policy = "graded"\n[policies.graded]\nwarn_at = 50\nblock_at = 60\nhalt_at = 70\n'
    )
    assert run() == 1
    (tmp_path / "own.py").write_text("def match(tool, args):\n    return args['missing']\n")
    tool = decode(data.read_text("utf-8").splitlines()[1]).text("tool")
    config.write_text(f'policy = "graded"\n[policies.graded]\nmatch = {{{tool} = "own:match"}}\n')
    assert run() == 1 and "AssertionError" in said
    assert "failed for a call of" in said


def test_from_the_console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def run() -> None:
        app = recording()
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            await pilot.press("X", "right", "enter")
            await app.workers.wait_for_complete()
            await pilot.pause()

    asyncio.run(run())
    assert [path.suffix for path in tmp_path.iterdir()] == [".md"]


def test_from_the_command_line(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    data = {"call": "1", "tool": "search", "args": {}, "message": "1"}
    store.append(Event("session_start", "mine", ts=1.0, data={"agent": "a"}))
    store.append(Event("call_start", "mine", ts=2.0, data=data))
    store.close()
    env = environment(LOOPGUARD_STORE=str(tmp_path / "events.db"))
    done = console("export", "mine", "--as", "html", "--out", tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert "search" in (tmp_path / "mine.html").read_text("utf-8")
    done = console("export", "mine", "--as", "html", "--out", os.devnull + "/no", env=env)
    assert done.returncode == 2 and b"Traceback" not in done.stderr


def test_a_folder_that_is_not_there_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="its folder is not there; make it, or name another one"):
        picture("<svg/>", tmp_path / "nowhere")
