"""``judge``: what a policy says of every call in a recording."""

from __future__ import annotations

import click

from loopguard_console.inputs import open_input, read_events, say_report
from loopguard_console.output import emit, json_option, remark, room, say
from loopguard_console.parameters import POLICIES, format_option
from loopguard_console.policies import choose
from loopguard_console.progress import watched
from loopguard_console.render import counted, in_lines, preview, safe
from loopguard_core.foreign import once
from loopguard_core.recording.judging import Row
from loopguard_core.recording.judging import judge as judged
from loopguard_core.verdict import Tier, Verdict

STOPPED = 3


@click.command()
@click.argument("file", metavar="FILE|-")
@click.option(
    "--policy",
    "name",
    metavar="NAME",
    default="",
    help=f"The policy to ask: {POLICIES} (default: the configured one).",
)
@click.option(
    "--options", "options", metavar="JSON", help="Options of the policy, as a JSON object."
)
@click.option("--config", metavar="FILE", help="Take policy, options and tools from FILE.")
@format_option
@json_option
def judge(
    file: str, name: str, options: str | None, config: str | None, format_name: str, as_json: bool
) -> int:
    """Ask a policy about every call in a recording.

    FILE holds events (JSON Lines) or a transcript of a known agent; - is standard input. The policy is
    asked alone, without grants, latch or mode, and a call that it refuses is judged on. With --json, one
    object a call. Exit code 3 where something was blocked or halted, else 0.
    """
    chosen = choose(name, options, config)
    worst = Tier.ALLOW
    calls = 0
    with open_input(file, format_name) as stream:
        events = watched(read_events(stream), stream.source.place)
        for row in judged(events, chosen.make_policy(once(remark)), traits=chosen.trait_table()):
            calls += 1
            worst = max(worst, *(v.tier for v in (row.before, row.after) if v is not None), worst)
            if as_json:
                emit(row.to_json())
                continue
            if calls == 1:
                say(HEADING)
            for part in in_lines(line(row), room(), indent=22):
                say(part)
        say_report(stream)
    if not as_json:
        many = counted(calls, "call")
        say(f"{many} judged by {chosen.policy_name}; the strongest verdict is {worst.word}")
    return STOPPED if worst >= Tier.BLOCK else 0


#: What the columns are: the place of the event, and the tiers before the call and after its result.
HEADING = "event  before after   call"


def line(row: Row) -> str:
    """One call for people."""
    call = f"{safe(row.tool) or '(no name)'}({preview(row.args.value, 40)})"
    stages = f"{_word(row.before):6} {_word(row.after):6}"
    verdict = row.verdict
    if verdict is None or verdict.tier is Tier.ALLOW:
        return f"{row.at:5}  {stages}  {call}"
    of = f" {verdict.count}/{verdict.threshold}" if verdict.threshold else ""
    return f"{row.at:5}  {stages}  {call}  {verdict.detector}{of}: {verdict.reason}"


def _word(verdict: Verdict | None) -> str:
    return "-" if verdict is None else str(verdict.tier.word)
