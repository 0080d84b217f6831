"""An agent on one host is stopped; a person at a console on another host lets it go."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import postgres
from hosts import Host, two_hosts
from loopguard_core.store.door import open_store
from processes import environment
from terminal import Terminal

pytestmark = postgres.needs
AGENT = str(Path(__file__).with_name("looping_agent.py"))


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[tuple[Host, Host]]:
    with two_hosts(postgres.emptied()) as both:
        (tmp_path / "loopguard.toml").write_text(
            'policy = "graded"\nunattended_wait_seconds = 60\n'
        )
        yield both


def on(host: Host, folder: Path) -> dict[str, str]:
    """The environment of a person or an agent on *host*, with a home of its own."""
    home = folder / host.url.partition("@")[2].partition(":")[0]
    home.mkdir(exist_ok=True)
    return environment(
        LOOPGUARD_STORE=host.url,
        LOOPGUARD_CONFIG=str(folder / "loopguard.toml"),
        HOME=str(home),
        XDG_STATE_HOME=str(home),
    )


def test_an_agent_on_one_host_is_let_go_from_a_console_on_another(
    hosts: tuple[Host, Host], tmp_path: Path
) -> None:
    builds, desk = hosts
    agent = subprocess.Popen(
        [*builds.prefix, sys.executable, AGENT, "far", "--calls", "4"],
        env=on(builds, tmp_path),
        stdout=subprocess.PIPE,
        text=True,
    )
    console = [*desk.prefix, sys.executable, "-m", "loopguard_console"]
    with Terminal(console, on(desk, tmp_path)) as screen:
        screen.see("waits R1", "WHAT YOU CAN DO  R1")
        screen.press("a")
        screen.see("waits R2", "WHAT YOU CAN DO  R2")
        screen.press("d")
        screen.see("Deny")
        screen.press("look elsewhere\r")
        out, _ = agent.communicate(timeout=60)
        screen.press("q")
        assert screen.wait() == 0
    said = [json.loads(line) for line in out.splitlines()]
    assert [one["run"] for one in said] == [True, True, True, False]
    assert "look elsewhere" in said[3]["message"]
    store = open_store(desk.url, create=False, read_only=True)
    session = store.session("far")
    assert session is not None
    assert session.host == builds.name
    first, second = store.requests(session="far")
    assert (first.resolution, second.resolution) == ("approved", "denied")
    assert first.by.endswith(f"@{desk.name}")
    assert first.host == builds.name
    store.close()
