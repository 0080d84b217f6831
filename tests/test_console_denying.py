"""What a person is told where their no to one call is one to others that wait beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from asking import ask
from commands import command
from loopguard_console.deciding import Decider
from loopguard_core.escape import AlreadyDecided
from loopguard_core.events import Event
from loopguard_core.store.contract import Store
from sessions import store_in


@pytest.fixture
def store(tmp_path: Path) -> Store:
    found = store_in(tmp_path)
    found.append(Event("session_start", "s", ts=1.0))  # of an agent that is not this process
    return found


def test_the_command_names_what_it_denied_as_well(store: Store, tmp_path: Path) -> None:
    first, second, apart = ask(store), ask(store), ask(store, key="other")
    done = command(tmp_path / "events.db", "deny", first, "--note", "no")
    assert done.code == 0
    assert done.out.splitlines() == [f"{first}: denied", f"also settled: {second}"]
    assert [r.request for r in store.requests(pending=True)] == [apart]


def test_naming_the_same_calls_in_one_command_is_no_failure(store: Store, tmp_path: Path) -> None:
    first, second, third = ask(store), ask(store), ask(store, key="other")
    place = tmp_path / "events.db"
    done = command(place, "deny", first, second.lower(), third, "--json")
    assert (done.code, done.err) == (0, "")
    assert [(o["request"], o["settled"]) for o in done.objects] == [(first, [second]), (third, [])]
    again = command(place, "deny", second)
    assert (again.code, again.out) == (1, "")
    assert f"{second} is already denied by" in again.err


def test_what_is_marked_and_the_same_is_denied_without_a_failure(store: Store) -> None:
    requests = [store.request(ask(store)) for _ in range(3)]
    decider = Decider(store)
    said = [decider.deny(request, "no") for request in requests if request is not None]
    assert said == ["R1 denied; settles R2, R3", "R2 denied with R1", "R3 denied with R1"]
    first = requests[0]
    assert first is not None
    with pytest.raises(AlreadyDecided):
        decider.deny(first)
