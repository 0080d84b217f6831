"""``prune``: let the store forget old sessions."""

from __future__ import annotations

import os
import sys
import time

import click

from loopguard_console.errors import Refused
from loopguard_console.naming import called
from loopguard_console.output import emit, json_option, say, table
from loopguard_console.parameters import Amount
from loopguard_console.policies import choose
from loopguard_console.progress import watched
from loopguard_console.render import counted, size, span
from loopguard_console.stores import Options, deciding
from loopguard_core.store.prune import Going, Plan, carry_out, plan


@click.command()
@click.option("--days", metavar="N", type=Amount(min=0), help="Forget what is older.")
@click.option(
    "--megabytes",
    metavar="N",
    type=Amount(min=0),
    help="Forget the oldest until the store is smaller.",
)
@click.option("--dry-run", is_flag=True, help="Say what would go, and keep it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_obj
def prune(
    options: Options,
    days: float | None,
    megabytes: float | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Forget old sessions, for good. Those that run, wait or were active within a day stay.

    Without --days and --megabytes the configured retention holds. Export first what you want to keep.
    """
    if days is None and megabytes is None:
        settings = choose()
        days, megabytes = settings.retention_days, settings.retention_megabytes
        if days is None and megabytes is None:
            raise Refused(
                "say what may go: --days N or --megabytes N (or retention in loopguard.toml)"
            )
    now = time.time()
    with deciding(options) as store:
        going = plan(store, now, days=days, megabytes=megabytes, host=os.uname().nodename)
        if dry_run or not going.going:
            _report(going, now, as_json, gone=False)
            return
        if not yes:
            _ask(going, now)
        for _ in watched(carry_out(store, going), "forgetting", total=len(going.going)):
            pass
        _report(going, now, as_json, gone=True)


def _ask(going: Plan, now: float) -> None:
    if not sys.stdin.isatty():
        raise Refused(f"{_count(going)} would go for good; say --yes, or look first with --dry-run")
    _report(going, now, as_json=False, gone=False)
    click.confirm("Forget them for good?", abort=True)


def _report(going: Plan, now: float, as_json: bool, *, gone: bool) -> None:
    if as_json:
        for each in going.going:
            emit(_json(each, gone))
        return
    if not going.going:
        say("Nothing has to go.")
    elif gone:
        say(f"{_count(going)} forgotten: {counted(going.events, 'event')}, {size(going.size)}B.")
    else:
        called([each.session for each in going.going])
        heads = ("session", "agent", "events", "size", "last active", "why")
        table(heads, [_cells(each, now) for each in going.going], right=(2, 3))
        say(f"{_count(going)} would go: {counted(going.events, 'event')}, {size(going.size)}B.")
    if going.in_use:
        many = len(going.in_use)
        do = "runs, waits or was" if many == 1 else "run, wait or were"
        say(f"{many} more would, but {do} active within a day.")


def _count(going: Plan) -> str:
    return counted(len(going.going), "session")


def _json(each: Going, gone: bool) -> dict[str, object]:
    session = each.session
    return {
        "session": session.session,
        "agent": session.agent,
        "events": session.seq,
        "bytes": each.size,
        "last_ts": session.last_ts,
        "reason": each.reason,
        "gone": gone,
    }


def _cells(each: Going, now: float) -> list[str]:
    session = each.session
    last = "" if session.last_ts is None else f"{span(now - session.last_ts)} ago"
    return [
        session.name or session.session,
        session.agent,
        str(session.seq),
        f"{size(each.size)}B",
        last,
        each.reason,
    ]
