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
from loopguard_core.store.search import Hit, open_index

#: Seconds between two words about a large index that is being made.
_SLICE = 2.0


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
        else:
            session = find_session(store, named).session if named else ""
            hits = _search(store, " ".join(words), session, limit)
    for hit in hits:
        if as_json:
            emit({"session": hit.session, "seq": hit.seq, "again": hit.again, "text": hit.text})
            continue
        again = f" (and {times_more(hit.again)})" if hit.again else ""
        say(f"{safe(hit.session, 40)} {hit.seq}: {safe(' '.join(hit.text.split()), 160)}{again}")
    if not hits and not as_json:
        remark("nothing was found")


def _search(store: Store, words: str, session: str, limit: int) -> list[Hit]:
    if not any(c.isalnum() or c == "_" for c in words):
        raise Refused("name a word to search for: letters or digits")
    with contextlib.closing(open_index(store)) as index:
        while not index.update(_SLICE):
            remark("reading what is new …")
        return index.search(words, session=session, limit=limit)
