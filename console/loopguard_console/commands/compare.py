"""``compare``: what each of several policies would have done with recordings."""

from __future__ import annotations

from collections.abc import Iterator

import click

from loopguard_console.errors import Refused
from loopguard_console.inputs import open_inputs, read_events
from loopguard_console.output import emit, json_option, remark, say, table
from loopguard_console.parameters import POLICIES, format_option
from loopguard_console.policies import choose
from loopguard_console.progress import watched
from loopguard_console.render import cut_head
from loopguard_core.events import Event
from loopguard_core.foreign import once
from loopguard_core.importers import Stream
from loopguard_core.policies import registry
from loopguard_core.recording.comparing import Comparison
from loopguard_core.recording.comparing import compare as compared
from loopguard_core.verdict import Tier

_NAME = 48
_HEADS = (
    "recording",
    "policy",
    "calls",
    "first warn",
    "first block",
    "first halt",
    "not run",
    "stopped progress",
)
_LABEL_KEYS = (
    "stuck",
    "stuck_stopped",
    "stuck_warned",
    "stuck_missed",
    "fine",
    "fine_stopped",
    "fine_warned",
)
_LABEL_HEADS = (
    "recording",
    "policy",
    "detector",
    "stuck",
    "stopped",
    "warned",
    "missed",
    "fine",
    "stopped",
    "warned",
)


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--policies",
    "names",
    metavar="NAMES",
    default="",
    help=f"Policies to ask, separated by commas, of {POLICIES} (default: all).",
)
@click.option("--config", metavar="FILE", help="Take options and tools from this loopguard.toml.")
@format_option
@json_option
def compare(
    files: tuple[str, ...], names: str, config: str | None, format_name: str, as_json: bool
) -> None:
    """Ask several policies about recordings: where each would first warn, block and halt.

    "not run" counts calls that would not have run; "stopped progress" those among them whose recorded
    result was new: stops that would have cost something. Where people labelled calls as stuck or fine, it
    says which of these each policy would have stopped, warned of and missed, and by which detector. FILE
    is a recording, a transcript of a known agent, a folder, a glob, or - for standard input.
    """
    wanted = [name.strip() for name in names.split(",")] if names else registry.names()
    if "" in wanted:
        raise Refused("--policies: a name is missing between the commas")
    chosen = {name: choose(name, None, config, option="--policies") for name in wanted}
    tell = once(remark)
    policies = {name: one.make_policy(tell) for name, one in chosen.items()}
    traits = chosen[wanted[0]].trait_table()
    rows: list[Comparison] = []
    for file in files:
        for stream in open_inputs(file, format_name):
            for name, events in _sessions(stream):
                for row in compared([(name, events)], policies, traits=traits):
                    rows.append(row)
                    if as_json:
                        emit(row.to_json())
    if not as_json:
        table(_HEADS, list(_lines(rows)), right=range(2, len(_HEADS)))
        labelled = list(_label_lines(rows))
        if labelled:
            say()
            table(_LABEL_HEADS, labelled, right=range(3, len(_LABEL_HEADS)))


def _sessions(stream: Stream) -> Iterator[tuple[str, list[Event]]]:
    """The sessions of one input by name, in the order in which they begin."""
    place = stream.source.place
    held: dict[str, list[Event]] = {}
    for event in watched(read_events(stream), place):
        held.setdefault(event.session, []).append(event)
    for session, events in held.items():
        yield (place if len(held) == 1 else f"{place}#{session}"), events


def _lines(rows: list[Comparison]) -> Iterator[list[str]]:
    before = ""
    for row in rows:
        yield ["" if row.recording == before else cut_head(row.recording, _NAME), *_cells(row)]
        before = row.recording


def _label_lines(rows: list[Comparison]) -> Iterator[list[str]]:
    """For each policy what it makes of the labelled calls, below it the same by detector."""
    before = ""
    for row in rows:
        labels = row.labels
        if labels is None:
            continue
        name = "" if row.recording == before else cut_head(row.recording, _NAME)
        before = row.recording
        numbers = labels.to_json()
        yield [name, row.policy, "", *(str(numbers[key]) for key in _LABEL_KEYS)]
        for detector, of in labels.detectors.items():
            yield ["", "", detector, *(str(of.get(key, "")) for key in _LABEL_KEYS)]


def _cells(row: Comparison) -> list[str]:
    firsts = [
        "" if row.first[t] is None else str(row.first[t])
        for t in (Tier.WARN, Tier.BLOCK, Tier.HALT)
    ]
    return [
        row.policy,
        str(row.calls),
        *firsts,
        str(row.not_run),
        str(row.stopped_progress),
    ]
