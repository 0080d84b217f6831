"""Compiled patterns that hook processes leave to each other: the same patterns, from files that may be damaged."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hooks import LAUNCHER, Host
from loopguard_core import patterns
from loopguard_core.hook import kept_patterns
from loopguard_core.hook.kept_patterns import KeptPatterns
from loopguard_core.redaction import apart, known_kinds, known_names, known_secrets, redact
from processes import environment

#: Modules that cost a hook more than they do for it.
SLOW = {"re", "json", "enum", "dataclasses", "typing", "tomllib", "datetime", "_hashlib"}
LOOKED_FOR = (*known_secrets.TOKENS.values(), *known_names.NAMES.values(), known_names.BEARER)
SHAPES = sorted(
    {shape.pattern for shape in LOOKED_FOR}
    | {known_names._VALUE, known_names._LIST, known_names._HEADER, known_kinds._PRIVATE}
    | {apart._MEMBERS, apart._WRAPPED, apart._HEADER, apart._PAIR, apart._MARKUP, patterns.MIXED}
)


@pytest.fixture
def kept(tmp_path: Path) -> KeptPatterns:
    return KeptPatterns({"XDG_STATE_HOME": str(tmp_path)})


def files(folder: Path) -> list[Path]:
    return sorted((folder / "loopguard" / "patterns").iterdir())


@pytest.mark.parametrize("pattern", SHAPES, ids=range(len(SHAPES)))
def test_what_was_kept_is_what_the_compiler_makes(kept: KeptPatterns, pattern: str) -> None:
    assert kept.find(pattern, 0) is None
    made = re.compile(pattern)
    kept.keep(made, 0)
    found = kept.find(pattern, 0)
    assert found == made and found is not made
    assert (found.groups, found.groupindex) == (made.groups, made.groupindex)


def test_no_secret_is_in_a_pattern_that_is_kept(
    kept: KeptPatterns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, "keeper", kept)
    monkeypatch.setattr(patterns, "_made", {})
    text = '{"cmd": "API_KEY=hunter2hunter", "keys": ["hunter2hunter", "x"], "token": ["hunter2hunter", "y"]}'
    assert "hunter2" not in redact.Redactor(b"k")(text)
    assert files(tmp_path)
    assert not any(b"hunter2" in file.read_bytes() for file in files(tmp_path))


def test_flags_tell_patterns_apart(kept: KeptPatterns) -> None:
    kept.keep(re.compile("(?P<word>straße|x)", re.IGNORECASE), re.IGNORECASE)
    assert kept.find("(?P<word>straße|x)", 0) is None
    found = kept.find("(?P<word>straße|x)", re.IGNORECASE)
    assert found is not None and (match := found.fullmatch("STRAßE")) is not None
    assert match["word"] == "STRAßE" and match.lastgroup == "word"
    assert found.sub("<\\g<word>>", "a X") == "a <X>"


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"null", b"[32]", b'[32, "code", 0, {}]', b"[32, [1, 2, 3], 0, {}]", b"\xff"),
        *(b'[32, [1], 0, {"a": 9}]', b"[32, [99999999999], 0, {}]", b"[32, [1], -3, []]"),
    ],
)
def test_a_file_that_holds_no_pattern_is_made_again(
    kept: KeptPatterns, tmp_path: Path, content: bytes
) -> None:
    kept.keep(re.compile("a+"), 0)
    (file,) = files(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    whole = file.read_bytes()
    sealed = kept_patterns._digest(str(file), content) + b"\n" + content
    for damaged in (content, sealed, whole + content):
        file.write_bytes(damaged)
        if damaged != whole:
            assert kept.find("a+", 0) is None
    kept.keep(re.compile("a+"), 0)
    assert kept.find("a+", 0) == re.compile("a+")


def test_no_damage_goes_unnoticed(kept: KeptPatterns, tmp_path: Path) -> None:
    """A secret that a damaged pattern does not find would be written."""
    kept.keep(re.compile("sk-[a-z0-9]{8,}"), 0)
    (file,) = files(tmp_path)
    whole = file.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        for broken in (damaged, whole[:place]):
            file.write_bytes(broken)
            assert kept.find("sk-[a-z0-9]{8,}", 0) is None, place


def test_the_file_of_another_pattern_is_not_taken(kept: KeptPatterns, tmp_path: Path) -> None:
    kept.keep(re.compile("a+"), 0)
    (file,) = files(tmp_path)
    kept.keep(re.compile("b+"), 0)
    (other,) = set(files(tmp_path)) - {file}
    other.write_bytes(file.read_bytes())
    assert kept.find("a+", 0) == re.compile("a+")
    assert kept.find("b+", 0) is None


def test_nothing_is_raised_where_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    nowhere = KeptPatterns({"XDG_STATE_HOME": str(tmp_path / "file")})
    nowhere.keep(re.compile("a"), 0)
    assert nowhere.find("a", 0) is None


def test_a_wrong_pattern_is_said_and_not_kept(
    kept: KeptPatterns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, "keeper", kept)
    monkeypatch.setattr(patterns, "_made", {})
    with pytest.raises(ValueError, match="unterminated"):
        patterns.compiled("[")
    assert patterns.compiled("a|b").fullmatch("b")
    assert len(files(tmp_path)) == 1


def loaded(host: Host, event: str, **fields: object) -> set[str]:
    """The modules that a hook process loads for one event."""
    data = {"session_id": "s1", "cwd": str(host.folder), "hook_event_name": event, **fields}
    argv = [sys.executable, "-I", "-S", "-X", "importtime", str(LAUNCHER)]
    done = subprocess.run(
        [*argv, "--agent", host.agent, "--store", str(host.store)],
        input=json.dumps(data).encode(),
        capture_output=True,
        env=environment(HOME=str(host.folder), XDG_STATE_HOME=str(host.folder)),
        check=True,
        timeout=60,
    )
    lines = [x for x in done.stderr.decode().splitlines() if x.startswith("import time:")]
    assert len(lines) == len(done.stderr.splitlines())
    return {line.rpartition("|")[2].strip() for line in lines}


def call(number: int, command: str) -> dict[str, object]:
    args = {"command": command, "description": "Look at the files"}
    return {"tool_name": "Bash", "tool_input": args, "tool_use_id": f"toolu_{number}"}


@pytest.mark.parametrize("policy", ["progress", "graded", "hermes", "tool-loop-guard"])
def test_a_hook_loads_nothing_slow_for_what_hooks_before_it_saw(
    tmp_path: Path, policy: str
) -> None:
    host = Host(tmp_path, config=f'policy = "{policy}"\nmode = "observe"\n')
    answer = {"tool_response": {"stdout": "3 failed\n{} token=x -u a:b", "stderr": ""}}
    for number in range(3):
        before = loaded(host, "PreToolUse", **call(number, "grep -rn 'API_KEY' src | tail -3"))
        after = loaded(
            host, "PostToolUse", **call(number, "grep -rn 'API_KEY' src | tail -3"), **answer
        )
        if number == 0:
            assert "re" in before | after
    assert not SLOW & (before | after)
