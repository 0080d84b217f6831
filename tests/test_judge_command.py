"""``judge``: one verdict a call, exit codes for pipelines, wrong input in one line with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from importing import DATA
from processes import console

SEARCH = {"type": "call", "tool": "search", "args": {"q": "x"}, "result": "page", "ok": True}


def lines(*events: dict[str, Any]) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def judge(*args: str, given: str = "") -> tuple[int, str, str]:
    done = console("judge", *args, stdin=given)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_one_object_a_call_and_a_refused_call_is_judged_on() -> None:
    given = lines({"type": "user_message"}, *[SEARCH] * 5)
    code, out, _ = judge("-", "--policy", "graded", "--json", given=given)
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 3
    assert [row["at"] for row in rows] == [1, 2, 3, 4, 5]
    assert [(row["before"], row["after"]) for row in rows] == [
        ("allow", "allow"),
        ("allow", "warn"),
        ("block", None),
        ("halt", None),
        ("halt", None),
    ]
    assert rows[2]["count"] == rows[2]["threshold"] == 3
    assert rows[2]["signature"] == rows[0]["signature"]
    assert set(rows[0]) == {
        "at",
        "before",
        "after",
        "count",
        "threshold",
        "detector",
        "signature",
        "reason",
    }


def test_a_warning_stops_nothing() -> None:
    code, out, _ = judge("-", "--policy", "graded", given=lines(SEARCH, SEARCH))
    assert code == 0
    assert "strongest verdict is warn" in out


def test_options_and_several_policies() -> None:
    given = lines(SEARCH, SEARCH)
    options = '{"window": 4, "threshold": 2}'
    assert judge("-", "--policy", "tool-loop-guard", "--options", options, given=given)[0] == 3
    code, out, _ = judge("-", "--policy", "hermes,tool-loop-guard", "--json", given=given * 2)
    assert code == 3
    assert json.loads(out.splitlines()[-1])["before"] == "halt"


def test_a_split_call_is_placed_at_its_start() -> None:
    start = {"type": "call_start", "call": "c1", "tool": "sh", "args": "ls"}
    end = {"type": "call_end", "call": "c1", "outcome": "error", "result": "no"}
    _, out, _ = judge("-", "--json", given=lines({"type": "assistant_text"}, start, SEARCH, end))
    assert [json.loads(line)["at"] for line in out.splitlines()] == [1, 2]


def test_any_transcript_is_judged() -> None:
    code, out, _ = judge(str(DATA / "claude_code.jsonl"), "--json")
    assert code in (0, 3)
    assert out.count("\n") > 1


@pytest.mark.parametrize(
    ("args", "given", "said"),
    [
        (["-", "--policy", "nobody"], lines(SEARCH), "nobody"),
        (["-", "--options", "{"], lines(SEARCH), "--options: not JSON"),
        (["-", "--options", "[1]"], lines(SEARCH), "a JSON object is needed"),
        (["-", "--policy", "graded", "--options", '{"warn": 1}'], lines(SEARCH), "'warn'"),
        (
            ["-", "--policy", "tool-loop-guard", "--options", '{"window": 4, "threshold": 9}'],
            lines(SEARCH),
            "never",
        ),
        (["-"], lines(SEARCH, SEARCH) + '{"type": "call"\n', "stdin:3: not JSON"),
        (["-"], lines(SEARCH, {"type": "call"}, SEARCH), "stdin:2: call needs the field tool"),
        (["-"], lines(SEARCH, SEARCH) + "[1]\n", "stdin:3: an event is a JSON object"),
        (["-"], lines(SEARCH, {**SEARCH, "ts": "noon"}), "stdin:2: ts is not a number"),
        (["-"], lines(SEARCH, {"type": "gap"}), "stdin:2: gap needs the field count"),
        (["-"], "", "empty"),
        (["missing.jsonl"], "", "missing.jsonl: no such file"),
        (["-", "--no-such-option"], "", "No such option"),
    ],
)
def test_what_cannot_be_judged_is_said_in_one_line(args: list[str], given: str, said: str) -> None:
    code, _, err = judge(*args, given=given)
    assert code == 2
    assert said in err
    assert "Traceback" not in err
    assert err.count("\n") == 1


def test_foreign_text_stays_text_on_its_way_to_the_terminal(tmp_path: Path) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J[bold]\u202e[/]\x9b31m"
    event = {**SEARCH, "tool": f"to{nasty}ol", "args": {nasty: nasty}}
    _, out, err = judge("-", given=lines(*[event] * 4))
    for byte in ("\x1b", "\x07", "\x9b", "\u202e"):
        assert byte not in out + err
    assert "[bold]" in out


def test_a_wrong_policy_name_is_no_fault_of_the_file(tmp_path: Path) -> None:
    config = tmp_path / "loopguard.toml"
    config.write_text('policy = "graded"\n')
    file = str(DATA / "ours.jsonl")
    code, _, err = judge(file, "--config", str(config), "--policy", "bogus")
    assert code == 2 and "--policy: there is no policy 'bogus'" in err
    assert "loopguard.toml" not in err
