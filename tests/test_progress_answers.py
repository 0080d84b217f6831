"""What ``progress`` reads in answers and arguments."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_core.policies.progress import answers
from loopguard_core.policies.progress.arguments import Tidier
from loopguard_core.policies.progress.commands import field_lines, file_lines, looks_up, slept
from loopguard_core.policies.progress.volatile import read


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ENOENT: no such file or directory, open 'x'", answers.MISSING),
        ("ModuleNotFoundError: No module named 'm'", answers.MISSING),
        ("getaddrinfo ENOTFOUND api.example.org", answers.NETWORK),
        ("connect ECONNREFUSED 127.0.0.1:80", answers.NETWORK),
        ("bash: ./x: Permission denied", answers.PERMISSION),
        ("HTTP 429 Too Many Requests", answers.RATE),
        ("503: upstream is gone", answers.OUTAGE),
        ("HTTP/1.1 502 Bad Gateway", answers.OUTAGE),
        ("Command timed out after 120s", answers.TIMEOUT),
        ("no matching overloaded function for call to f", ""),
        ("m.c:503:7: error: expected ';'\n  503 | int x", ""),
        ("assert quota == 3", ""),
        ("NameError: name 'RetryPolicy' is bad", ""),
        ("Unknown tool: frob", answers.UNKNOWN_TOOL),
        ("Tool  does not exist.", answers.UNKNOWN_TOOL),
        ("InputValidationError: missing required parameter", answers.INVALID),
        ("Permission to use Bash has been denied.", answers.DENIED),
        ("HTTP 404", answers.MISSING),
        ("Error 403: Forbidden", answers.AUTH),
        ("fatal: destination path 'x' already exists", answers.EXISTS),
        ("SyntaxError: unexpected EOF while parsing", answers.SYNTAX),
        ("x" * 900 + " connection reset " + "y" * 900, ""),
    ],
)
def test_the_class_of_a_failure(text: str, kind: str) -> None:
    assert answers.failure_class(text) == kind


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("File not found: notes.txt", "File not found: a/b.md"),
        ("exit 1 at 12:00:01", "exit 1 at 23:59:59"),
        ("crash in 0x7f3a10 (pid 41)", "crash in 0x9bc4d2 (pid 4711)"),
        ("Mon Jan 3 10:00 job failed", "Tue Feb 4 11:30 job failed"),
        ("failed\n[Tool loop warning: repeated; count=2]", "failed"),
        ("1 failed in 0.12s", "1 failed in 3.40s"),
    ],
)
def test_failures_with_one_pattern(one: str, other: str) -> None:
    assert answers.pattern(one) == answers.pattern(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("division by zero", "index out of range"),
        ('Error: "the window frame begins after its own end"', 'Error: "a text is no number here"'),
    ],
)
def test_failures_with_different_patterns(one: str, other: str) -> None:
    assert answers.pattern(one) != answers.pattern(other)


def test_words_of_the_arguments_are_no_part_of_the_pattern() -> None:
    one = answers.pattern("no table users here", ["users"])
    assert one == answers.pattern("no table orders here", ["orders"])


@pytest.mark.parametrize(
    ("text", "empty"),
    [
        ("", True),
        ("[]", True),
        ("None", True),
        ("No files found", True),
        ('{"hits": [], "total": 0}', True),
        ("Your search did not match any documents.", True),
        ("no", False),
        ("1 result: a page", False),
        ("main.c:7: if (no_results) return;", False),
    ],
)
def test_an_empty_answer(text: str, empty: bool) -> None:
    assert answers.is_empty(text) is empty


@pytest.mark.parametrize(
    ("text", "reads", "error"),
    [
        ("Error: no such column: c7", False, True),
        ("Could not find element #b7", False, True),
        ("Answer rejected: tests do not pass", False, True),
        ("404 Not Found", True, True),
        ('{"success": false, "message": "out of stock"}', False, True),
        ('{"isError": true, "content": []}', False, True),
        ('{"id": 7, "status": "failed"}', False, True),
        ('{"id": 7, "status": "failed"}', True, False),
        ("exit code: 1\nModuleNotFoundError: No module named x", False, True),
        ("exit code: 1\n3 files would be reformatted", False, False),
        ("404", False, False),
        ("failed: 2, done: 30", False, False),
        ("Missing heartbeats: 4", False, False),
        ("Error: 404 not found", False, True),
        ("Error: 1 validation error for Cell", False, True),
        ("2 failed, 1 passed", False, False),
        ("rejected", False, True),
        ("The request was fine", False, False),
        ("Error handling in Go: a guide\nto it\nin\nfive\nlines", False, False),
    ],
)
def test_a_success_that_reports_an_error(text: str, reads: bool, error: bool) -> None:
    assert answers.reports_error(text, reads=reads) is error
    assert not answers.reports_error(f"{text}\nand more", file=True)


SAME, TIME, NEWS = "same", "time", "news"


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("running (pid 12)", "running (pid 345)", SAME),
        ("ok, took 12 ms", "ok, took 7 ms", SAME),
        ("done (0.31s)", "done (1.7s)", SAME),
        ("Finished in 0.31 seconds", "Finished in 12.9 seconds", SAME),
        ('{"request_id":"r-1a2b","n":1}', '{"request_id":"r-9c8d","n":1}', SAME),
        ("[read 3 times]", "[read 4 times]", SAME),
        ("at 2026-01-01T00:00:00Z", "at 2026-01-01T00:00:07Z", TIME),
        ("elapsed 30s", "elapsed 60s", TIME),
        ("finished after 3m2s", "finished after 1h0m7s", SAME),
        ("real 0m0.42s", "real 1m3.10s", SAME),
        ("Duration 35ms (setup 12ms)", "Duration 7ms (setup 3ms)", SAME),
        ('{"requestId":"8f3a2b1c","n":1}', '{"requestId":"77ab01cd","n":1}', SAME),
        ('{"executionTimeMs":42}', '{"executionTimeMs":7}', SAME),
        ('{"completion_tokens":42}', '{"completion_tokens":77}', SAME),
        ("[Thread-12] ok", "[Thread-7] ok", SAME),
        ("worker-3 done", "worker-4 done", NEWS),
        ("finished job 101", "finished job 102", NEWS),
        ("107 Nov 30 02:00 f", "207 Nov 30 02:00 f", NEWS),
        ("position 0m3.5s", "position 0m4.5s", NEWS),
        ("(node:4711) Warning: x", "(node:815) Warning: x", SAME),
        ("<Page object at 0x7f3a2b10>", "<Page object at 0x7f99aa00>", SAME),
        ("access_count: 3", "access_count: 4", SAME),
        ('{"uptime":1007}', '{"uptime":2011}', TIME),
        ('{"duration":1.5}', '{"duration":1.7}', TIME),
        ("0x7ffe0000: 0x3f21", "0x7ffe0000: 0x88aa", NEWS),
        ("node 4711 ready", "node 815 ready", NEWS),
        ("line 10", "line 11", NEWS),
        ("done=3", "done=4", NEWS),
        ("12% of it", "13% of it", NEWS),
        ("retry in 30.5s", "retry in 20.5s", NEWS),
        ("[###   ]", "[####  ]", NEWS),
        ("version 1.2.3", "version 1.2.4", NEWS),
    ],
)
def test_what_changes_in_a_success(one: str, other: str, kind: str) -> None:
    a, b = (read(text, reads=True, numbered=False) for text in (one, other))
    found = SAME if a[0] == b[0] else TIME if a[1] == b[1] else NEWS
    assert found == kind


@pytest.mark.parametrize(
    ("args", "tidied"),
    [
        ({"path": "./a//b/../c/"}, {"path": "a/c"}),
        ({"path": "/w/./x"}, {"path": "/w/x"}),
        ({"path": "..\\x"}, {"path": "../x"}),
        ({"n": 1.0, "m": "7", "x": None, "y": "", "z": []}, {"n": 1, "m": 7}),
        ({"zip": "01234"}, {"zip": "01234"}),
        ({"command": " ls  -la ;", "description": "look"}, {"command": "ls -la"}),
        ({"command": "# again\nmake"}, {"command": "make"}),
        ({"list": "home", "description": "milk"}, {"list": "home", "description": "milk"}),
        ({"url": "HTTPS://Example.org/a/#top"}, {"url": "https://example.org/a"}),
        ({"x": {"b": 2.0, "a": None}}, {"x": {"b": 2}}),
        ({"filePath": "./a", "requestId": "7"}, {"filePath": "a"}),
        ({"explanation": "to see"}, {}),
        ({"thought": "hm"}, {"thought": "hm"}),
        ({"url": "https://a.b", "attempt": 3}, {"url": "https://a.b"}),
        ({"student": "s", "attempt": 3}, {"student": "s", "attempt": 3}),
    ],
)
def test_tidied_arguments(args: dict[str, Any], tidied: dict[str, Any]) -> None:
    assert Tidier().tidy(args)[0] == tidied


def test_nothing_is_copied_where_nothing_changes() -> None:
    args = {"path": "a/b", "content": "x" * 500, "n": [1, 2]}
    assert Tidier().tidy(args)[0] is args


def test_identity_and_ignored_fields() -> None:
    assert Tidier(only=("to",)).tidy({"to": "a", "text": "x"})[0] == {"to": "a"}
    assert Tidier(ignored=("timeout",)).tidy({"x": 1, "timeout": 3})[0] == {"x": 1}


def test_what_a_command_says_of_itself() -> None:
    assert slept("sleep 2m && make", {}, False) == (120.0, False)
    assert slept("sleep 5", {}, False) == (5.0, True)
    assert slept("", {"seconds": 30}, True) == (30.0, True)
    assert slept("echo sleepless", {}, False)[0] == 0.0
    assert file_lines("cd /r && sed -n '10,20p' a.c") == ("a.c", 9, 20)
    assert file_lines("head -n 5 ./a.c") == ("a.c", 0, 5)
    assert file_lines("cat a.c b.c") is None
    assert looks_up("grep -rn x src") and looks_up("cd x && rg y") and not looks_up("make")
    assert field_lines({"view_range": [1, 40]}) == (0, 40)
    assert field_lines({"offset": 10, "limit": 5}) == (10, 15)
    assert field_lines({"start_line": 5, "end_line": 2}) is None
    assert field_lines({"startLine": 5, "endLine": 9}) == (5, 10)
    assert field_lines({"path": "x"}) is None
