"""What every engine of the event store promises."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from math import isfinite
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import postgres
from loopguard_core.events import TYPES, Event
from loopguard_core.store.contract import Request, Session, Stale, Store, StoreError, Taken
from loopguard_core.store.door import open_store
from loopguard_core.store.memory import MemoryStore


@pytest.fixture(params=["sqlite", "memory", pytest.param("postgres", marks=postgres.needs)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore()
    if request.param == "sqlite":
        made = open_store(str(tmp_path / "events.db"))
    elif request.param == "postgres":
        made = open_store(postgres.emptied())
    yield made
    made.close()


def start(call: str, session: str = "s", tier: str = "allow") -> Event:
    data = {"call": call, "tool": "search", "args": {"q": 1}, "ids": {"exact": {"a": "d"}}}
    return Event("call_start", session, ts=1.0, data={**data, "verdict": {"tier": tier}})


def end(call: str, session: str = "s", tier: str | None = None) -> Event:
    data: dict[str, object] = {"call": call, "outcome": "ok", "result": "r"}
    if tier is not None:
        data["verdict"] = {"tier": tier}
    return Event("call_end", session, ts=2.0, data=data)


Plan = list[tuple[str, str, int, str, int]]
plans: st.SearchStrategy[Plan] = st.lists(
    st.tuples(
        st.sampled_from(
            [*TYPES, "call_start", "call_end", "call_start", "call_end", "somebody_elses"]
        ),
        st.sampled_from(["s", "t"]),
        st.integers(0, 3),
        st.sampled_from(["allow", "warn", "block", "halt", "?"]),
        st.integers(-1, 9),
    ),
    max_size=25,
)


def _event(step: tuple[str, str, int, str, int]) -> Event:
    kind, session, n, tier, expect = step
    verdict = {"tier": tier, "signature": f"sig{n}"}
    data: dict[str, object] = {"call": f"c{n}", "tool": "t", "tier": tier, "grant": f"G{n}"}
    if kind == "request_opened":
        data |= {"request": f"R{n}"} if expect % 2 else {}
    else:
        data["request"] = f"R{n}"
    scope = ("tool", "turn", "session", "")[n]
    data |= {"resolution": "approved", "scope": scope, "count": n, "args": [n], "text": "x" * n}
    return Event(kind, session, ts=float(n), data={**data, "verdict": verdict})


def _try(store: Store, step: tuple[str, str, int, str, int]) -> tuple[object, object]:
    event = _event(step)
    try:
        return store.append(event, expect=step[4] if step[4] > 4 else None), event
    except (Stale, Taken) as error:
        return type(error).__name__, getattr(error, "seq", 0)


def _everything(store: Store) -> object:
    names = ["s", "t", "nobody"]
    shown: list[Session | Request] = [
        *store.sessions(),
        *store.requests(),
        *store.requests(pending=True),
    ]
    return (
        [{name: getattr(x, name) for name in x.__slots__} for x in shown],
        [(store.read(s), store.read(s, after=2, limit=3, payloads=False)) for s in names],
        [(store.last(s), store.last_turn(s), store.last_turn(s, before=5)) for s in names],
        [store.standing(s, 7) for s in names],
        [store.unended(s) for s in names],
        [[store.next_change(s, n, back=b) for b in (True, False)] for s in names for n in range(9)],
    )


def test_numbers_run_from_one_without_a_gap_in_each_session(store: Store) -> None:
    assert [store.append(Event("note", s)) for s in "aabab"] == [1, 2, 1, 3, 2]
    assert [e.seq for e in store.read("a")] == [1, 2, 3]
    assert (store.last("a"), store.last("b"), store.last("nobody")) == (3, 2, 0)


def test_what_is_appended_is_read_back_whole(store: Store) -> None:
    events = [start("c1"), end("c1"), Event("theirs", "s", data={"x": [1, {"y": "\ud800 é\x00"}]})]
    for event in events:
        event.seq = store.append(event)
    assert store.read("s") == events


def test_payloads_are_left_out_where_only_the_fold_reads(store: Store) -> None:
    store.append(start("c1"))
    store.append(end("c1"))
    for event in store.read("s", payloads=False):
        assert not {"args", "result"} & set(event.data)
        assert event.data["call"] == "c1"


def test_all_of_a_long_session_is_read_page_by_page(store: Store) -> None:
    texts = [f"note {n}" for n in range(600)]
    store.extend([Event("note", "s", ts=1.0, data={"text": text}) for text in texts])
    store.append(Event("note", "t", ts=1.0, data={"text": "another's"}))
    assert [e.data["text"] for e in store.read_all("s")] == texts
    assert [e.seq for e in store.read_all("s", after=300)] == list(range(301, 601))
    assert list(store.read_all("nobody")) == []
    walk = store.read_all("s")
    next(walk)
    store.append(Event("note", "s", ts=2.0, data={"text": "meanwhile"}))
    assert [e.data["text"] for e in walk][-1] == "meanwhile"


def test_calls_that_have_no_end_are_found_however_long_ago_they_began(store: Store) -> None:
    odd = "\ud800é"
    store.append(start(odd))
    store.append(start("c0", session="other"))
    for n in range(70):  # more than are looked through
        store.append(start(f"c{n}"))
        if n not in (3, 69):
            store.append(end(f"c{n}"))
    found = store.unended("s")
    assert [e.data["call"] for e in found] == [odd, "c3", "c69"]
    assert all("args" not in e.data and e.type == "call_start" for e in found)
    store.append(end("c3"))
    store.append(end(odd))
    store.append(end("early"))  # as another process may write it
    store.append(start("early"))
    assert [e.data["call"] for e in store.unended("s")] == ["c69"]
    store.append(end("long before"))
    for _ in range(70):
        store.append(Event("note", "s"))
    store.append(start("long before"))
    assert [e.data["call"] for e in store.unended("s")] == ["c69"]
    assert store.unended("nobody") == []


def test_an_append_that_expects_another_state_writes_nothing(store: Store) -> None:
    store.append(Event("note", "s"), expect=0)
    with pytest.raises(Stale):
        store.append(Event("note", "s"), expect=0)
    with pytest.raises(Stale):
        store.append(Event("note", "s"), expect=2)
    assert store.append(Event("note", "s"), expect=1) == 2


def test_a_call_starts_and_ends_once(store: Store) -> None:
    assert store.append(start("c1")) == 1
    with pytest.raises(Taken) as taken:
        store.append(start("c1"))
    assert taken.value.seq == 1
    store.append(end("c1"))
    with pytest.raises(Taken):
        store.append(end("c1"))
    assert store.append(start("c1", session="other")) == 1
    assert store.last("s") == 2


def opened(store: Store, call: str, session: str = "s") -> str:
    store.append(start(call, session, "block"))
    event = Event("request_opened", session, ts=3.0, data={"call": call, "tier": "block"})
    store.append(event)
    return event.text("request")


def test_requests_get_short_names_unique_in_the_store(store: Store) -> None:
    names = [opened(store, "c1"), opened(store, "c2", "t"), opened(store, "c3")]
    assert names == ["R1", "R2", "R3"]
    store.append(
        Event("request_opened", "s", data={"call": "c9", "tier": "halt", "request": "R41"})
    )
    assert opened(store, "c4") == "R42"
    assert [r.request for r in store.requests(session="s")] == ["R1", "R3", "R41", "R42"]
    assert [r.request for r in store.requests(session="s", limit=2)] == ["R41", "R42"]
    assert store.requests(limit=0) == []


def test_a_request_is_resolved_once_and_the_second_is_told(store: Store) -> None:
    name = opened(store, "c1")
    answer = Event(
        "request_resolved",
        "s",
        ts=4.0,
        data={"request": name, "resolution": "denied", "by": "own", "note": "no"},
    )
    assert [r.request for r in store.requests(pending=True)] == [name]
    assert store.sessions()[0].waiting == 1
    seq = store.append(answer)
    with pytest.raises(Taken) as taken:
        store.append(answer)
    assert taken.value.seq == seq
    request = store.request(name)
    assert request is not None
    assert (request.resolution, request.by, request.note) == ("denied", "own", "no")
    assert (request.tool, request.args, request.tier) == ("search", {"q": 1}, 2)
    assert store.requests(pending=True) == []
    assert not request.delivered
    store.append(Event("request_delivered", "s", data={"request": name}))
    delivered = store.request(name)
    assert delivered is not None and delivered.delivered
    grant = {"grant": "G1", "scope": "signature", "request": name}
    store.append(Event("grant", "s", data=grant))
    with pytest.raises(Taken):
        store.append(Event("grant", "s", data={**grant, "grant": "G2"}))
    for other in ("G3", "G4"):
        store.append(Event("grant", "s", data={"grant": other, "scope": "session"}))


def test_what_a_person_says_leaves_it_open_when_the_agent_was_active(store: Store) -> None:
    store.append(Event("session_start", "s", ts=1.0))
    request = opened(store, "c1")
    store.append(Event("assistant_text", "other", ts=3.5))
    for number, said in enumerate(("grant", "reset", "label", "note", "halt", "resume"), 4):
        store.append(Event(said, "s", ts=float(number), data={"grant": "G1", "scope": "session"}))
    answer = {"request": request, "resolution": "approved"}
    store.append(Event("request_resolved", "s", ts=99.0, data=answer))
    session = store.session("s")
    assert session is not None and session.last_ts == 3.0
    assert [s.session for s in store.sessions()] == ["other", "s"]
    store.append(Event("request_delivered", "s", ts=100.0, data={"request": request}))
    assert [(s.session, s.last_ts) for s in store.sessions()] == [("s", 100.0), ("other", 3.5)]


def test_sessions_tell_what_stands_in_them(store: Store) -> None:
    data = {"agent": "coder", "cwd": "/w", "pid": 7, "pid_started": "x", "host": "h", "parent": "p"}
    store.append(Event("session_start", "s", ts=1.0, data=data))
    store.append(start("c1", tier="warn"))
    store.append(end("c1"))
    store.append(Event("assistant_text", "later", ts=9.0))
    assert [s.session for s in store.sessions()] == ["later", "s"]
    session = store.session("s")
    assert session is not None
    assert (session.agent, session.cwd, session.pid, session.parent) == ("coder", "/w", 7, "p")
    assert (session.calls, session.worst, session.seq, session.ended) == (1, 1, 3, False)
    assert (session.first_ts, session.last_ts) == (1.0, 2.0)
    store.append(Event("session_end", "s", ts=10.0))
    ended = store.session("s")
    assert ended is not None and ended.ended
    store.append(Event("session_start", "s", ts=11.0, data={"resumed": True}))
    resumed = store.session("s")
    assert resumed is not None and not resumed.ended
    assert store.session("nobody") is None


def test_the_last_turn_is_found_also_before_a_number(store: Store) -> None:
    assert store.last_turn("s") == 0
    store.append(Event("session_start", "s"))
    assert store.last_turn("s") == 0
    store.append(Event("user_message", "s", data={"text": "go"}))
    store.append(start("c1"))
    assert store.last_turn("s") == 1
    store.append(Event("turn_start", "s", data={"reason": "heartbeat"}))
    store.append(Event("user_message", "s", data={"text": "on"}))
    assert store.last_turn("s") == 4
    assert store.last_turn("s", before=5) == 1
    assert store.last_turn("s", before=2) == 0


def test_what_stands_beyond_its_turn_is_found_without_reading_the_session(store: Store) -> None:
    for kind in ("session_start", "note", "halt", "resume", "label"):
        store.append(Event(kind, "s"))
    store.append(Event("grant", "s", data={"grant": "G1", "scope": "session"}))
    store.append(Event("halt", "other"))
    assert [e.type for e in store.standing("s", 6)] == ["session_start", "halt", "resume", "grant"]
    assert [e.seq for e in store.standing("s", 3)] == [1, 3]


def test_tier_changes_are_found_in_both_directions(store: Store) -> None:
    tiers = ["allow", "allow", "warn", "warn", "allow"]
    for i, tier in enumerate(tiers):
        store.append(start(f"c{i}", tier=tier))
        store.append(end(f"c{i}", tier="block" if i == 1 else None))
    found, seq = [], 0
    while seq := store.next_change("s", seq):
        found.append(seq)
    # c1 ends with block (4); c2 starts weaker, ends with warn (6); c4 ends with allow (10)
    assert found == [4, 6, 10]
    assert store.next_change("s", 10, back=True) == 6
    assert store.next_change("s", 4, back=True) == 0
    assert store.next_change("nobody", 0) == 0


def test_calls_are_counted_up_to_an_event(store: Store) -> None:
    for session, call in (("s", "c1"), ("t", "c1"), ("s", "c2")):
        store.append(Event("user_message", session, data={"text": "go"}))
        data = {"call": call, "tool": "t", "args": {}}
        store.append(Event("call_start", session, data=data))
    assert [store.calls_upto("s", seq) for seq in (1, 2, 3, 4)] == [0, 1, 1, 2]
    assert store.calls_upto("nobody", 3) == 0


def test_gaps_are_found_in_a_part_of_a_log(store: Store) -> None:
    store.append(start("c0"))
    for count in (3, 0, 4):
        store.append(Event("gap", "s", data={"count": count, "reason": "full"}))
    store.append(Event("gap", "other", data={"count": 1, "reason": "full"}))
    assert [e.data["count"] for e in store.gaps("s", 0, 99)] == [3, 0, 4]
    assert [e.seq for e in store.gaps("s", 2, 3)] == [3]
    assert store.gaps("s", 3, 3) == store.gaps("nobody", 0, 9) == []


def test_consoles_are_attached_while_they_beat(store: Store) -> None:
    assert list(store.attached(100.0)) == []
    store.beat(100.0)
    assert len(store.attached(109.0)) == 1
    assert list(store.attached(111.0)) == []


def test_a_waiter_is_woken_by_a_write_and_not_without_one(store: Store) -> None:
    store.changed(0)
    assert store.changed(0.05) is False
    threading.Timer(0.1, store.append, (Event("note", "s"),)).start()
    began = time.monotonic()
    assert store.changed(30)
    assert time.monotonic() - began < 20


def test_one_of_many_racing_answers_wins(store: Store) -> None:
    names = [opened(store, f"c{i}") for i in range(20)]
    won: list[str] = []

    def answer(who: str) -> None:
        for name in names:
            data = {"request": name, "resolution": "approved", "by": who}
            with contextlib.suppress(Taken):
                store.append(Event("request_resolved", "s", data=data))
                won.append(name)

    threads = [threading.Thread(target=answer, args=(who,)) for who in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == sorted(names)


def _agree(plan: Plan, place: str) -> None:
    """Whatever is appended, the store at *place* answers every question as the one in memory does."""
    memory, store = MemoryStore(), open_store(place)
    assert [_try(store, step) for step in plan] == [_try(memory, step) for step in plan]
    assert _everything(store) == _everything(memory)
    store.close()


@settings(max_examples=60, deadline=None)
@given(plans)
def test_engines_agree_on_everything(tmp_path_factory: pytest.TempPathFactory, plan: Plan) -> None:
    _agree(plan, str(tmp_path_factory.mktemp("s") / "events.db"))


@postgres.needs
@settings(max_examples=25, deadline=None)
@given(plans)
def test_postgres_agrees_on_everything(plan: Plan) -> None:
    _agree(plan, postgres.emptied())


def test_many_at_once_pass_over_what_is_there(store: Store) -> None:
    store.append(start("c1"))
    assert store.extend([start("c1"), end("c1"), start("c2"), Event("note", "t")]) == 3
    assert (store.last("s"), store.last("t")) == (3, 1)


def test_many_that_were_made_ready_are_written_when_it_is_asked_for(store: Store) -> None:
    first = store.prepare([start("c1"), end("c1")])
    second = store.prepare([start("c1"), start("c2")])
    assert store.last("s") == 0
    assert (first(), second(), store.last("s")) == (2, 1, 3)


@pytest.mark.parametrize("named", [False, True])
def test_many_that_expect_a_state_are_all_appended_or_none(store: Store, named: bool) -> None:
    """With an event about a request among them, and without."""
    store.append(start("c1"))
    asked = [Event("request_opened", "s", data={"request": "R7", "call": "c2", "tier": "block"})]
    batch = [end("c1"), start("c2"), *(asked if named else [])]
    for wrong in (0, 2):
        with pytest.raises(Stale):
            store.extend(batch, expect=wrong)
    with pytest.raises(Taken):
        store.extend([*batch, start("c1")], expect=1)
    assert (store.last("s"), store.requests()) == (1, [])
    assert store.extend(batch, expect=1) == len(batch)
    assert [e.seq for e in store.read("s")] == [*range(1, 2 + len(batch))]
    assert store.append(Event("note", "s"), expect=1 + len(batch)) == 2 + len(batch)
    assert store.extend([start("c1", "new")], expect=0) == 1


def test_a_forgotten_session_leaves_nothing_and_names_are_not_given_again(store: Store) -> None:
    for session in "st":
        opened(store, "c1", session)
        store.append(
            Event("call_end", session, data={"call": "c1", "outcome": "ok", "result": "x" * 9_000})
        )
    before, weight = store.size(), store.size("s")
    assert weight > 0
    assert store.forget("s") == 3
    assert (store.session("s"), store.read("s"), store.size("s")) == (None, [], 0)
    assert [r.request for r in store.requests()] == ["R2"]
    assert store.read("t")[-1].data["result"] == "x" * 9_000
    assert store.size() <= before
    assert store.forget("s") == 0
    assert opened(store, "c1", "s") == "R3"


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    with pytest.raises(StoreError):
        store.append(Event("note", "s"))


@pytest.mark.parametrize("ts", [float("nan"), float("inf"), -1e300, 1e18])
def test_a_time_that_no_calendar_has_harms_nobody(store: Store, ts: float) -> None:
    store.append(Event("note", "s", ts=ts))
    store.extend([Event("note", "s", ts=ts)])
    store.append(Event("note", "other", ts=1.0))
    times = [event.ts for event in store.read("s")]
    assert times == ([ts, ts] if isfinite(ts) else [None, None])
    assert {session.session for session in store.sessions()} == {"s", "other"}


def halted(store: Store) -> tuple[str, str, int, float | None]:
    known = store.session("s")
    assert known is not None
    listed = {s.session: s for s in store.sessions()}["s"]
    assert [getattr(known, n) == getattr(listed, n) for n in known.__slots__] == [True] * len(
        known.__slots__
    )
    return known.halted, known.halted_by, known.halted_seq, known.halted_ts


def said(store: Store, type: str, by: str = "you@desk", **data: object) -> int:
    return store.append(Event(type, "s", ts=7.0, data={**data, "by": by}))


NOT_HALTED = ("", "", 0, None)


@pytest.mark.parametrize(
    ("scope", "word", "holds"),
    [
        ("turn", ("user_message", ""), False),
        ("turn", ("resume", ""), False),
        ("turn", ("reset", "session"), False),
        ("turn", ("reset", ""), False),
        ("turn", ("reset", "tool"), True),
        ("turn", ("turn_start", ""), True),
        ("turn", ("session_start", ""), True),
        ("turn", ("session_end", ""), True),
        ("session", ("user_message", ""), True),
        ("session", ("reset", "session"), True),
        ("session", ("resume", ""), False),
    ],
)
def test_a_session_says_that_a_human_halted_it_for_as_long_as_that_holds(
    store: Store, scope: str, word: tuple[str, str], holds: bool
) -> None:
    store.append(start("c1"))
    assert halted(store) == NOT_HALTED
    seq = said(store, "halt", scope=scope)
    store.append(start("c2"))
    held = (scope, "you@desk", seq, 7.0)
    assert halted(store) == held
    said(store, word[0], **({"scope": word[1]} if word[1] else {}))
    assert halted(store) == (held if holds else NOT_HALTED)


def test_a_halt_of_the_turn_does_not_shorten_that_of_the_session(store: Store) -> None:
    seq = said(store, "halt", scope="session")
    said(store, "halt", by="usr@desk", scope="turn")
    assert halted(store) == ("session", "you@desk", seq, 7.0)
    said(store, "user_message", text="go on")
    assert halted(store)[0] == "session"
    said(store, "resume")
    assert halted(store) == NOT_HALTED
