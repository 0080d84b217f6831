"""What is kept of a tool and of the names of its arguments never changes what a call is."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loopguard_core.identity import Digester, Payload
from loopguard_core.policies.progress.scheme import ProgressScheme
from loopguard_core.traits import TraitTable

TOOLS = ("read_file", "search", "bash", "run_job", "get_job_status", "send_message", "wait", "sql")
NAMES = (
    *("path", "file", "offset", "limit", "view_range", "query", "pattern", "sql", "command", "cmd"),
    *(
        "description",
        "thought",
        "timeout",
        "to",
        "channel",
        "text",
        "body",
        "seconds",
        "input",
        "x",
    ),
)
VALUES = st.sampled_from(
    ("", " a  b ", "./a//b/", "7", "insert into t values (1)", "sleep 3", "cat x", "1-5", None, 3)
) | st.lists(st.integers(1, 9), max_size=2)
ARGS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4)
DIGESTER = Digester()
TRAITS = TraitTable()


def record(scheme: ProgressScheme, tool: str, args: Any) -> dict[str, Any]:
    return scheme.request(tool, Payload(args, DIGESTER), TRAITS.of(tool))


@given(st.lists(st.tuples(st.sampled_from(TOOLS), ARGS), min_size=2, max_size=12))
def test_a_record_says_the_same_whatever_came_before(calls: list[tuple[str, Any]]) -> None:
    known = ProgressScheme()
    for tool, args in calls:
        for made in (args, dict(reversed(args.items()))):
            assert record(known, tool, made) == record(ProgressScheme(), tool, made)


def test_an_agent_that_makes_up_names_is_read_as_before() -> None:
    known = ProgressScheme()
    for n in range(200):
        args = {f"name{n}": n, "path": "./a", "offset": 5, "limit": 9}
        many = {**{f"name{i}": n for i in range(50)}, **args}
        for made in (args, many):
            found = record(known, "read_file", made)
            assert found == record(ProgressScheme(), "read_file", made)
            assert (found["p"], found["d"], found["g"][1:]) == ("r", "p", [5, 14])


def test_names_that_are_no_texts_name_nothing() -> None:
    args = {1: "a", None: " c ", "path": "x"}
    assert record(ProgressScheme(), "read_file", args)["p"] == "r"
