"""A secret that one hook met is known to the next, which never sees it: by its length and a keyed digest."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from hooks import Host
from loopguard_core.events import dump
from loopguard_core.redaction.redact import MARK, Redactor
from loopguard_core.store.door import open_store

SECRET = "hunter2hunter"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Host(tmp_path)


def state(host: Host) -> list[Path]:
    return sorted(host.folder.rglob("remembered/*"))


def texts(host: Host) -> str:
    store = open_store(str(host.store))
    try:
        return " ".join(dump(e.data) for s in store.sessions() for e in store.read(s.session))
    finally:
        store.close()


def test_the_next_hook_knows_a_secret_without_its_name(host: Host) -> None:
    host.before(f"export API_KEY={SECRET}")
    host.send("PostToolUse", **host._tool(f"export API_KEY={SECRET}"), tool_response="")
    host.before("echo $API_KEY")
    host.send("PostToolUse", **host._tool("echo $API_KEY"), tool_response={"stdout": f"{SECRET}\n"})
    told = texts(host)
    assert SECRET not in told
    marks = {told[at : at + 23] for at in range(len(told)) if told.startswith(MARK, at)}
    assert len(marks) == 1, "equal secrets look equal"
    for file in host.folder.rglob("*"):
        assert file.is_dir() or SECRET.encode() not in file.read_bytes(), file
    assert len(state(host)) == 1 and state(host)[0].stat().st_mode & 0o777 == 0o600


def test_it_is_forgotten_with_its_session_and_no_other_knows_it(host: Host) -> None:
    host.before(f"export API_KEY={SECRET}")
    host.before(f"echo {SECRET}", session_id="s2")
    assert SECRET in texts(host), "another session"
    assert len(state(host)) == 1
    host.send("SessionEnd", reason="exit")
    assert state(host) == []


def test_what_is_damaged_there_is_not_used(host: Host) -> None:
    host.before(f"export API_KEY={SECRET}")
    (file,) = state(host)
    for n, content in enumerate(
        (b"", b"\xff", b"x:y", b"13", b"-1:ab 0:cd 99999999999999999999:ef")
    ):
        file.write_bytes(content)
        said = host.before(f"echo plain words {n}")
        assert said.code == 0 and not said.err
    assert "plain words" in texts(host)


def test_most_sessions_leave_nothing(host: Host) -> None:
    host.before("ls")
    host.before("password=correct ls")  # a word like any other
    assert state(host) == [] and "password=correct" not in texts(host)


def test_a_word_is_found_by_its_digest_wherever_one_begins_and_ends() -> None:
    first = Redactor(b"k")
    first(dump({"password": SECRET, "token": "q7k9x2b4c6d8"}))
    second = Redactor(b"k")
    second.recall(first.met())
    for around in ("{}", "({})", "a\n{}\nb", "x={}", '"{}"', "user:{}@host", "\t{}"):
        for text in (around.format(SECRET), json.dumps([around.format(SECRET)])):
            clean = second(dump({"a": text}))
            assert SECRET not in clean and first.marker(SECRET) in clean, around
    for text in (f"x{SECRET}", f"{SECRET}s", SECRET[:-1], SECRET.upper()):
        assert second(dump(text)) == dump(text)
    other = Redactor(b"other")
    other.recall(first.met())
    assert SECRET in other(dump(SECRET)), "another machine's key"


def test_what_a_hook_knows_is_passed_on_and_the_oldest_go() -> None:
    known = Redactor(b"k")
    known.recall([(n, f"{n:012x}") for n in range(10, 30)])
    assert len(known.met()) == 16 and known.met()[-1] == (29, f"{29:012x}")
    known(dump({"password": SECRET}))
    assert known.met()[-1][0] == len(SECRET) and len(known.met()) == 16


def test_no_text_makes_that_slow() -> None:
    redact = Redactor(b"k")
    redact.recall([(n, "0" * 12) for n in range(8, 24)])
    for piece in ("a", "word123456 ", "a-", "\n", "a1b2c3d4-"):
        text = dump({"result": piece * (300_000 // len(piece))})
        before = time.process_time()
        redact(text)
        assert time.process_time() - before < 4
