"""What lies in the agents' usual places, offered to a person who named nothing."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterable

import click

from loopguard_console.errors import Refused
from loopguard_console.output import remark, say
from loopguard_console.render import counted
from loopguard_core.importers.places import Found, find

_OFFERED = 15


def choose() -> str:
    """The path of the transcript that the person picks from the newest ones.

    Raises ``Refused`` where nothing lies there, or nobody is there to pick.
    """
    found = find()
    if not found:
        raise Refused("name a PATH or a SESSION; no transcript lies in the agents' usual places")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refused("name a PATH or a SESSION; the command import --find lists what there is")
    offered = found[:_OFFERED]
    listed(offered, numbered=True)
    if len(found) > len(offered):
        older = counted(len(found) - len(offered), "older transcript")
        remark(f"{older} not shown; import --find lists what there is")
    picked = click.prompt("Open which", type=click.IntRange(1, len(offered)), default=1, err=True)
    return str(offered[picked - 1].path)


def listed(found: Iterable[Found], *, numbered: bool = False) -> None:
    """Print when each changed, whose it is, how large and where; paths in full, to be pasted."""
    for number, one in enumerate(found, 1):
        changed = dt.datetime.fromtimestamp(one.changed).strftime("%Y-%m-%d %H:%M")
        head = f"{number:>3}  " if numbered else ""
        say(f"{head}{changed}  {one.agent:<18}  {_size(one.size):>7}  {one.path}")


def _size(count: int) -> str:
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
