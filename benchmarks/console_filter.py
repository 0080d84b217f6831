"""Searching one long session a piece at a time: what a query costs, and how long a piece holds the screen up."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from console_scale import SESSION, write_store

from loopguard_console.guards import guard_of
from loopguard_console.screens.searching import PIECE
from loopguard_console.viewing.filtering import Filtered
from loopguard_console.viewing.hits import Hits
from loopguard_console.viewing.query import Query
from loopguard_core.recording.calls import StoreEvents
from loopguard_core.recording.replay import Recording
from loopguard_core.store.door import open_store

QUERIES = ("tier>=warn", "tool:tool_3", "words 500", "/words 9[0-9]+5/", "is:error", "words")


def main() -> None:
    """Measure every query over ``CALLS`` calls (100,000 where none is given)."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.db")
        write_store(path, calls)
        store = open_store(str(path))
        source = StoreEvents(store, SESSION)
        recording = Recording(guard_of(None), source)
        while events := source.after(recording.seq, 5_000):
            recording.append(events)
        for text in QUERIES:
            hits = Hits(recording, Query(text))
            lines = Filtered(recording, hits, lambda event: True, fold=True)
            begun, longest, done = time.process_time(), 0.0, False
            while not done:
                piece = time.thread_time()
                done = hits.look(PIECE)
                lines.grow()
                longest = max(longest, time.thread_time() - piece)
            spent = time.process_time() - begun
            print(f"{text:<18} {len(hits):>9,} hits  {spent:6.2f} s  {longest * 1000:5.1f} ms")
        store.close()


if __name__ == "__main__":
    main()
