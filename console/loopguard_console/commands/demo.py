"""``demo``: watch a scripted agent loop, be stopped, and let it go by hand."""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import Any

import click

from loopguard_console.demo.stage import Stage
from loopguard_console.demo.stories import STORIES
from loopguard_console.output import emit, json_option, say
from loopguard_console.parameters import Amount
from loopguard_console.render import counted
from loopguard_console.stores import Options
from loopguard_core.store.contract import Session
from loopguard_core.store.door import open_store
from loopguard_core.verdict import Tier


@click.command()
@click.argument("story", type=click.Choice(tuple(STORIES)), default="research")
@click.option("--headless", is_flag=True, help="Without the console: print what happens.")
@click.option(
    "--pace",
    metavar="FACTOR",
    type=Amount(min=0),
    default=1.0,
    show_default=True,
    help="Factor on the agent's pauses; 0 has none.",
)
@click.option(
    "--wait",
    metavar="SECONDS",
    type=Amount(min=0),
    default=0.0,
    help="Headless: seconds for which a stopped call waits for a decision.",
)
@json_option
@click.pass_obj
def demo(
    options: Options, story: str, headless: bool, pace: float, wait: float, as_json: bool
) -> None:
    """Watch an agent loop and let it go by hand. No network, no keys.

    research: an agent searches for the same words 34 times unless it is stopped.
    failing: an agent tries one failing command after another until the turn is halted.

    Everything happens in a temporary store, which goes when you leave (--store keeps it).
    """
    settings = {"unattended_wait_seconds": wait}
    with Stage(STORIES[story], store=options.get("store") or "", settings=settings) as stage:
        if headless or as_json:
            _end_in_order()
            agent = stage.start_agent(pace=pace, quiet=as_json)
            agent.wait()
        else:
            from loopguard_console.opening import run_live

            stage.start_agent(pace=pace, quiet=True)
            run_live(stage.store)
            stage.end_agent()
        told = _told(stage)
    if as_json:
        emit(told)
        return
    say(
        f"The demo's agent made {counted(told['calls'], 'call')}; the strongest verdict was {told['worst']}. "
        "To connect your agent: loopguard-console install --help"
    )


def _end_in_order() -> None:
    """Who is told to end leaves no agent and no temporary store behind; the console sees to that itself."""

    def end(number: int, frame: object) -> None:
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)


def _told(stage: Stage) -> dict[str, Any]:
    with contextlib.closing(open_store(stage.store)) as store:
        session = store.session(stage.session) or Session(stage.session)
    return {
        "session": session.session,
        "agent": session.agent,
        "calls": session.calls,
        "worst": Tier(session.worst).word,
        "ended": session.ended,
    }
