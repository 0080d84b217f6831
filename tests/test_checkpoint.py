"""A guard from a checkpoint is the guard that lived, and a checkpoint that does not fit is not used."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from copy import copy, deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from loopguard_core import checkpoint
from loopguard_core.config import Config
from loopguard_core.events import decode, encode
from loopguard_core.freezing import Unfreezable, freeze, thaw
from loopguard_core.later import Later
from loopguard_core.policies import registry
from loopguard_core.session import journal
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import Store
from loopguard_core.verdict import Tier, Verdict
from play_scripts import perform, scripts, state
from plays import Play, fresh
from sessions import GRADED, call, store_in

MANY = 200


@pytest.mark.parametrize("policy", [*registry.names(), "nous+dsh"])
@given(script=scripts)
@settings(max_examples=25, deadline=None)
def test_a_guard_that_was_kept_is_the_guard_that_lived(
    policy: str, script: list[tuple[Any, ...]]
) -> None:
    def made() -> Any:
        return fresh(policy.split("+") if "+" in policy else policy)

    session = Play(made())
    log = list(perform(session, script))
    again = made()
    again.load(session.guard.dump())
    assert state(again) == state(session.guard)
    for event in perform(session, script[::-1])[len(log) :]:
        copy = decode(encode(event))
        verdict = again.apply(copy)
        assert (None if verdict is None else verdict.to_json()) == copy.data.get("verdict")


def test_objects_and_containers_come_back() -> None:
    value = {
        "a": (1, 2.5, None, True),
        "d": deque(["x"], maxlen=3),
        "s": {("t", 1)},
        "v": Verdict(Tier.BLOCK, "p", count=3),
        "t": Tier.HALT,
    }
    again = thaw(freeze(value))
    assert again == value
    assert type(again["t"]) is Tier
    assert again["d"].maxlen == 3


def many() -> dict[str, Verdict]:
    return {f"k{n}": Verdict(Tier.WARN, "p", count=n) for n in range(100)}


@pytest.mark.parametrize(
    "look",
    [
        lambda d: d["k7"].count,
        lambda d: d.get("k7").count,
        lambda d: (d.get("x"), d.get("x", 1), "k7" in d, len(d), [*d]),
        lambda d: [v.count for v in d.values()],
        lambda d: [(k, v.count) for k, v in d.items()],
        lambda d: (d.pop("k7").count, d.pop("k7", 0), len(d)),
        lambda d: (d.popitem()[1].count, len(d)),
        lambda d: (d.setdefault("k7").count, d.setdefault("x", 1), d["x"]),
        lambda d: (d.update(x=1), d["k7"].count, d["x"]),
        lambda d: dict(d)["k7"].count,
        lambda d: {**d}["k7"].count,
        lambda d: (d | {"x": 1})["k7"].count,
        lambda d: d.copy()["k7"].count,
        lambda d: copy(d)["k7"].count,
        lambda d: deepcopy(d)["k7"].count,
        lambda d: (d == many(), d != many(), d == {}),
        lambda d: d != many(),
        lambda d: [k for k, v in sorted(d.items(), reverse=True) if v.count % 2],
        lambda d: (d.__setitem__("k7", d["k8"]), d["k7"].count),
        lambda d: (d.__delitem__("k7"), "k7" in d, [*d][:9]),
        lambda d: (d.clear(), d == {}),
    ],
)
def test_many_objects_come_back_when_they_are_looked_at(look: Callable[[Any], object]) -> None:
    again = thaw(freeze(many()))
    assert type(again) is Later and set(map(type, dict.values(again))) == {bytes}
    assert look(again) == look(many())


def test_what_was_not_looked_at_is_frozen_as_it_was() -> None:
    frozen = freeze({"all": many()})
    again = thaw(frozen)
    assert freeze(again) == frozen
    again["all"]["k7"].count = 9
    again["all"]["new"] = Verdict(Tier.HALT, "q")
    twice = thaw(freeze(again))["all"]
    assert (twice["k7"].count, twice["k8"].count, twice["new"].policy) == (9, 8, "q")
    assert [*twice] == [*many(), "new"]
    again["all"]["other"] = Tier.HALT
    assert thaw(freeze(again))["all"]["other"] is Tier.HALT
    assert thaw(freeze(again))["all"]["k7"].count == 9


def test_only_our_own_classes_are_frozen_or_made() -> None:
    for foreign in (Path("x"), print, object(), lambda: 1):
        with pytest.raises(Unfreezable):
            freeze(foreign)
    with pytest.raises(Unfreezable):
        thaw((..., "later", "os:system", {}))
    for name in ("os:system", "loopguard_core.events:json", "loopguard_core.events:dump", "x"):
        with pytest.raises(Unfreezable):
            thaw((..., name, {}))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return store_in(tmp_path)


def attached(store: Store, **settings: Any) -> LiveSession:
    """What a hook process makes of the session for one call."""
    config = Config({**GRADED, "mode": "observe", **settings})
    return LiveSession(config, "s", store=store, attach=True, say=print)


def kept(store: Store) -> Path:
    (path,) = (Path(store.place).parent / "state" / "loopguard" / "guards").iterdir()
    return path


def reads(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events each read of the session gives from here on."""
    counts: list[int] = []
    real = store.read

    def read(*args: Any, **kwargs: Any) -> Any:
        found = real(*args, **kwargs)
        counts.append(len(found))
        return found

    monkeypatch.setattr(store, "read", read)
    return counts


def test_a_process_for_one_call_reads_only_what_is_new(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    attached(store)
    for n in range(MANY):
        call(attached(store), args=n)
    counts = reads(store, monkeypatch)
    decision = call(attached(store), args=MANY - 1)
    assert decision.ruling.verdict.count == 2
    assert max(counts) < 130
    assert kept(store).stat().st_mode & 0o777 == 0o600
    assert kept(store).parent.stat().st_mode & 0o777 == 0o700


def test_two_processes_that_meet_a_new_session_begin_it_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one must not end the call of the first, which runs."""
    real, asked = store.session, []

    def session(name: str) -> Any:
        known = real(name)
        asked.append(known)
        if len(asked) == 1:
            assert known is None
            attached(store).before("search", 0, call="first")
        return known

    monkeypatch.setattr(store, "session", session)
    live = attached(store)
    assert live.guard.open_calls() == ["first"]
    assert [event.type for event in store.read("s")] == ["session_start", "call_start"]
    live.before("search", 0, call="second")
    assert [event.type for event in store.read("s")][2:] == ["call_start"]


@pytest.mark.parametrize("first", ["before", "after"])
def test_a_long_turn_without_a_checkpoint_is_folded_once(
    store: Store, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """As after an update, whichever hook comes first: the one before a call, or the one after it."""
    attached(store)
    for n in range(MANY):
        call(attached(store), args=n)
    pending = attached(store).before("search", 0)
    kept(store).unlink()
    counts = reads(store, monkeypatch)
    if first == "before":
        attached(store).before("search", 1)
    else:
        attached(store).after(pending, "r")
    assert max(counts) > 2 * MANY
    counts.clear()
    attached(store).before("search", 2)
    assert max(counts) < 10


@pytest.mark.parametrize(
    "damage", ["cut", "changed", "empty", "other settings", "other code", "older log"]
)
def test_a_checkpoint_that_does_not_fit_is_not_used(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    attached(store)
    for n in range(40):
        call(attached(store), args=n)
    path = kept(store)
    content = path.read_bytes()
    more: dict[str, Any] = {}
    if damage == "cut":
        path.write_bytes(content[:-20])
    elif damage == "changed":
        path.write_bytes(content[:-20] + b"x" + content[-19:])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "other settings":
        more = {"policies": {"graded": {"warn_at": 3, "block_at": 4, "halt_at": 5}}}
    elif damage == "other code":
        monkeypatch.setattr(checkpoint, "__version__", "another")
    else:
        store.close()
        for old in tmp_path.glob("events.db*"):
            old.unlink()
        store = store_in(tmp_path)
        attached(store)
        call(attached(store), args=39)
        call(attached(store), args=39)
    counts, before = reads(store, monkeypatch), store.last("s")
    last = call(attached(store, **more), args=39).ruling.verdict
    assert last.count == (3 if damage == "older log" else 2)
    assert max(counts) >= before, "it is folded from its beginning"


def test_the_end_of_a_session_takes_its_checkpoint_away(store: Store) -> None:
    attached(store)
    for n in range(40):
        call(attached(store), args=n)
    path = kept(store)
    attached(store).end()
    assert not path.exists()


@pytest.mark.parametrize("every", [1, journal.EVERY])
def test_what_a_process_for_one_call_ends_is_compared_as_in_one_process(
    store: Store, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    monkeypatch.setattr(journal, "EVERY", every)

    def joined() -> LiveSession:
        return attached(store, policy=["dsh", "progress"])

    said: list[list[Any]] = []
    for one in (None, joined()):
        verdicts = []
        for n in range(8):
            call_id = f"c{n} of {one}"
            (one or joined()).before("read_file", {"path": "a"}, call=call_id)
            live = one or joined()
            decision = live.recall(call_id, "read_file", {"path": "a"})
            live.after(decision, f"took {n}.5 s" if n < 5 else "the same")
            verdicts.append((decision.verdict, sorted(map(repr, live.guard.counts()))))
        said.append(verdicts)
        joined().turn("again")
    assert said[0] == said[1]
