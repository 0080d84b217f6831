"""``open``: step through a recording with the console's screens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from loopguard_console.chains import call_json, recordings_of
from loopguard_console.inputs import open_inputs, read_events
from loopguard_console.offering import choose as choose_found
from loopguard_console.output import emit, json_option
from loopguard_console.policies import choose
from loopguard_console.progress import watched
from loopguard_console.stores import Options, find_session, place_of, reading
from loopguard_core.events import Event


@click.command(name="open")
@click.argument("target", metavar="[PATH|SESSION]", default="")
@click.option("--policy", "name", default="", help="Judge every call anew with this policy.")
@click.option("--options", "given", metavar="JSON", help="Options of that policy, as JSON.")
@click.option("--config", metavar="FILE", help="Take policy, options and tools from FILE.")
@click.option("--format", "format_name", default="", help="The transcript's format, if not found.")
@json_option
@click.pass_obj
def open_recording(
    options: Options,
    target: str,
    name: str,
    given: str | None,
    config: str | None,
    format_name: str,
    as_json: bool,
) -> None:
    """Step through a recording: the calls, the counters and the verdicts at every step.

    The target is a recording, a transcript of a known agent, a folder of them, - for standard input, or
    a session of the store. With --json the calls are printed instead, one object a line. Without a target
    the newest transcripts in the agents' usual places are offered.
    """
    target = target or choose_found()
    anew = bool(name or given or config)
    settings = choose(name, given, config) if anew else None
    events: Iterable[Event]
    if target == "-" or Path(target).exists() or not _in_store(options, target):
        events = list(_from_files(target, format_name))
    elif anew or as_json:
        events = _from_store(options, target)
    else:
        with reading(options) as store:
            session = find_session(store, target).session
        from loopguard_console.opening import run_stored

        run_stored(session, place_of(options))
        return
    if anew:
        events = map(_unjudged, events)
    if as_json:
        for recording in recordings_of(events, settings):
            for index in range(len(recording)):
                emit({"session": recording.session, **call_json(recording, index)})
        return
    from loopguard_console.opening import run_replay

    run_replay(events, title=target, config=settings)


def _in_store(options: Options, target: str) -> bool:
    """Whether *target* looks like a session rather than a path that is not there."""
    if "/" in target or Path(target).suffix:
        with reading(options) as store:
            return store is not None and store.session(target) is not None
    return True


def _from_store(options: Options, target: str) -> list[Event]:
    with reading(options) as store:
        found = find_session(store, target)
        return [] if store is None else store.read(found.session)


def _from_files(target: str, format_name: str) -> Iterator[Event]:
    for stream in open_inputs(target, format_name):
        yield from watched(read_events(stream), stream.source.place)


def _unjudged(event: Event) -> Event:
    """The event without the verdict that it was recorded with."""
    if "verdict" in event.data:
        data = {k: v for k, v in event.data.items() if k != "verdict"}
        return Event(event.type, event.session, seq=event.seq, ts=event.ts, data=data)
    return event
