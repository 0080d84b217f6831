"""``progress`` stops nothing in the recordings of agents that were at work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from loopguard_core.events import Event
from loopguard_core.importers.door import open_stream
from loopguard_core.policies.registry import create
from loopguard_core.recording.judging import judge
from shared import SHARED

LOOPING = ("gen_", "otel_", "8c9343f8", "agent-", "EXPECTED", "README")


def healthy() -> list[Path]:
    found = (path for path in (SHARED / "sessions").rglob("*") if path.is_file())
    return sorted(path for path in found if not path.name.startswith(LOOPING))


def timeless(events: Iterable[Event]) -> Iterator[Event]:
    """The same events with no time known."""
    for event in events:
        data = {k: v for k, v in event.data.items() if k not in ("dt", "duration")}
        yield Event(event.type, event.session, seq=event.seq, data=data)


@pytest.mark.parametrize("path", healthy(), ids=lambda path: path.name)
@pytest.mark.parametrize("known", [True, False], ids=["time known", "time unknown"])
def test_nothing_is_stopped(path: Path, known: bool) -> None:
    calls = 0
    with open_stream(path) as stream:
        for row in judge(stream if known else timeless(stream), create("progress")):
            calls += 1
            assert not row.stops, row.to_json()
    assert calls
