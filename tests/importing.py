"""Helpers of the importer tests: a fixture opened, its calls in one line each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loopguard_core.events import Event
from loopguard_core.identity import Digester
from loopguard_core.importers import Recording, open_recordings, open_stream
from loopguard_core.importers.storing import Imported, StoreWriter
from loopguard_core.store.contract import Store

DATA = Path(__file__).parent / "data" / "transcripts"


def opened(name: str | Path) -> list[tuple[Recording, list[Event]]]:
    """Each session of a file (by its name among the fixtures, or a path) with its events."""
    return [(r, list(r.events)) for r in open_recordings(DATA / name)]


def imported(store: Store, path: Path) -> Imported:
    """Import *path* into *store*, as the command does."""
    with open_stream(path) as stream:
        return StoreWriter(store, Digester(b"k")).add_all(stream)


def calls(events: list[Event]) -> list[tuple[str, Any, str]]:
    """(tool, args, outcome) of each call in the order requested; ``pending`` where it never ended."""
    ends = {e.data["call"]: e.data["outcome"] for e in events if e.type == "call_end"}
    return [
        (e.data["tool"], e.data["args"], ends.get(e.data["call"], "pending"))
        for e in events
        if e.type == "call_start"
    ]


def texts(events: list[Event], kind: str = "user_message") -> list[str]:
    """The texts of the events of one type."""
    return [e.text("text") for e in events if e.type == kind]


def ends(events: list[Event]) -> dict[str, Event]:
    """The ``call_end`` of each call."""
    return {e.data["call"]: e for e in events if e.type == "call_end"}
