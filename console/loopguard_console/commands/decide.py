"""``approve``, ``deny`` and ``modify``: answer requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from loopguard_console.errors import Refused
from loopguard_console.naming import called
from loopguard_console.output import emit, json_option, remark, say
from loopguard_console.render import already_so
from loopguard_console.stores import Options, deciding
from loopguard_core import escape
from loopguard_core.escape import Decided, DecisionError
from loopguard_core.store.contract import Store

_requests = click.argument("requests", metavar="REQUEST...", nargs=-1, required=True)
_seen = click.option(
    "--seen",
    default="",
    metavar="DIGEST",
    help="Answer only if the request is still what was seen (the field seen of pending --json).",
)


@click.command()
@_requests
@click.option("--note", default="", help="Told to the model beside the result.")
@_seen
@json_option
@click.pass_obj
def approve(
    options: Options, requests: tuple[str, ...], note: str, seen: str, as_json: bool
) -> int:
    """Let the waiting call run, once.

    It leaves no mark on the counters: the next identical call is asked about at the same count. Where
    nobody waits any more, the agent's next try of the same call runs; the note is for the log then.
    """

    def decide(store: Store, request: str) -> Decided:
        return escape.approve(store, request, note=note, seen=seen)

    return _answer(options, requests, decide, as_json)


@click.command()
@_requests
@click.option("--note", default="", help="Told to the model as the call's result.")
@_seen
@json_option
@click.pass_obj
def deny(options: Options, requests: tuple[str, ...], note: str, seen: str, as_json: bool) -> int:
    """Refuse the waiting call; the agent goes on without it.

    The same call is refused for the rest of the turn without asking you again. So is what already waits for
    it beside this one.
    """

    def decide(store: Store, request: str) -> Decided:
        return escape.deny(store, request, note=note, seen=seen)

    return _answer(options, requests, decide, as_json)


@click.command()
@click.argument("request", metavar="REQUEST")
@click.argument("args", metavar="JSON")
@click.option("--note", default="", help="Told to the model beside the result.")
@_seen
@json_option
@click.pass_obj
def modify(options: Options, request: str, args: str, note: str, seen: str, as_json: bool) -> int:
    """Let the waiting call run with other arguments, given as JSON. The model is told."""
    try:
        value: Any = json.loads(args)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the arguments are not JSON: {error}") from None

    def decide(store: Store, name: str) -> Decided:
        return escape.modify(store, name, value, note=note, seen=seen)

    return _answer(options, (request,), decide, as_json)


def _answer(
    options: Options,
    requests: tuple[str, ...],
    decide: Callable[[Store, str], Decided],
    as_json: bool,
) -> int:
    """Answer each; one that cannot be answered does not keep the others from it."""
    failed = 0
    settled: list[str] = []
    with deciding(options) as store:
        for request in dict.fromkeys(requests):
            if request in settled or request.upper() in settled:
                continue  # it was answered and named with an earlier one
            try:
                done = decide(store, request)
                tell(done, as_json)
                settled += done.covered
            except DecisionError as error:
                failed = 1
                remark(f"loopguard-console: {error}")
    return failed


def tell(done: Decided, as_json: bool) -> None:
    """Say what a decision did."""
    if as_json:
        emit(
            {
                "resolution": done.resolution,
                "request": done.request or None,
                "grant": done.grant or None,
                "late": done.late,
                "sessions": done.sessions,
                "settled": done.covered,
                "absent": done.absent,
                "already": [known.session for known in done.already],
            }
        )
        return
    for known in called(done.already):
        so = already_so(known, done.grant)
        say(f"{known.name or known.session}: {so}")
    if done.already and not done.sessions:
        return
    what = done.request or ", ".join(done.sessions)
    grant = f", grant {done.grant}" if done.grant and not done.late else ""
    late = ""
    if done.late and done.resolution == "approved":
        late = "; nobody waits any more"
        late += "" if done.absent else ", the agent's next try of this call runs"
    elif done.late and done.grant:
        late = "; nobody waits any more, the approval that came late is taken back"
    elif done.late:
        late = "; nobody waits any more, it is noted"
    say(f"{what}: {done.resolution}{grant}{late}")
    if done.absent:
        say(f"nobody runs {', '.join(done.absent)} now; it holds when it goes on")
    others = [name for name in done.covered if name != done.request]
    if others:
        say(f"also settled: {', '.join(others)}")
