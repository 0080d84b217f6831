"""``search``: words in what all sessions said, asked for and got."""

from __future__ import annotations

import contextlib

import click

from loopguard_console.errors import Refused
from loopguard_console.output import emit, json_option, remark, say
from loopguard_console.parameters import Whole
from loopguard_console.render import safe, times_more
from loopguard_console.stores import Options, find_session, reading
from loopguard_core.store.contract import Store
from loopguard_core.store.index import Hit
from loopguard_core.store.search import open_index

#: Seconds between two words about a large index that is being made.
_SLICE = 2.0
#: Events before a call's end among which its start is looked for first.
_BACK = 16


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--session", "named", metavar="SESSION", default="", help="Only in this session.")
@click.option(
    "--limit", metavar="N", default=50, show_default=True, type=Whole(1), help="At most so many."
)
@json_option
@click.pass_obj
def search(options: Options, words: tuple[str, ...], named: str, limit: int, as_json: bool) -> None:
    """Find WORDS in the arguments, results and texts of all sessions, the best first.

    All words must be there, in any order; a word also finds what begins with it, and "several words" in
    quotes stand together. Secrets were never stored, so they are not found.
    """
    with reading(options) as store:
        if store is None:
            hits: list[Hit] = []
            places: list[tuple[bool, int]] = []
        else:
            session = find_session(store, named).session if named else ""
            hits = _search(store, " ".join(words), session, limit)
            places = [_place(store, hit) for hit in hits]
    for hit, (of_call, number) in zip(hits, places, strict=True):
        if as_json:
            call = number if of_call else None
            found = {"session": hit.session, "seq": hit.seq, "call": call}
            emit({**found, "again": hit.again, "text": hit.text})
            continue
        again = f" (and {times_more(hit.again)})" if hit.again else ""
        where = f"call {number}" if of_call else f"before call {number + 1}"
        say(f"{safe(hit.session, 40)} {where}: {safe(' '.join(hit.text.split()), 160)}{again}")
    if len(hits) == limit and not as_json:
        remark(f"only the best {limit}; a higher --limit finds more")
    if not hits and not as_json:
        remark("nothing was found")


def _place(store: Store, hit: Hit) -> tuple[bool, int]:
    """Whether *hit* is of a call, and the number that ``show`` gives this one, or the one before it."""
    seq = hit.seq
    found = store.read(hit.session, after=seq - 1, limit=1, payloads=False)
    call = found[0].text("call") if found else ""
    of_call = bool(call) and found[0].type in ("call_start", "call_end")
    if of_call and found[0].type == "call_end":
        seq = _start(store, hit.session, call, seq) or seq
    return of_call, store.calls_upto(hit.session, seq)


def _start(store: Store, session: str, call: str, before: int) -> int:
    """Where *call* started, looking back from its end; 0 where the log does not say."""
    size = _BACK
    while before > 1:
        after = max(0, before - 1 - size)
        part = store.read(session, after=after, limit=before - 1 - after, payloads=False)
        for event in reversed(part):
            if event.type == "call_start" and event.text("call") == call:
                return event.seq
        before, size = after + 1, 2 * size
    return 0


def _search(store: Store, words: str, session: str, limit: int) -> list[Hit]:
    if not any(c.isalnum() or c == "_" for c in words):
        raise Refused("name a word to search for: letters or digits")
    with contextlib.closing(open_index(store)) as index:
        while not index.update(_SLICE):
            remark("reading what is new …")
        return index.search(words, session=session, limit=limit)
