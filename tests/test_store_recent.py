"""Who was active within a day is forgotten by nobody: not by age, not by size, not where it has ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import postgres
from loopguard_core.events import Event
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store
from loopguard_core.store.memory import MemoryStore
from loopguard_core.store.prune import DAY, carry_out, plan

NOW = 1_000 * DAY


@pytest.fixture(params=["sqlite", "memory", pytest.param("postgres", marks=postgres.needs)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore()
    if request.param == "sqlite":
        made = open_store(str(tmp_path / "events.db"))
    elif request.param == "postgres":
        made = open_store(postgres.emptied())
    yield made
    made.close()


def ended(store: Store, session: str, ago: float, *, late: float | None = None) -> None:
    """A session that ended *ago* seconds ago, with a request that may be approved until *late*."""
    ts = NOW - ago
    store.append(Event("session_start", session, ts=ts))
    if late is not None:
        data = {"call": "c", "tool": "t", "tier": "block"}
        store.append(Event("call_start", session, ts=ts, data=data))
        asked = Event("request_opened", session, ts=ts, data={**data, "late_until": late})
        store.append(asked)
        answer = {"request": asked.text("request"), "resolution": "expired"}
        store.append(Event("request_resolved", session, ts=ts, data=answer))
    store.append(Event("session_end", session, ts=ts))


@pytest.mark.parametrize(("days", "megabytes"), [(0.0, None), (None, 0.0), (0.0, 0.0)])
def test_what_was_active_within_a_day_or_may_be_approved_stays(
    store: Store, days: float | None, megabytes: float | None
) -> None:
    ended(store, "minutes", 120)
    ended(store, "hours", DAY - 60)
    ended(store, "old", DAY + 60)
    ended(store, "late", 3 * DAY, late=NOW + 60)
    ended(store, "too late", 3 * DAY, late=NOW - 60)
    made = plan(store, NOW, days=days, megabytes=megabytes)
    assert {s.session for s in made.in_use} == {"minutes", "hours", "late"}
    assert {g.session.session for g in carry_out(store, made)} == {"old", "too late"}
    assert {s.session for s in store.sessions()} == {"minutes", "hours", "late"}
