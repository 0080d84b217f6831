"""Hooks of an agent whose server goes away between two of them, as real processes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import postgres
from hooks import Host
from loopguard_core.session.doors import CALM
from loopguard_core.store.door import open_store
from wire import Wire

pytestmark = postgres.needs
ENFORCE = 'policy = "graded"\nmode = "enforce"\n'


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    with Wire(int(postgres.server().port)) as made:
        yield made


def host_on(tmp_path: Path, wire: Wire, url: str) -> Host:
    host = Host(tmp_path, config=ENFORCE)
    host.server = url.replace(f":{postgres.server().port}/", f":{wire.port}/")
    return host


def tried_long_ago(host: Host) -> None:
    """The last process that met no server did so some time ago."""
    at = time.time() - CALM - 1
    for note in host.folder.rglob("away"):
        os.utime(note, (at, at))


def test_hooks_go_on_without_their_server_and_send_what_they_kept(
    tmp_path: Path, wire: Wire
) -> None:
    url = postgres.emptied()
    host = host_on(tmp_path, wire, url)
    host.send("SessionStart", source="startup")
    host.send("UserPromptSubmit", prompt="read it")
    host.before("ls")
    host.after("ls")
    wire.refuse()
    for _ in range(2):
        said = host.before()
        assert (said.code, said.out) == (0, "")
        assert "kept on this machine" in said.err
        host.after()
    third = host.before()
    assert "not run" in third.denied and "Nobody can be asked" in third.denied
    wire.mend()
    tried_long_ago(host)
    assert host.before().denied, "the loop is known also to one that meets the server again"
    store = open_store(url)
    log = store.read("s1")
    assert [e.seq for e in log] == [*range(1, len(log) + 1)]
    starts = [e for e in log if e.type == "call_start"]
    assert [e.data["args"]["command"] for e in starts] == ["ls", *["cat nope"] * 4]
    assert ["spooled" in e.data for e in starts] == [False, True, True, True, False]
    assert [e.text("reason") for e in log if e.type == "session_start"] == ["", "outage"]
    assert len({e.text("call") for e in starts}) == 5
    store.close()


def test_where_a_hook_met_no_server_the_next_ones_do_not_wait_for_it(
    tmp_path: Path, wire: Wire
) -> None:
    host = host_on(tmp_path, wire, postgres.emptied())
    host.send("SessionStart", source="startup")
    wire.freeze()
    host.before()
    began = time.monotonic()
    for _ in range(3):
        host.after()
        host.before()
    # six of them, none of which pays the two seconds that a connection may take
    assert time.monotonic() - began < 6 * 1.9
