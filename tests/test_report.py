"""Reports: what a person who was not there reads, harmless whatever stands in it; a loop as a test."""

from __future__ import annotations

import json
import runpy
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from commands import command

SAMPLES = Path(__file__).parents[1] / "sample_sessions"
LOOP = SAMPLES / "research-loop.jsonl"
NASTY = (
    "</pre><script>alert(1)</script>`````[x](javascript:y)\x1b[2J\u202e|<img src=x onerror=y>\"'"
)


class Page(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.said: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def recording(place: Path, *events: dict[str, Any]) -> str:
    place.write_text("".join(json.dumps(event) + "\n" for event in events))
    return str(place)


@pytest.fixture
def nasty(tmp_path: Path) -> str:
    event = {"type": "call", "tool": NASTY, "args": {NASTY: NASTY}, "result": NASTY, "ok": True}
    start = {"type": "session_start", "agent": NASTY, "policy": "graded", "mode": "observe"}
    return recording(tmp_path / "nasty.jsonl", start, *[event] * 4)


def test_markdown_tells_where_why_and_what(tmp_path: Path) -> None:
    text = command(None, "report", str(LOOP)).out
    assert "The guard stopped the call at call 9 of 15" in text
    assert "block by progress" in text
    assert "· · · A A A A A A" in text
    assert '"query": "quantum computing"' in text
    assert "3 released" in text


def test_another_call_can_be_told_of() -> None:
    text = command(None, "report", str(LOOP), "--call", "6").out
    assert "The guard warned at call 6 of 15" in text
    for wrong in ("0", "16"):
        done = command(None, "report", str(LOOP), "--call", wrong)
        assert (done.code, done.err.count("\n")) == (2, 1)


def test_without_a_verdict_the_longest_run_is_told_of(tmp_path: Path) -> None:
    calls = [{"type": "call", "tool": "t", "args": {"n": n}, "result": n} for n in (1, 2, 3, 3, 4)]
    file = recording(tmp_path / "calm.jsonl", *calls)
    text = command(None, "report", file, "--policy", "dsh").out
    assert "nothing to object to at call 4 of 5" in text


def test_a_page_loads_nothing_and_runs_nothing(nasty: str, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert command(None, "report", nasty, "--as", "html", "-o", str(out)).code == 0
    assert out.stat().st_mode & 0o777 == 0o600
    text = out.read_text()
    page = Page(text)
    assert "script" not in page.tags and "img" not in page.tags
    assert not [name for name in page.attributes if name.startswith("on") or name == "src"]
    assert "alert(1)" in "".join(page.said)
    assert not set("\x1b\u202e") & set(text)
    assert "http" not in text.replace("http-equiv", "")
    assert {"svg", "rect", "dl", "pre"} <= set(page.tags)


def test_nothing_leaves_the_code_of_a_markdown_report(nasty: str) -> None:
    text = command(None, "report", nasty).out
    assert not set("\x1b\u202e") & set(text)
    open_fence = ""
    outside = []
    for line in text.splitlines():
        if not open_fence and line.startswith("```"):
            open_fence = line.removesuffix("text")
        elif open_fence and line == open_fence:
            open_fence = ""
        elif not open_fence:
            outside.append(line)
    assert not open_fence
    for line in outside:
        assert "<script>" not in line.replace("\\<", "") or "`" in line


def test_a_loop_becomes_a_test_that_fails_while_it_is_not_caught(tmp_path: Path) -> None:
    args = ("report", str(LOOP), "--as", "test", "--out", str(tmp_path))
    assert command(None, *args).code == 0
    assert command(None, *args).code == 2
    (test,) = tmp_path.glob("test_loop_*.py")
    (kept,) = tmp_path.glob("loop_*.jsonl")
    assert "ids" not in kept.read_text() and "verdict" not in kept.read_text()
    loop = runpy.run_path(str(test))["test_the_guard_stops_this_loop"]
    (tmp_path / "loopguard.toml").write_text('policy = "progress"\n')
    loop()
    (tmp_path / "loopguard.toml").write_text('policy = "nous"\n')
    with pytest.raises(AssertionError, match="nous lets this loop run"):
        loop()


def test_a_hostile_session_makes_a_test_that_is_python(nasty: str, tmp_path: Path) -> None:
    assert command(None, "report", nasty, "--as", "test", "-o", str(tmp_path)).code == 0
    (test,) = tmp_path.glob("test_loop_*.py")
    compile(test.read_text(), str(test), "exec")


def test_what_cannot_be_reported_is_said(tmp_path: Path) -> None:
    empty = recording(tmp_path / "none.jsonl", {"type": "user_message", "text": "hello"})
    for args, said in (
        (("report", empty), "no call"),
        (("report", str(LOOP), "--session", "nobody"), "no session nobody"),
        (("report", str(LOOP), "--as", "test"), "--out"),
        (("report", str(LOOP), "--as", "test", "-o", str(tmp_path / "x")), "no such folder"),
        (("report", str(LOOP), "-o", str(tmp_path)), "a folder"),
    ):
        done = command(None, *args)
        assert (done.code, done.err.count("\n")) == (2, 1), (args, done)
        assert said in done.err
