"""Any number may be asked for, and any time may be appended: no engine has bounds of its own that show."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import postgres
from loopguard_core.events import Event, decode, encode, time_of
from loopguard_core.identity import Digester
from loopguard_core.importers.door import open_stream
from loopguard_core.importers.storing import StoreWriter
from loopguard_core.store.contract import LAST_NUMBER, Stale, Store
from loopguard_core.store.door import open_store
from loopguard_core.store.export import export, export_lines
from loopguard_core.store.memory import MemoryStore
from loopguard_core.store.search import open_index
from loopguard_core.store.spool import Spool

EDGES = [10**30, 2**64, 2**63, 2**63 - 1, 2**62, LAST_NUMBER + 1, LAST_NUMBER, 2**32, 2**31]
NUMBERS = [*EDGES, *(-n for n in EDGES), -3, -1, 0, 1, 2, 5, 9]
ENGINES = ["sqlite", "memory", "spool", pytest.param("postgres", marks=postgres.needs)]


def opened(engine: str, folder: Path) -> Store:
    if engine == "memory":
        return MemoryStore()
    if engine == "spool":
        return Spool(str(folder / "spool.db"))
    return open_store(postgres.emptied() if engine == "postgres" else str(folder / "events.db"))


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store with a session between two others: what lies beyond it is theirs."""
    with closing(opened(request.param, tmp_path)) as made:
        for session in ("before", "s", "after"):
            made.append(Event("session_start", session, ts=1.0))
            made.append(Event("user_message", session, ts=2.0, data={"text": "go"}))
            for tier in ("warn", "allow"):
                data = {"call": tier, "tool": "ls", "verdict": {"tier": tier}}
                made.append(Event("call_start", session, ts=3.0, data=data))
                made.append(Event("call_end", session, data={"call": tier, "outcome": "ok"}))
            made.append(Event("halt", session, ts=4.0))
            made.append(Event("gap", session, ts=4.0, data={"count": 1}))
            made.append(
                Event("request_opened", session, data={"call": "warn", "tier": "warn", "pid": 7})
            )
        yield made


@pytest.mark.parametrize("n", NUMBERS)
def test_a_number_beyond_the_log_finds_what_is_there(store: Store, n: int) -> None:
    log = store.read("s")
    assert [e.seq for e in log] == list(range(1, 10))
    most = log[: min(max(n, 0), 99)]
    assert store.read("s", after=n) == [e for e in log if e.seq > n]
    assert store.read("s", limit=n) == most
    assert store.read("s", after=-1, limit=n) == most
    assert store.read("s", after=n, limit=2) == [e for e in log if e.seq > n][:2]
    assert [*store.read_all("s", after=n)] == [e for e in log if e.seq > n]
    assert [e.seq for e in store.standing("s", n)] == [q for q in (1, 7) if q <= n]
    assert store.last_turn("s", before=n) == (1 if n > 2 else 0)
    changes = [q for q in (3, 6) if q > n]
    assert store.next_change("s", n) == min(changes, default=0)
    assert store.next_change("s", n, back=True) == max((q for q in (3, 6) if q < n), default=0)
    assert [e.seq for e in store.gaps("s", n, 99)] == [q for q in (8,) if q > n]
    assert [e.seq for e in store.gaps("s", 0, n)] == [q for q in (8,) if q <= n]
    assert [e.seq for e in store.gaps("s", -3, n)] == [q for q in (8,) if q <= n]
    assert [e.seq for e in store.gaps("s", n, 5)] == []
    asked = store.requests()
    assert [r.request for r in store.requests(limit=n)] == [
        r.request for r in asked[max(0, 3 - max(n, 0)) :]
    ]


@pytest.mark.parametrize("n", [n for n in NUMBERS if n != 9])
def test_nothing_is_appended_after_a_number_at_which_no_log_ends(store: Store, n: int) -> None:
    for session in ("s", "new"):
        if session == "s" or n:
            with pytest.raises(Stale):
                store.append(Event("note", session), expect=n)
            with pytest.raises(Stale):
                store.extend([Event("note", session), Event("note", session)], expect=n)
            opened = Event("request_opened", session, data={"call": "c", "tier": "warn"})
            with pytest.raises(Stale):
                store.append(opened, expect=n)
    assert (store.last("s"), store.last("new"), len(store.requests())) == (9, 0, 3)


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=postgres.needs)])
def test_a_search_gives_at_most_as_many_as_one_wants(engine: str, tmp_path: Path) -> None:
    with closing(opened(engine, tmp_path)) as store:
        store.extend([Event("note", "s", data={"text": f"word {n}"}) for n in range(3)])
        with closing(open_index(store)) as index:
            while not index.update(9.0):
                pass
            found = [len(index.search("word", limit=n)) for n in NUMBERS]
    assert found == [min(max(n, 0), 3) for n in NUMBERS]


times = st.one_of(
    st.none(),
    st.floats(),
    st.integers(),
    st.sampled_from([math.inf, -math.inf, math.nan, 10**30, -(10**30), 10**400, 1e300, 1.7e308]),
    st.sampled_from([True, "noon", "1", b"1", [1.0], {}, 1j]),
)


@st.composite
def odd_logs(draw: st.DrawFn) -> list[Event]:
    """A log whose writer does not look at what a field takes."""
    odd = times | st.booleans() | st.text(max_size=3)
    events = []
    for n in range(draw(st.integers(1, 4))):
        call = {"call": f"c{n}", "tool": "ls", "dt": draw(odd), "traits": draw(odd)}
        events.append(Event("call_start", data={**call, "args": draw(odd), "ids": draw(odd)}))
        end = {"call": f"c{n}", "outcome": "ok", "duration": draw(odd), "host_spans": draw(odd)}
        events.append(Event("call_end", data={**end, "result": draw(odd), "verdict": draw(odd)}))
        grant = {"grant": f"G{n}", "scope": "tool", "expires": draw(odd), "budget": draw(odd)}
        events.append(Event("grant", data=grant))
        events.append(Event("theirs", data={"duration": draw(odd), "x": draw(odd)}))
    for event in events:
        event.session = "s"
        event.ts = draw(times)  # type: ignore[assignment]
        if time_of(event.ts) is None:
            event.data.pop("dt", None)  # which would stand for it
    return events


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(odd_logs(), st.booleans())
def test_whatever_was_appended_survives_export_and_import(
    tmp_path_factory: pytest.TempPathFactory, log: list[Event], at_once: bool
) -> None:
    folder = tmp_path_factory.mktemp("x")
    with (
        closing(open_store(str(folder / "one.db"))) as first,
        closing(open_store(str(folder / "two.db"))) as second,
    ):
        if at_once:
            first.extend(log)
        else:
            for event in log:
                first.append(event)
        file = folder / "events.jsonl"
        file.write_text("".join(export_lines(first)), encoding="utf-8")
        with open_stream(file) as stream:
            StoreWriter(second, Digester(b"another key")).add_all(stream)
            assert not stream.report.unknown
        assert [_told(e) for e in export(second)] == [_told(e) for e in export(first)]


def _told(event: Event) -> object:
    """*event* as it is exported, but for the records that an import makes where a call has none."""
    return {name: value for name, value in json.loads(encode(event)).items() if name != "ids"}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("ts", "kept"),
    [
        (math.inf, None),
        (-math.inf, None),
        (math.nan, None),
        (1.7e308, None),
        (10**400, None),
        ("noon", None),
        (True, None),
        (10**30, 1e30),
        (7, 7.0),
        (-1e300, -1e300),
        (0.0, 0.0),
    ],
)
def test_a_time_that_is_no_number_is_unknown_and_the_rest_kept(
    engine: str, ts: float, kept: float | None, tmp_path: Path
) -> None:
    with closing(opened(engine, tmp_path)) as store:
        store.append(Event("note", "s", ts=ts, data={"text": "here"}))
        store.extend([Event("note", "s", ts=ts, data={"text": "here"})])
        asked = Event("request_opened", "s", ts=ts, data={"call": "c", "tier": "block"})
        store.append(asked)
        read = store.read("s")
        assert [e.ts for e in read] == [kept] * 3
        assert [e.text("text") for e in read] == ["here", "here", ""]
        assert [decode(encode(e)).ts for e in read] == [kept] * 3
        assert [s.session for s in store.sessions()] == ["s"]
