"""``import``: transcripts of agents into the event store."""

from __future__ import annotations

from collections.abc import Iterator

import click

from loopguard_console.errors import Refused
from loopguard_console.inputs import open_inputs
from loopguard_console.offering import listed
from loopguard_console.output import emit, json_option, remark, say
from loopguard_console.parameters import format_option
from loopguard_console.progress import measured
from loopguard_console.render import counted
from loopguard_console.stores import Options, place_of, refuse_inside
from loopguard_core.config import load_config
from loopguard_core.events import Event
from loopguard_core.identity import Digester
from loopguard_core.importers import Stream
from loopguard_core.importers.places import Found, find
from loopguard_core.importers.storing import Imported, StoreWriter
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import machine_key

_LISTED = 50


@click.command(name="import")
@click.argument("files", metavar="FILE...", nargs=-1)
@click.option("--find", "finding", is_flag=True, help="List what lies in the agents' usual places.")
@click.option(
    "--all", "everything", is_flag=True, help="With --find: all of it, not the newest 50."
)
@format_option
@json_option
@click.pass_obj
def import_(
    options: Options,
    files: tuple[str, ...],
    finding: bool,
    everything: bool,
    format_name: str,
    as_json: bool,
) -> None:
    """Take transcripts into the event store.

    FILE is a transcript of a known agent, a recording, a folder, a glob, or - for standard input. What the
    store has already is passed over, so an import that was stopped goes on where it stopped, a transcript
    that grew is added to, and importing twice adds nothing.
    """
    if finding:
        _list(find(), everything, as_json)
        return
    if not files:
        raise Refused("name a FILE to import, or --find to list what lies in the usual places")
    store = _open(options)
    try:
        digester = Digester(machine_key(store.place))
        for file in files:
            for stream in open_inputs(file, format_name):
                _say(stream, _import(stream, store, digester), as_json)
    finally:
        store.close()


def _open(options: Options) -> Store:
    config = load_config()
    place = place_of({"store": options.get("store") or config.store})
    refuse_inside({"store": place})  # a transcript may hold a person's words
    return open_store(place, redaction=config.redaction, limit=config.payload_limit)


def _import(stream: Stream, store: Store, digester: Digester) -> Imported:
    writer = StoreWriter(store, digester)
    try:
        return writer.add_all(_measured(stream))
    except KeyboardInterrupt:
        writer.flush()
        remark("stopped; the same command goes on from here")
        raise


def _measured(stream: Stream) -> Iterator[Event]:
    source = stream.source
    return measured(stream, source.place, total=source.size, position=lambda: source.position)


def _say(stream: Stream, result: Imported, as_json: bool) -> None:
    if stream.report.nothing_read:
        return  # the one who opens the files says so
    place = stream.source.place
    if as_json:
        emit(
            {
                "file": place,
                "format": stream.importer.name,
                "sessions": sorted(result.sessions),
                "events": result.added,
                "known": result.known,
                "repeated": result.repeated,
                "refused": result.refused,
                "report": stream.report.to_json(),
            }
        )
        return
    for session, why in result.refused.items():
        remark(f"{place}: session {session} was left alone: {why}")
    sessions = counted(len(result.sessions), "session")
    known = f", {result.known} were there already" if result.known else ""
    say(
        f"{place}: {stream.importer.title}, {sessions}, "
        f"{counted(result.added, 'event')} added{known}"
    )


def _list(found: list[Found], everything: bool, as_json: bool) -> None:
    if as_json:
        for one in found:
            emit(
                {
                    "agent": one.agent,
                    "file": str(one.path),
                    "changed": one.changed,
                    "bytes": one.size,
                }
            )
        return
    if not found:
        remark("no transcripts in the usual places; name a file instead")
        return
    shown = found if everything else found[:_LISTED]
    listed(shown)
    if len(shown) < len(found):
        more = len(found) - len(shown)
        remark(f"{counted(more, 'older transcript')} not shown; --all shows all")
