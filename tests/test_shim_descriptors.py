"""A process without a file descriptor left: its guard begins all the same, and joins the store once it can."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from pkgutil import iter_modules

import pytest

from loopguard_core import redaction
from loopguard_core.store.door import open_store
from processes import environment

pytest.importorskip("resource")

# Opens what it may, less a few, before the session begins; lets go of it after eight calls.
AGENT = """
import asyncio, json, os, resource, sys
from loopguard_core.session import journal
from loopguard_core.shim import LoopGuard, TurnHalted

left, awaits, settings = json.loads(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
for _ in range(left):
    os.close(held.pop())
said = []
with LoopGuard("a", session="s", say=said.append, raise_on_halt=False, **settings) as guard:
    if awaits:
        async def search(q):
            return "page"
        loop = guard.tool(search)
        def call(q):
            try:
                loop(q).send(None)
            except StopIteration as done:
                return done.value
    else:
        call = guard.tool(lambda q: "page", name="search")
    got = [call("x") for _ in range(8)]
    for each in held:
        os.close(each)
    journal._FIRST_PAUSE, guard.live._journal._retry_at = 0.0, 0.0
    got.append(call("y"))
print(json.dumps([got, said]))
"""


def run(place: Path, left: int, *, awaits: bool = False, **settings: object) -> list[list[str]]:
    """What the calls gave and what was said, in an agent that has *left* descriptors when it begins."""
    env = environment(LOOPGUARD_STORE=str(place), XDG_STATE_HOME=str(place.parent / "state"))
    done = subprocess.run(
        [sys.executable, "-c", AGENT, json.dumps([left, awaits, settings])],
        env=env,
        cwd=place.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    got: list[list[str]] = json.loads(done.stdout)
    return got


def test_whatever_a_text_may_need_to_be_redacted_is_loaded_with_the_guard() -> None:
    of_ours = {f"{redaction.__name__}.{each.name}" for each in iter_modules(redaction.__path__)}
    script = "import sys, loopguard_core.shim; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert of_ours - set(done.stdout.split()) == set()


@pytest.mark.parametrize("left", [0, 1])
def test_a_guard_begins_in_memory_and_joins_the_store_once_it_can_be_opened(
    left: int, tmp_path: Path
) -> None:
    got, said = run(tmp_path / "events.db", left)
    assert got[0] == "page" and "was not run" in got[7], "it stops a loop all the same"
    assert got[8] == "page"
    failures = [line for line in said if "in memory" in line]
    assert len(failures) == 1, said
    assert sum("the event store is back" in line for line in said) == 1
    events = open_store(str(tmp_path / "events.db")).read("s")
    assert [e.type for e in events[:4]] == ["session_start", "gap", "call_start", "call_end"]
    assert events[0].data["pid_started"], "the system could be asked by then"


def test_a_guard_of_tasks_begins_as_well(tmp_path: Path) -> None:
    got, _ = run(tmp_path / "events.db", 0, awaits=True)
    assert got[0] == "page" and "was not run" in got[7]


def test_a_policy_that_cannot_be_loaded_is_said_and_the_default_one_guards(tmp_path: Path) -> None:
    got, said = run(tmp_path / "events.db", 0, policy="hermes")
    assert "was not run" in got[7]
    assert sum("the policy hermes cannot be loaded" in line for line in said) == 1


def test_a_file_that_cannot_be_read_is_said_and_the_defaults_hold(tmp_path: Path) -> None:
    (tmp_path / "loopguard.toml").write_text('policy = "hermes"\n')
    got, said = run(tmp_path / "events.db", 0)
    assert "was not run" in got[7]
    assert sum("loopguard.toml: cannot be read" in line for line in said) == 1


def test_a_server_that_cannot_be_asked_for_keeps_no_agent_from_beginning(tmp_path: Path) -> None:
    got, said = run(tmp_path / "events.db", 0, store="postgresql://127.0.0.1:1/events")
    assert "was not run" in got[7]
    assert sum("in memory" in line for line in said) == 1


CLOSED = """
import json, os, sys, time
from loopguard_core.shim import LoopGuard
place, paced, taken = json.loads(sys.argv[1])
said = []
guard = LoopGuard("x", session="s", store=place, say=said.append, mode="enforce")
search = guard.tool(lambda q: "page", name="search")
for n in range(5):
    search(n)
os.closerange(3, 64)
mine = [os.open(place + ".mine", os.O_RDWR | os.O_CREAT) for _ in range(taken)]
time.sleep(paced)
got = [search("same") for _ in range(8)]
guard.close()
print(json.dumps([got, said, os.stat(place + ".mine").st_size if taken else 0]))
"""


@pytest.mark.parametrize(("paced", "taken"), [(0.0, 0), (0.06, 0), (0.06, 8)])
def test_a_program_that_closes_our_descriptors_is_guarded_on_in_memory_at_once(
    paced: float, taken: int, tmp_path: Path
) -> None:
    place = tmp_path / "events.db"
    done = subprocess.run(
        [sys.executable, "-c", CLOSED, json.dumps([str(place), paced, taken])],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=9,  # SQLite itself would try for ten seconds
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    got, said, written = json.loads(done.stdout)
    assert got[0] == "page" and "was not run" in got[7], "it stops a loop all the same"
    failures = [line for line in said if "in memory" in line]
    assert len(failures) == 1 and "has closed the file descriptors" in failures[0], said
    assert not [line for line in said if "internal" in line]
    assert written == 0, "nothing goes into a file that has their numbers now"
    store = open_store(str(place))
    assert store.calls_upto("s", store.last("s")) == 5


REPLACED = """
import json, os, resource, sys, time
from loopguard_core.shim import LoopGuard
place = sys.argv[1]
said = []
guard = LoopGuard("x", session="s", store=place, say=said.append)
search = guard.tool(lambda q: "page", name="search")
for n in range(5):
    search(n)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
held = []
while True:
    try:
        held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        break
os.rename(place, place + ".old")
time.sleep(0.06)
for n in range(5):
    search(-n)
for each in held:
    os.close(each)
guard.close()
print(json.dumps(said))
"""


def test_a_store_that_is_replaced_while_no_descriptor_is_left_is_missed_in_full(
    tmp_path: Path,
) -> None:
    place = tmp_path / "events.db"
    done = subprocess.run(
        [sys.executable, "-c", REPLACED, str(place)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "internal" not in done.stdout
    events = open_store(str(place)).read("s")
    missing = sum(e.data["count"] for e in events if e.type == "gap")
    calls = sum(e.type in ("call_start", "call_end") for e in events)
    assert missing + calls == 1 + 10 + 10, "the start of the session, and ten calls"
