"""What is known of a tool: configuration, then MCP annotations, then tables, then words."""

from __future__ import annotations

import subprocess
import sys

import pytest

from loopguard_core.traits import Traits, TraitTable


@pytest.mark.parametrize(
    ("tool", "flag", "value"),
    [
        ("Read", "readonly", True),
        ("Write", "mutating", True),
        ("TodoWrite", "bookkeeping", True),
        ("update_plan", "bookkeeping", True),
        ("write_stdin", "poller", True),
        ("write_stdin", "mutating", None),
        ("Bash", "readonly", None),
        ("Bash", "mutating", None),
        ("mcp__docs__search_pages", "readonly", True),
        ("mcp__github__create_issue", "mutating", True),
        ("mcp_filesystem_read_text_file", "readonly", True),
        ("getJobStatus", "poller", True),
        ("get_update_status", "mutating", False),
        ("update_status", "mutating", True),
        ("deploy_status", "poller", True),
        ("wait_for_deploy", "poller", True),
        ("wait_for_deploy", "mutating", False),
        ("deploy_status", "mutating", False),
        ("order_progress", "poller", True),
        ("search_and_replace", "mutating", True),
        ("find_replace", "mutating", True),
        ("plan_route", "bookkeeping", None),
        ("sequentialthinking", "bookkeeping", True),
        ("note", "bookkeeping", True),
        ("notes", "bookkeeping", None),
        ("frobnicate", "readonly", None),
        ("", "readonly", None),
    ],
)
def test_built_in_tables_and_words(tool: str, flag: str, value: bool | None) -> None:
    assert getattr(TraitTable().of(tool), flag) is value


def test_configuration_wins_over_annotations_over_tables() -> None:
    table = TraitTable({"Read": Traits(mutating=True, source="config")})
    assert table.of("Read", {"readOnlyHint": True}).mutating is True
    assert table.of("Read").source == "config"
    assert TraitTable().of("Read", {"readOnlyHint": False}).readonly is False
    assert TraitTable().of("frobnicate", {"readOnlyHint": True}).source == "mcp"


def test_a_partial_declaration_is_filled_in() -> None:
    table = TraitTable({"get_job": Traits(poller=True, source="config")})
    traits = table.of("get_job")
    assert traits.poller and traits.readonly and traits.source == "config"


def test_annotations_that_are_no_booleans_say_nothing() -> None:
    assert TraitTable().of("get_x", {"readOnlyHint": "no", "title": 3}).readonly is True
    assert TraitTable().of("x", {"destructiveHint": True}).mutating is True
    assert TraitTable().of("x", {"readOnlyHint": True, "destructiveHint": True}).mutating is False


def test_the_same_question_gives_the_same_object() -> None:
    table = TraitTable()
    assert table.of("get_x") is table.of("get_x")
    assert table.of("get_x", {"readOnlyHint": False}) is not table.of("get_x")


def test_looking_up_brings_no_heavy_module() -> None:
    code = (
        "import sys; import loopguard_core.traits;"
        "print([m for m in ('typing', 'dataclasses', 'json', 'sqlite3') if m in sys.modules])"
    )
    path = ":".join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": path},
        check=True,
    )
    assert done.stdout.strip() == "[]"
