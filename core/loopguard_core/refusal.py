"""What the model is told when a call does not run, and what the person is told beside it.

The model learns what repeated, what to do instead, the request's id and that a human must decide; never
the command that would release it. The person learns that command.
"""

from __future__ import annotations

from loopguard_core.verdict import ALLOW, Tier, tool_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard_core.verdict import Ruling, Verdict

_INSTEAD = (
    "Do not make this call again as it is. Use what you already have, change what the call asks for, "
    "try another way, or tell the user what you need."
)
#: the longest word of a host's that is repeated to the person
_WORD = 20
#: How the line for the person begins while the call waits.
WAITS = "call waits for you"
#: What a person reads of a call to which the guard need not object.
_HELD = "it meets a breakpoint of yours."
#: That the call was not run, as policies' reasons say it, and what is left where it has been said.
_NOT_RUN = (
    (" This one was not run.", ""),
    ("This one was not run; one of", "One of"),
    ("; this one was not run and the turn", "; the turn"),
    ("; this one was not run", ""),
    (", so this call was not run and the turn", "; the turn"),
    (", so this call was not run", ""),
)
_STOP = "Stop calling tools now. Tell the user what you have so far and where you are stuck."


def advice(verdict: Verdict) -> str:
    """What is appended to the result of a call that ran, for the model; empty where there is nothing."""
    if verdict.tier is Tier.ALLOW:
        return ""
    text = f"[loopguard] {_why(verdict)}"
    if verdict.tier is Tier.HALT or verdict.ends_turn:
        return f"{text} {_STOP}"
    return text


def beside(message: str, ruling: Ruling, verdict: Verdict | None) -> str:
    """What the model is told beside a result: *message*, and advice by the stronger of the two verdicts.

    None of ours on a call that a human let run.
    """
    before = ruling.verdict
    if before.tier is ALLOW and (verdict is None or verdict.tier is ALLOW):
        return message
    strongest = before if verdict is None or verdict.tier < before.tier else verdict
    if ruling.released or ruling.action != "run":
        return message
    return "\n".join(part for part in (message, advice(strongest)) if part)


def refused(
    ruling: Ruling, request: str, *, late: bool, away: str = "", halted: str = "turn"
) -> str:
    """What the model gets instead of a result. *late*: *request* may still be approved.

    *away*: why nobody can be asked now. *halted*: the scope of a human's halt, where that is the cause.
    """
    parts = [f"[loopguard] This call was not run. {_once(_said(ruling, halted))}"]
    if ruling.ends_turn:
        parts.append(_STOP)
    elif ruling.cause == "deny":
        parts.append(_INSTEAD)
    if away:
        parts.append(f"Nobody can be asked: {away}. A human can let it run once that is back.")
    elif late and request:
        parts.append(
            f"Only a human can let it run; they have been asked (request {request}). "
            "If they agree later, the same call will go through."
        )
    elif request and request != ruling.ref:
        parts.append(f"Only a human can let it run (request {request}).")
    elif ruling.ends_turn or ruling.cause == "latch":
        parts.append("Only a human can let you go on.")
    return " ".join(parts)


def answered(
    resolution: str, ruling: Ruling, request: str, note: str, *, halted: str = "turn"
) -> str:
    """What the model gets when a human's answer stops its call. *halted* as for ``refused``."""
    if resolution == "halted":
        said = _they_say(note)
        return f"[loopguard] This call was not run: a human halted this {halted}.{said} {_STOP}"
    if resolution == "denied":
        said = note or _INSTEAD
        return f"[loopguard] This call was not run: a human denied it (request {request}). {said}"
    return f"[loopguard] This call was not run. {_why(ruling.why)}"


def approved(request: str, note: str) -> str:
    """What the model is told beside the result of a call that a human let run with a note."""
    return f"[loopguard] A human let this call run (request {request}). They say: {note}"


def unanswered(ruling: Ruling) -> str:
    """What the model is told beside the result of a call that ran since nobody answered."""
    said = f"[loopguard] Nobody answered, so this call ran. {_once(_said(ruling, 'turn'))}"
    return f"{said} {_STOP}" if ruling.ends_turn else said


def undeliverable(request: str) -> str:
    """What the model gets where the arguments that a human gave could not reach the agent."""
    return (
        f"[loopguard] This call was not run: a human changed its arguments (request {request}), but they "
        "could not be delivered. Tell the user."
    )


def modified(request: str, note: str) -> str:
    """What the model is told beside the result of a call whose arguments a human changed."""
    said = f" They say: {note}" if note else ""
    return (
        f"[loopguard] A human changed the arguments of this call before it ran (request {request});"
        f" the result is that of the changed call.{said}"
    )


def for_person(
    ruling: Ruling,
    tool: str,
    session: str,
    request: str,
    *,
    waits: bool,
    runs: bool = False,
    late: bool = True,
    store: str = "",
) -> str:
    """One line for the person: machine-readable fields, the reason, and the command that releases.

    *waits*: the call waits for an answer; otherwise it is over already, and *runs* unasked or was refused. *late*:
    it may be approved then.
    *store* is where the event store is, where a console does not find it by itself.
    """
    why, held = ruling.why, ruling.cause == "breakpoint"
    does = WAITS if waits else "call runs, since nobody can be asked" if runs else "call refused"
    fields = [
        f"tier={(why.tier if held else ruling.tier).word}",
        f"tool={plain(tool, 60)}",
        f"count={why.count}",
        f"threshold={why.threshold}",
        f"session={plain(session, 60)}",
    ]
    if held:
        fields.insert(0, "cause=breakpoint")
    if request:
        fields.append(f"request={request}")
    happened = _HELD if held else _happened(why)
    if runs and not waits:
        happened = _once(happened)
    line = f"{does}: {' '.join(fields)}: {plain(happened, 300)}"
    if runs and not waits:
        return line
    if request:
        what = "it" if waits else "its next try"
        return f"{line} (to let {what} run: {_console(store)} {_release(request, waits or late)})"
    return f"{line} (to go on: {_console(store)} resume {plain(session, 60)})"


def after_wait(
    resolution: str, request: str, by: str, *, runs: bool, late: bool = True, store: str = ""
) -> str:
    """One line for the person once a call waits no more that no human let run.

    *runs*: it runs all the same, since nobody answered. *late* and *store* as for ``for_person``.
    """
    does = "the call runs" if runs else "the call was refused"
    named = request or "the request"
    if resolution == "expired":
        command = f" (to let its next try run: {_console(store)} {_release(request, late)})"
        return f"nobody answered {named} in time: {does}{command if request and not runs else ''}"
    how = {"halted": "halted the agent", "denied": f"denied {named}"}.get(resolution)
    if how is None:
        return f"{named} was {resolution}: {does}"
    return f"{plain(by, 60) or 'a human'} {how}: {does}"


def _release(request: str, late: bool) -> str:
    """The command that lets the call of *request* run, which waits or may be approved *late*; else its next try."""
    return f"approve {request}" if late else f"override {request} --calls 1"


def _console(store: str) -> str:
    return f"loopguard-console --store {_quoted(store)}" if store else "loopguard-console"


def _quoted(word: str) -> str:
    """*word* as a shell reads it as one word; what a terminal does not print is spelled out, as bash and zsh read it."""
    if all(c.isalnum() or c in "@%+=:,./-_" for c in word):
        return word
    if word.isprintable():
        return "'" + word.replace("'", "'\\''") + "'"
    return f"$'{''.join(map(_spelled, word))}'"


def _spelled(c: str) -> str:
    if c.isprintable():
        return f"\\{c}" if c in "'\\" else c
    code = ord(c)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file's name that is no text
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x80 else f"\\U{code:08x}"


def no_outcome(said: str, known: Iterable[str]) -> str:
    """One line for the person about how a call is *said* to have ended, which is no way that is *known*.

    A word is repeated. What is more than that may be anything, also the result and what is secret in it.
    """
    word = said if said.isalpha() and len(said) <= _WORD else f"a text of {len(said)} characters"
    return f"the outcome of a call is one of {', '.join(known)}, not {plain(word, 60)}: recorded as error"


def plain(text: str, limit: int) -> str:
    """*text* on one line for a terminal or a log: what is not printable is spelled out."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii")
        for c in cut
    )


def _said(ruling: Ruling, halted: str) -> str:
    if ruling.cause == "halt":
        return f"A human halted this {halted}.{_they_say(ruling.note)}"
    if ruling.cause == "deny":
        return f"A human has already denied it in this turn.{_they_say(ruling.note)}"
    if ruling.cause == "breakpoint":
        return f"A human wants to see such calls first. {ruling.note}".rstrip()
    if ruling.cause == "latch":
        return f"The turn is halted: {_why(ruling.why)}"
    return _why(ruling.why)


def _once(reason: str) -> str:
    """*reason* behind words that say that the call was not run, without saying so again."""
    for said, left in _NOT_RUN:
        reason = reason.replace(said, left)
    return reason


def _they_say(note: str) -> str:
    """A human's note as a sentence that others may follow."""
    return f" They say: {_stopped(note)}" if note.strip() else ""


def _happened(verdict: Verdict) -> str:
    """What happened, for a person: the first sentence. What follows tells the model what to do."""
    return _why(verdict).split(". ", 1)[0].rstrip(".") + "."


def _stopped(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _why(verdict: Verdict) -> str:
    if verdict.reason:
        return _stopped(verdict.reason)
    tool = plain(tool_of(verdict.signature) or "the tool", 80)
    detector = verdict.detector or verdict.policy
    often = "once" if verdict.count == 1 else f"{verdict.count} times"
    return f"{tool} was called {often} in the same way ({detector}). {_INSTEAD}"
