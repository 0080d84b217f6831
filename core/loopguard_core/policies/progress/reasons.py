"""The sentences of ``progress``: what repeated, how often, what did not change, what to do instead."""

from __future__ import annotations

from loopguard_core.policies.keys import BY_MATCH
from loopguard_core.policies.progress.answers import (
    DENIED,
    NOTHING_FOUND,
    READ_BEFORE,
    SAME_ANSWER,
    SAME_TARGET,
    TIMEOUT,
    TRANSIENT,
)
from loopguard_core.policies.wording import CHANGE, DIAGNOSE, named
from loopguard_core.policies.wording import times as _times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.identity import Record
    from loopguard_core.policies.progress.state import Agent, Asked

_FLAGS = (
    ("r", "read-only"),
    ("m", "mutating"),
    ("b", "bookkeeping"),
    ("p", "poller"),
    ("q", "search"),
    ("t", "message"),
    ("z", "sleep"),
)
_COSMETICS = (
    ("m", BY_MATCH),
    ("f", "ignored fields normalised"),
    ("j", "JSON spelling normalised"),
    ("p", "path spelling normalised"),
    ("s", "white space normalised"),
)


def times(count: int) -> str:
    """*count* in words."""
    return f"{count} times" if count > 2 else _times(count)


_ANSWERS = {
    "": (),
    "v": ("volatile parts ignored",),
    "f": ("failure pattern",),
    "t": ("times ignored",),
}
_known: dict[tuple[str, str | None, str | None, str], tuple[str, ...]] = {}


def traits(record: Record, how: str = "") -> tuple[str, ...]:
    """The traits and normalisations of a request and (*how*, see ``Asked``) of its answer, in words."""
    try:
        return _known[record["f"], record.get("d"), record.get("v"), how]
    except KeyError:
        if len(_known) > 500:
            _known.clear()
        key = (record["f"], record.get("d"), record.get("v"), how)
        found = _known[key] = _traits(*key)
        return found


def _traits(flags: str, cosmetics: str | None, source: str | None, how: str) -> tuple[str, ...]:
    found = [word for letter, word in _FLAGS if letter in flags]
    if found:
        found.append(f"traits from {source or 'rule'}")
    found += [word for letter, word in _COSMETICS if letter in (cosmetics or "")]
    return (*found, *_ANSWERS.get(how, ()))


def again(tool: str, agent: Agent, asked: Asked, *, halts: bool) -> str:
    """Why the same call is stopped."""
    return _story(tool, agent, asked, " The turn ends here." if halts else " This one was not run.")


def warned(tool: str, agent: Agent, asked: Asked) -> str:
    """Why the same call is warned about, after it ran."""
    return _story(tool, agent, asked, "")


def _story(tool: str, agent: Agent, asked: Asked, end: str) -> str:
    name, kind, more = named(tool), asked.failing, ""
    count = times(asked.answers.get(asked.last, 0))
    if asked.open:
        more = f"; {asked.open} more like it still {'runs' if asked.open == 1 else 'run'}"
    if asked.refused and kind != DENIED:
        more += f"; {asked.refused} more like it {'was' if asked.refused == 1 else 'were'} refused"
    if not kind:
        what = f"called {count} with the same arguments and gave the same answer"
    elif kind == DENIED:
        what = f"requested {times(asked.repeats)} with the same arguments and denied"
    else:
        how = "" if kind == "failure" else f" ({kind})"
        what = f"called {count} with the same arguments and came back the same way{how}"
    advice = _advice(kind) if kind else CHANGE
    return (
        f"{name} was {what}{more}. The last {agent.stale} steps brought nothing new.{end} {advice}"
    )


def _advice(kind: str) -> str:
    if kind == DENIED:
        return "Asking again will not change the decision: do something else, or ask the user."
    return CHANGE if kind == NOTHING_FOUND else DIAGNOSE


def burst(tool: str, count: int, *, stopped: bool) -> str:
    """Why identical calls inside one message are one too many."""
    end = "This one was not run; one of them is enough." if stopped else "One of them is enough."
    return f"One message holds {count} identical calls of {named(tool)}. {end} {CHANGE}"


def varying(tool: str, agent: Agent, *, halts: bool = False) -> str:
    """Why calls with ever other arguments are slowed down."""
    kind = agent.dry_class
    count = agent.dry_count
    if kind == NOTHING_FOUND:
        what = f"The last {count} searches, each with other words, found nothing."
        then = "What you look for may not be there: say so, or look elsewhere."
    elif kind == SAME_ANSWER:
        what = f"The last {count} searches, each with other words, gave an answer that you already have."
        then = "Use what you have, or look elsewhere."
    elif kind == READ_BEFORE:
        what = f"The last {count} reads of {named(tool)} brought no line that was not read before."
        then = "Use what you have read."
    elif kind == SAME_TARGET:
        what = f"{named(tool)} sent {count} more messages to the same place and got the same answer each time."
        then = "Wait for a reply, or stop."
    elif kind == DENIED:
        what = f"The last {count} requests were denied, though the arguments changed."
        then = "Other arguments will not change the decision: do something else, or ask the user."
    else:
        named_kind = "in the same way" if kind in ("", "failure") else f"alike: {kind}"
        what = f"The last {count} attempts failed {named_kind}, though the arguments changed."
        then = DIAGNOSE
    end = " The turn ends here." if halts else ""
    return f"{what}{end} {then}"


def outage(tool: str, kind: str, count: int, *, stopped: bool = False) -> str:
    """What is said of a failure that passes by itself."""
    if kind == TIMEOUT:
        end = " This one was not run." if stopped else ""
        return (
            f"{named(tool)} timed out {times(count)}; it may hang each time.{end}"
            " Give it less to do or more time, go on with other work, or tell the user."
        )
    word = kind if kind in TRANSIENT else "outage"
    end = " This one was not run." if stopped else ""
    return (
        f"{named(tool)} met a transient {word} {times(count)}; the service, not the request, is at fault.{end}"
        " Wait longer before each retry, go on with other work, or tell the user."
    )


def clock(tool: str, count: int) -> str:
    """What is said where only a time in the answer changes."""
    return (
        f"{named(tool)} answered {times(count)} with nothing but a time that changed (ignored: times)."
        f" If the time is not what you wait for: {CHANGE[0].lower()}{CHANGE[1:]}"
    )


def waiting(tool: str, count: int) -> str:
    """What is said of a long wait."""
    return (
        f"{named(tool)} has been asked {times(count)} over time and its answer never changed."
        " Check that what you wait for still runs, or tell the user."
    )
