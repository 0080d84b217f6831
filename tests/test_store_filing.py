"""Calls are found by name before and after they are filed, and each starts and ends once."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.events import Event
from loopguard_core.store import filing, migrations, schema
from loopguard_core.store.contract import Store, Taken
from loopguard_core.store.door import open_store

CALLS = (filing.EVERY + 1) * 2


def start(call: str, tier: str = "allow") -> Event:
    data = {"call": call, "tool": "search", "args": {"q": call}, "verdict": {"tier": tier}}
    return Event("call_start", "s", data=data)


def end(call: str) -> Event:
    return Event("call_end", "s", data={"call": call, "outcome": "ok", "result": call})


def refused(store: Store, event: Event) -> int:
    with pytest.raises(Taken) as taken:
        store.append(event)
    return taken.value.seq


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "events.db"


def paired(place: Path) -> list[tuple[Any, ...]]:
    with sqlite3.connect(place) as db:
        return db.execute(
            "SELECT call, args, outcome, result, tier FROM calls ORDER BY number"
        ).fetchall()


def test_a_call_starts_and_ends_once_filed_or_not(place: Path) -> None:
    """By the writer of the first ones, and by another that knows nothing of them."""
    store, other = open_store(str(place)), open_store(str(place))
    numbers = {}
    for n in range(CALLS):
        began = store.append(start(f"c{n}"))
        numbers[f"c{n}"] = (began, store.append(end(f"c{n}")))
    for call in ("c0", f"c{filing.EVERY}", f"c{CALLS - 1}"):
        for writer in (store, other):
            assert refused(writer, start(call)) == numbers[call][0]
            assert refused(writer, end(call)) == numbers[call][1]
    assert store.last("s") == 2 * CALLS


def test_the_writer_itself_notices_a_second_start_of_an_old_call(place: Path) -> None:
    store = open_store(str(place))
    for n in range(CALLS):
        store.append(start(f"c{n}"))
        if n > 10:
            assert refused(store, start("c3")) == 4
        assert refused(store, start(f"c{n}")) == n + 1


def test_an_end_far_from_its_start_keeps_the_stronger_tier(place: Path) -> None:
    store = open_store(str(place))
    store.append(start("first", "warn"))
    for n in range(CALLS):
        store.append(start(f"c{n}"))
        store.append(end(f"c{n}"))
    store.append(end("first"))
    assert ("first", '{"q":"first"}', "ok", "first", "warn") in paired(place)
    assert store.next_change("s", 2 * CALLS) == 2 * CALLS + 2


def test_what_is_looked_through_stays_short(place: Path) -> None:
    stores = [open_store(str(place)) for _ in range(3)]
    for n in range(CALLS):
        stores[n % 3].append(start(f"c{n}"))
        stores[-n % 3].append(end(f"c{n}"))
        with sqlite3.connect(place) as db:
            (filed,) = db.execute("SELECT filed FROM session").fetchone()
        assert stores[0].last("s") - filed <= filing.EVERY


def test_the_views_pair_calls_that_are_filed_and_that_are_not(place: Path) -> None:
    store = open_store(str(place))
    for n in range(CALLS):
        store.append(start(f"c{n}"))
        if n % 5:
            store.append(end(f"c{n}"))
    expected = [
        (f"c{n}", f'{{"q":"c{n}"}}', "ok" if n % 5 else "pending", f"c{n}" if n % 5 else None)
        for n in range(CALLS)
    ]
    assert [row[:4] for row in paired(place)] == expected


def test_forgotten_calls_are_not_filed_any_more(place: Path) -> None:
    store = open_store(str(place))
    store.extend([start("a"), end("a")])
    store.forget("s")
    with sqlite3.connect(place) as db:
        assert db.execute("SELECT count(*) FROM called").fetchone() == (0,)
    assert store.append(start("a")) == 1


@settings(deadline=None, max_examples=40)
@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from((start, end)),
            st.lists(st.integers(0, 12), min_size=1, max_size=3),
        ),
        max_size=120,
    )
)
def test_whoever_writes_each_call_starts_and_ends_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any]
) -> None:
    """Two writers that append, and one that writes several at once."""
    place = tmp_path_factory.mktemp("filing") / "events.db"
    writers = [open_store(str(place)) for _ in range(3)]
    there: dict[tuple[str, str], int] = {}
    for writer, make, names in steps:
        events = [make(f"c{n}") for n in names]
        if writer == 2:
            writers[2].extend(events)
            for event in events:
                key = (event.type, event.data["call"])
                there.setdefault(key, len(there) + 1)
            continue
        for event in events:
            key = (event.type, event.data["call"])
            if key in there:
                assert refused(writers[writer], event) == there[key]
            else:
                there[key] = writers[writer].append(event)
    assert writers[0].last("s") == len(there)
    for store in writers:
        store.close()


def test_a_file_of_the_first_version_finds_its_calls_by_the_table(place: Path) -> None:
    _, script = migrations.STEPS[0]
    with sqlite3.connect(place) as db:
        for statement in migrations._statements(script):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        db.execute("PRAGMA user_version = 1")
        db.execute("INSERT INTO session (id, name) VALUES (3, 's'), (4, 'empty')")
        for seq, kind in ((1, "call_start"), (2, "call_end"), (3, "call_start")):
            call = "a" if seq < 3 else "b"
            db.execute(
                """INSERT INTO event (id, sid, type, call, tier, calls, worst, level, ended, payload)
                   VALUES (?, 3, ?, ?, 0, ?, 0, 0, 0, ?)""",
                ((3 << 40) + seq, kind, call, 1 + seq // 3, f'{{"args":{seq},"result":{seq}}}'),
            )
    db.close()
    store = open_store(str(place))
    assert refused(store, start("a")) == 1
    assert refused(store, end("a")) == 2
    assert refused(store, start("b")) == 3
    assert store.append(end("b")) == 4
    assert [(row[0], row[2]) for row in paired(place)] == [("a", "pending"), ("b", "ok")]


def test_an_end_that_came_before_its_start_is_the_only_one(place: Path) -> None:
    """Also where the writer that appends the start and the next end knows of no end."""
    for filed in (False, True):
        name = f"filed {filed}"
        store = open_store(str(place))
        events = [end(name), *(start(f"{name} {n}") for n in range(CALLS * filed))]
        for event in events:
            store.append(event)
        for _ in range(3):
            store.append(Event("note", "s", data={"text": "x"}))
        store.append(start(name))
        assert refused(store, end(name)) > 0
        store.close()
