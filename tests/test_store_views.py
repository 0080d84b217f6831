"""The views say of what no guard has judged that it has no tier, and when an agent was active."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

import postgres
from commands import command
from loopguard_core.events import Event
from loopguard_core.store.door import open_store

NOW = 1_800_000_000.0


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=postgres.needs)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store with an imported session, a calm one under a guard, and one that was warned in an import."""
    place = str(tmp_path / "e.db") if request.param == "sqlite" else postgres.emptied()
    store = open_store(place)
    for name, start, tier in (
        ("imported", {}, None),
        ("guarded", {"policy": "graded"}, "allow"),
        ("warned", {}, "warn"),
    ):
        verdict = {} if tier is None else {"verdict": {"tier": tier}}
        call: dict[str, Any] = {"call": "c", "tool": "bash", "args": {}}
        store.extend(
            [
                Event("session_start", name, ts=NOW, data=start),
                Event("call_start", name, ts=NOW + 1, data={**call, **verdict}),
                Event("call_end", name, ts=NOW + 2, data={"call": "c", "outcome": "ok"}),
                Event("call_start", name, ts=NOW + 3, data={**call, "call": "d", **verdict}),
                Event("label", name, ts=NOW + 900, data={"on": "c", "text": "was fine"}),
            ]
        )
    store.close()
    return place


def asked(place: str, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    done = command(None, "--store", place, "query", sql, "--json")
    return [tuple(row.values()) for row in done.objects]


def test_what_nobody_judged_has_no_tier(place: str) -> None:
    rows = asked(place, "select session, worst from sessions order by session")
    assert rows == [("guarded", "allow"), ("imported", None), ("warned", "warn")]
    rows = asked(place, "select session, tier from calls order by session, number")
    assert rows == [
        *[("guarded", "allow")] * 2,
        *[("imported", None)] * 2,
        *[("warned", "warn")] * 2,
    ]


def test_last_is_when_the_agent_was_active(place: str) -> None:
    (row,) = asked(place, "select started, last from sessions where session = 'imported'")
    assert (row[0][-6:], row[1][-6:]) == ("00.000", "03.000")


def test_a_file_that_had_the_views_before_gets_them(tmp_path: Path) -> None:
    place = tmp_path / "e.db"
    store = open_store(str(place))
    store.append(Event("session_start", "s", ts=NOW))
    store.close()
    with sqlite3.connect(place) as db:
        db.executescript("DROP VIEW sessions; CREATE VIEW sessions AS SELECT 'allow' AS worst;")
        db.execute("PRAGMA user_version = 3")
    db.close()
    open_store(str(place)).close()
    assert asked(str(place), "select worst, events from sessions") == [(None, 1)]
