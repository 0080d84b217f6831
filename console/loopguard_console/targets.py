"""What a person names to look back at: a file, a folder, standard input, or a session of the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from loopguard_console.inputs import open_inputs, read_events
from loopguard_console.naming import may_mean
from loopguard_console.progress import watched
from loopguard_console.stores import Options, find_session, reading
from loopguard_core.events import Event


def is_session(options: Options, target: str) -> bool:
    """Whether *target* means a session of the store rather than a path.

    A folder that happens to be called like a session is meant where it is named as one: ``./research``.
    """
    path = Path(target)
    if target == "-" or path.is_file() or (path.exists() and "/" in target):
        return False
    if path.exists() or "/" in target or path.suffix:
        with reading(options) as store:
            return store is not None and any(may_mean(store.sessions(), target)[:3])
    return True


def target_events(options: Options, target: str, format_name: str = "") -> Iterator[Event]:
    """The events of what *target* names, as they are read. Raises ``Refused``, ``Unreadable`` or ``StoreError``."""
    if not is_session(options, target):
        yield from _from_files(target, format_name)
        return
    with reading(options) as store:
        session = find_session(store, target).session
        if store is not None:
            yield from store.read_all(session)


def _from_files(target: str, format_name: str) -> Iterator[Event]:
    for stream in open_inputs(target, format_name):
        yield from watched(read_events(stream), stream.source.place)


def unjudged(event: Event) -> Event:
    """The event without the verdict that it was recorded with."""
    if "verdict" in event.data:
        data = {k: v for k, v in event.data.items() if k != "verdict"}
        return Event(event.type, event.session, seq=event.seq, ts=event.ts, data=data)
    return event
