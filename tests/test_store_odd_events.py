"""Whatever an event says in whatever field: every engine keeps it, and answers alike."""

from __future__ import annotations

import copy
from contextlib import closing
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import postgres
from loopguard_core.events import TYPES, Event
from loopguard_core.store.contract import Request, Session, Stale, Store, Taken
from loopguard_core.store.door import open_store
from loopguard_core.store.memory import MemoryStore

SESSIONS = ["s", "S", "s ", "s\n", "é", "é", "%", "_", "R1", "\x1fforgotten:ab"]
NAMES = [
    "",
    "R1",
    "R7",
    "R07",
    "R0",
    "R-1",
    "r7",
    "R٣",
    "R99999999999",
    "c",
    "c ",
    "é",
    "\ufeffc",
    "\ud800",
]
FIELDS = """call request tool verdict args result text outcome resolution scope tier grant pid host count deadline
late_until agent parent name on budget expires duration message ids policy by note key traits signature cut redacted
damaged spooled cause seen unanswered user""".split()
values: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([None, True, False, 0, -1, 7, 2**31, 10**30, 1.5, [], {}, ["a"], {"b": 1}]),
    st.sampled_from([{"tier": "warn"}, {"tier": ["x"]}, {"tier": "halt", "source": "o"}]),
    st.sampled_from(["session", "turn", "approved", "\ud800", "halt"]),
    st.sampled_from(NAMES),
)


@st.composite
def events(draw: st.DrawFn) -> Event:
    kind = draw(st.sampled_from([*TYPES, *["call_start", "call_end", "request_opened"] * 3]))
    data = draw(st.dictionaries(st.sampled_from(FIELDS), values, max_size=7))
    for name in ("call", "tool", "request"):
        if draw(st.booleans()):
            data[name] = draw(st.sampled_from(NAMES))
    ts = draw(st.sampled_from([None, 1.0, 5.0, -1e300, 2e9]))
    return Event(kind, draw(st.sampled_from(SESSIONS)), ts=ts, data=data)


logs = st.tuples(st.booleans(), st.lists(events(), max_size=12))


def _append(store: Store, at_once: bool, log: list[Event]) -> list[object]:
    """What came of appending *log*; with the names that were given."""
    own = copy.deepcopy(log)
    if at_once:
        return [store.extend(own)]
    out: list[object] = []
    for event in own:
        try:
            out.append((store.append(event), event.data.get("request")))
        except (Stale, Taken) as error:
            out.append((type(error).__name__, getattr(error, "seq", 0)))
    return out


def _fields(shown: list[Any]) -> list[dict[str, Any]]:
    return [{name: getattr(each, name) for name in each.__slots__} for each in shown]


def _answers(store: Store) -> dict[object, object]:
    """Every answer; of sessions without an order, since who is as late as another may come before or after."""
    sessions: list[Session] = sorted(store.sessions(), key=lambda s: s.session)
    requests: list[Request] = store.requests()
    out: dict[object, object] = {"sessions": _fields(sessions), "requests": _fields(requests)}
    out["pending"] = [r.request for r in store.requests(pending=True)]
    for name in SESSIONS:
        out["whole", name], out["lean", name] = store.read(name), store.read(name, payloads=False)
        out["open", name], out["standing", name] = store.unended(name), store.standing(name, 99)
        out["of", name] = [r.request for r in store.requests(session=name)]
        out["marks", name] = store.last(name), store.last_turn(name), store.gaps(name, 0, 99)
        out["changes", name] = [store.next_change(name, n, back=n < 0) for n in range(-5, 5)]
    out["each"] = [known and _fields([known]) for known in map(store.request, NAMES)]
    return out


def _agree(place: str, log: tuple[bool, list[Event]]) -> None:
    with closing(MemoryStore()) as memory, closing(open_store(place)) as store:
        assert _append(store, *log) == _append(memory, *log)
        ours, theirs = _answers(memory), _answers(store)
        for question, answer in ours.items():
            assert theirs[question] == answer, question


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(logs)
def test_engines_agree(
    tmp_path_factory: pytest.TempPathFactory, log: tuple[bool, list[Event]]
) -> None:
    _agree(str(tmp_path_factory.mktemp("s") / "events.db"), log)


@postgres.needs
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a server is too slow to shrink with
)
@given(logs)
def test_postgres_agrees(log: tuple[bool, list[Event]]) -> None:
    _agree(postgres.emptied(), log)


@pytest.mark.parametrize(
    "engine", ["memory", "sqlite", pytest.param("postgres", marks=postgres.needs)]
)
@pytest.mark.parametrize("name", ["", None, 7, ["R7"]])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_request_without_a_name_is_called_so_in_its_log(
    engine: str, name: object, at_once: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("s")
    made = open_store(postgres.emptied()) if engine == "postgres" else MemoryStore()
    with closing(open_store(str(folder / "e.db")) if engine == "sqlite" else made) as store:
        asked = Event("request_opened", "s", data={"request": name, "call": "c", "tier": "block"})
        _append(store, at_once, [asked])
        (read,) = store.read("s")
        assert (read.text("request"), [r.request for r in store.requests()]) == ("R1", ["R1"])
