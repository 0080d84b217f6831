"""``doctor``: does the guard work on this machine?"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from loopguard_console.doctor import disk, machines
from loopguard_console.doctor import store as store_area
from loopguard_console.doctor.configuration import configuration
from loopguard_console.doctor.finding import NOTE, OK, WRONG, Finding
from loopguard_console.doctor.hooks import hooks
from loopguard_console.doctor.loops import tiers
from loopguard_console.doctor.mend import mend
from loopguard_console.doctor.sessions import AREA
from loopguard_console.doctor.wake import wake
from loopguard_console.errors import Refused
from loopguard_console.output import emit, json_option, room, say
from loopguard_console.render import in_lines, pad, safe
from loopguard_console.stores import Options, place_of, refuse_inside
from loopguard_core.store.contract import Store, StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import default_store
from loopguard_core.urls import has_secret, is_url

_UNMENDED = "not all was mended: "
_WORDS = {OK: "ok", NOTE: "note", WRONG: "WRONG"}


@click.command()
@click.option("--mend", "mending", is_flag=True, help="Put right what can be put right safely.")
@json_option
@click.pass_obj
def doctor(options: Options, mending: bool, as_json: bool) -> int:
    """Prove that the guard works here, and say what is wrong and how to mend it.

    Plays a loop for every tier of the configured policy through the real shim in a temporary store,
    lets a process wait and releases it, and looks at the store and at the agents' hooks. Exit code 1
    where something is wrong.
    """
    try:
        place = place_of(options)
    except Refused:  # by a line in loopguard.toml, which is among what it finds
        place = default_store()
    unmended = _mend(options, place, as_json=as_json) if mending else []
    wrong = 0
    said = {finding.what for finding in unmended}
    for finding in (*unmended, *_findings(place, options.get("store") or "")):
        if finding not in unmended and _UNMENDED + finding.what in said:
            continue  # one fault, counted once
        wrong += finding.state == WRONG
        if as_json:
            emit(finding._asdict())
        else:
            _tell(finding)
    if not as_json:
        say("All is well." if not wrong else f"{wrong} wrong.")
    return 1 if wrong else 0


def _mend(options: Options, place: str, *, as_json: bool) -> list[Finding]:
    """Put right what can be, and say so; what kept something from that."""
    try:
        refuse_inside(options)
    except Refused:
        return []  # a line names no store, which is among the findings
    except StoreError:
        pass  # so nobody runs in it, and what keeps it from being read is said below
    unmended = []
    for done in mend(place):
        if isinstance(done, str):
            emit({"mended": done}) if as_json else say(f"mended: {done}")
        else:
            what, _, how = str(done).partition("; ")
            unmended.append(Finding(AREA, WRONG, _UNMENDED + what, how))
    return unmended


def _tell(finding: Finding) -> None:
    lines = [f"{pad(_WORDS[finding.state], 6)} {pad(finding.area, 14)} {safe(finding.what)}"]
    if finding.mend:
        how = "to mend it: " if finding.state == WRONG else ""
        lines.append(f"{' ' * 22}{how}{safe(finding.mend)}")
    for line in lines:
        for part in in_lines(line, room(), indent=22):
            say(part)


def _findings(place: str, named_store: str) -> Iterator[Finding]:
    config, finding = configuration()
    yield finding
    try:
        with _temporary_store(place) as store:
            yield from tiers(config, store)
            yield from wake(store)
    except (StoreError, OSError) as error:
        why, _, how = str(error).partition("; ")
        what = f"no temporary store could be used: {why}"
        yield Finding("policy", WRONG, what, how or "make room on the disk")
    yield from store_area.examine(place)
    yield from disk.examine(place)
    yield from machines.examine(place)
    yield from hooks("" if has_secret(place) else named_store)


@contextlib.contextmanager
def _temporary_store(place: str) -> Iterator[Store]:
    """A store on the same disk as *place* where that can be, gone afterwards."""
    folder = Path(place).parent
    near = folder if not is_url(place) and folder.is_dir() and os.access(folder, os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(prefix=".doctor-", dir=near) as made,
        contextlib.closing(open_store(str(Path(made) / "events.db"))) as store,
    ):
        yield store
