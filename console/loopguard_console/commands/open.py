"""``open``: step through a recording with the console's screens."""

from __future__ import annotations

from collections.abc import Iterable

import click

from loopguard_console.chains import call_json, recordings_of, stored_recording
from loopguard_console.errors import Refused
from loopguard_console.offering import choose as choose_found
from loopguard_console.output import emit, json_option, remark
from loopguard_console.parameters import POLICIES, format_option
from loopguard_console.policies import choose
from loopguard_console.stores import Options, find_session, place_of, reading
from loopguard_console.targets import is_session, target_events, unjudged
from loopguard_core.events import Event
from loopguard_core.foreign import once
from loopguard_core.recording.replay import Recording


@click.command(name="open")
@click.argument("target", metavar="[PATH|SESSION]", default="")
@click.option(
    "--policy",
    "name",
    metavar="NAME",
    default="",
    help=f"Judge every call anew with this policy: {POLICIES}.",
)
@click.option("--options", "given", metavar="JSON", help="Options of that policy, as JSON.")
@click.option("--config", metavar="FILE", help="Take policy, options and tools from FILE.")
@format_option
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
    if is_session(options, target) and not anew:
        with reading(options) as store:
            try:
                session = find_session(store, target).session
            except Refused as error:
                raise Refused(f"{target}: no such file, and {error}") from None
            if as_json and store is not None:
                _emit(stored_recording(store, session), session)
                return
        from loopguard_console.opening import run_stored

        run_stored(session, place_of(options))
        return
    events: Iterable[Event] = target_events(options, target, format_name)
    if anew:
        events = map(unjudged, events)
    if as_json:
        for recording in recordings_of(events, settings, once(remark)):
            _emit(recording, recording.session)
        return
    from loopguard_console.opening import run_replay

    run_replay(list(events), title="standard input" if target == "-" else target, config=settings)


def _emit(recording: Recording, session: str) -> None:
    for index in range(len(recording)):
        emit({"session": session, **call_json(recording, index)})
