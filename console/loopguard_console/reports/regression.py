"""A loop as a test: a small recording, and a pytest file that fails while the guard does not catch it."""

from __future__ import annotations

import re

from loopguard_console.render import safe
from loopguard_console.reports.incident import Incident
from loopguard_core.events import Event, encode

_KEPT = frozenset({"call_start", "call_end", "user_message", "turn_start", "assistant_text"})
_DROPPED = frozenset({"ids", "verdict", "duration", "by", "breakpoint"})

_TEST = '''"""The guard has to catch this loop: {label}

Made by loopguard-console from the session {session}. The policy and its options are those
that hold in this folder.
"""

from pathlib import Path

from loopguard_core.config import load_config
from loopguard_core.events import decode
from loopguard_core.judging import judge

RECORDING = Path(__file__).with_name("{recording}")
#: by this call (from 1) the loop has to be stopped
AT_LATEST = {number}


def test_the_guard_stops_this_loop() -> None:
    events = [decode(line) for line in RECORDING.read_text(encoding="utf-8").splitlines()]
    config = load_config(str(Path(__file__).parent))
    rows = list(judge(events, config.make_policy(), traits=config.trait_table()))
    stops = [number for number, row in enumerate(rows, 1) if row.stops]
    assert stops, f"{{config.policy_name}} lets this loop run"
    assert stops[0] <= AT_LATEST, f"{{config.policy_name}} stops it only at call {{stops[0]}}"
'''


def name_of(found: Incident) -> str:
    """A name for the files: letters, digits and underscores."""
    plain = re.sub(r"[^a-z0-9]+", "_", found.recording.session.lower()).strip("_")
    return f"loop_{plain[:40] or 'session'}"


def regression(found: Incident, events: list[Event]) -> dict[str, str]:
    """The files of the test by name: the recording up to the incident, and the test."""
    name = name_of(found)
    label = safe(found.label).replace("\\", "\\\\").replace('"', "'")
    session = safe(found.recording.session, 80).replace("\\", "\\\\").replace('"', "'")
    test = _TEST.format(
        label=label, session=session, recording=f"{name}.jsonl", number=found.number
    )
    return {f"test_{name}.py": test, f"{name}.jsonl": _recording(found, events)}


def _recording(found: Incident, events: list[Event]) -> str:
    """The calls up to the incident: what the policy reads, without digests of this machine."""
    lines, calls, wanted = [], 0, set[str]()
    for event in events:
        if event.type not in _KEPT or event.session != found.recording.session:
            continue
        if event.type == "call_start":
            calls += 1
            if calls > found.number:
                continue
            wanted.add(str(event.data["call"]))
        elif event.type == "call_end":
            if str(event.data["call"]) not in wanted:
                continue
        elif calls >= found.number:
            continue
        data = {k: v for k, v in event.data.items() if k not in _DROPPED}
        if event.type == "call_end" and data.get("outcome") == "blocked":
            continue
        lines.append(encode(Event(event.type, ts=event.ts, data=data)))
    return "\n".join(lines) + "\n"
