"""Arguments and results on the card, and what changed since the call before that counts as the same."""

from __future__ import annotations

import difflib

from textual.content import Content

from loopguard_console.keys.keynames import KeyNames
from loopguard_console.render import collapse_frames, counted, pretty, safe, size
from loopguard_console.viewing.view import View
from loopguard_core.recording.calls import Row

#: Characters of a payload that are laid out; the rest is for the pager.
SHOWN = 4_000


def payloads(view: View, row: Row) -> Content:
    recording = view.recording
    args = pretty(recording.args(view.cursor))
    parts = [payload("ARGUMENTS", args, view.names)]
    like = recording.like_before(view.cursor)
    if like is not None and recording.args(like) != recording.args(view.cursor):
        changed = _changes(
            recording.args(like), recording.args(view.cursor), like + 1, "ARGUMENTS "
        )
        parts.append(changed)
    if row.outcome != "running":
        result = recording.result(view.cursor)
        text = "" if result is None else collapse_frames(pretty(result))
        parts.append(payload("RESULT", text, view.names))
        before = recording.like_before(view.cursor)
        if before is not None and result is not None:
            parts.append(_changes(recording.result(before), result, before + 1))
    return Content("\n").join([part for part in parts if part.plain])


def payload(title: str, text: str, names: KeyNames) -> Content:
    shown = safe(text[:SHOWN], lines=True)
    more = len(text) - SHOWN
    return Content.assemble(
        (title, "bold $text-primary"),
        (f"  {counted(len(text), 'character', short=True)}\n", "$dim"),
        (shown or "(empty)", "" if shown else "$dim"),
        (
            f"\n… {size(more)} more; {names.of('pager')} shows all of it" if more > 0 else "",
            "$text-warning",
        ),
        "\n",
    )


def _changes(before: object, after: object, number: int, what: str = "") -> Content:
    """What differs from the answer to the same call before, at most a few lines."""
    one, other = pretty(before)[:SHOWN], pretty(after)[:SHOWN]
    if one == other:
        return Content.assemble((f"the same answer as call {number}\n", "$dim"))
    diff = [
        line
        for line in difflib.unified_diff(one.splitlines(), other.splitlines(), lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ][:12]
    styles = {"-": "$text-error", "+": "$text-success"}
    lines = [
        Content.assemble((safe(line, lines=False)[:300], styles.get(line[:1], ""))) for line in diff
    ]
    return Content.assemble((f"{what}CHANGED SINCE CALL {number}\n", "bold $text-primary")).append(
        Content("\n").join(lines).append("\n")
    )
