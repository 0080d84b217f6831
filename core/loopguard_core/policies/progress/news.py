"""Whether an answer is news, and if not, what else it is."""

from __future__ import annotations

from loopguard_core.policies.progress.answers import (
    DENIED,
    INVALID,
    NOTHING_FOUND,
    READ_BEFORE,
    SAME_ANSWER,
    SAME_TARGET,
    TIMEOUT,
    TRANSIENT,
    UNKNOWN_TOOL,
)
from loopguard_core.policies.progress.limits import ALIKE, EMPTY, FLIPS, SAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.identity import Record
    from loopguard_core.policies.progress.state import Agent, Asked

#: News; the same call with the same answer; another call that came back like one before; the same answer after
#: real time; an outage; an answer with nothing but another time; none of these.
NEWS, REPEAT, DRY, WAITED, OUTAGE, CLOCK, CLEAR = range(7)


def denied(agent: Agent, asked: Asked) -> int:
    """Another permission system or the human refused: never news, whatever the words."""
    asked.failing, asked.worth = DENIED, SAME
    if not asked.last:
        asked.last = f"!{DENIED}"
    key = f"{asked.tool}!{DENIED}"
    if key in agent.known:
        return DRY
    agent.known[key] = None
    return REPEAT


def failed(agent: Agent, asked: Asked, record: Record) -> int:
    """A failure: news only where the same call failed in another way than ever before."""
    kind = record.get("c", "")
    answer = f"!{record.get('e', '')}"
    again = answer in asked.answers
    asked.failing, asked.worth, asked.how = kind or "failure", SAME, "f"
    if kind == DENIED and asked.last:
        return REPEAT
    asked.last = answer
    if kind in TRANSIENT or kind == TIMEOUT:
        asked.outages += 1
        if kind != TIMEOUT:
            asked.refused = 0
            return OUTAGE
    if again:
        return REPEAT
    if _failed_alike(agent, asked, answer, kind):
        return DRY
    return NEWS if asked.answers else CLEAR


def _failed_alike(agent: Agent, asked: Asked, answer: str, kind: str) -> bool:
    """True where this agent has seen the same pattern from this tool, or the same kind of failure."""
    known = agent.known
    pattern, group = (answer if kind == UNKNOWN_TOOL else asked.tool + answer), f"!{kind}"
    seen, alike = pattern in known, kind != "" and group in known
    known[pattern] = None
    if kind:
        known[group] = None
    if alike and not seen and kind not in (UNKNOWN_TOOL, INVALID):
        asked.worth = ALIKE
    return seen or alike


def answered(agent: Agent, asked: Asked, flags: str, request: Record, record: Record) -> int:
    """A success: news where the request is new, or its answer differs in substance from all before."""
    before, exact = asked.failing, record.get("x", "")
    asked.failing, asked.worth, asked.how = "", SAME, ""
    key = exact
    # compared otherwise than to the letter, or an outage
    if asked.same or "n" in record or "b" in record or "o" in record:
        key = _key(asked, record, exact)
        if record.get("o"):
            asked.failing = record["o"]
            asked.outages += 1
            asked.refused = 0
            asked.last = key
            return OUTAGE
    asked.outages = 0
    if asked.tool not in agent.worked and "e" not in record:
        agent.worked[asked.tool] = None
    if "z" in flags:
        asked.last = key
        return CLEAR
    if asked.answers:
        last = asked.last
        judged = _again(agent, asked, request, record, exact, key)
        if asked.last == last and before in (SAME_ANSWER, READ_BEFORE, SAME_TARGET):
            asked.failing, asked.worth = before, ALIKE
        return judged
    asked.last, asked.letter = key, exact
    if "t" in record:
        asked.clocks = {record["t"]: 1}
    return _first(agent, asked, flags, request, record, exact)


def _key(asked: Asked, record: Record, exact: str) -> str:
    """The digest by which this answer is compared with others of the same call."""
    if "b" in record:
        _link(asked, *record["b"])
    steady: str = record.get("n", "")
    if not steady:
        return asked.same.get(exact, exact) if asked.same else exact
    _link(asked, exact, steady, "")  # the next such answer may come without
    return steady


def _link(asked: Asked, exact: str, steady: str, timeless: str) -> None:
    """An answer that was kept to the letter is now known by its normalised digest."""
    if exact != steady:
        if asked.same is None:
            asked.same = {}
        asked.same[exact] = steady
        count = asked.answers.pop(exact, 0)
        if count:
            asked.answers[steady] = asked.answers.get(steady, 0) + count
        if asked.last == exact:
            asked.last = steady
    if timeless and timeless != steady:
        if asked.clocks is None:
            asked.clocks = {}
        asked.clocks.setdefault(timeless, 1)


def _first(
    agent: Agent, asked: Asked, flags: str, request: Record, record: Record, answer: str
) -> int:
    """A new request: news, unless what it brought was known."""
    if "b" in flags:
        return CLEAR
    tool = asked.tool
    if "e" in record:
        if _failed_alike(agent, asked, f"!{record['e']}", record.get("c", "")):
            asked.failing = record.get("c") or "failure"
            return DRY
    elif "q" in flags:
        empty = "z" in record
        key = f"{tool}?" if empty else f"{tool}={record.get('u', answer)}"
        if empty:
            asked.failing, asked.worth = NOTHING_FOUND, EMPTY
        if key in agent.known and (empty or "h" in record):
            if not empty:
                asked.failing, asked.worth = SAME_ANSWER, ALIKE
            return DRY
        agent.known[key] = None
    elif "h" in record and "r" in flags and "g" not in request:
        key = f"{tool}={record.get('u', answer)}"
        if key in agent.known:
            asked.failing, asked.worth = SAME_ANSWER, ALIKE
            return DRY
        agent.known[key] = None
    if "g" in request or "p" in request or "k" in request:  # it names lines, a path, a receiver
        return _placed(agent, asked, request, record, answer)
    return NEWS


def _placed(agent: Agent, asked: Asked, request: Record, record: Record, answer: str) -> int:
    """A new request that names lines, a path or the target of a message: news, unless that was known."""
    tool = asked.tool
    if "g" in request:
        target, first, end = request["g"]
        if end is None:
            end = first + max(int(record.get("l", 1)), 1)
        known = f"{target}={answer}"
        if agent.cover(target, first, end) or known in agent.known:
            asked.failing, asked.worth = READ_BEFORE, EMPTY
            return DRY
        agent.known[known] = None
    if "p" in request:
        spelled = request["p"]
        if agent.seen_as.setdefault(f"{tool}{answer}", spelled) != spelled:
            return REPEAT
    if "k" in request:
        target, said = f"{tool}{request['k']}", str(record.get("u", answer))
        if agent.kin.get(target) == said:
            asked.failing, asked.worth = SAME_TARGET, ALIKE
            return DRY
        agent.kin[target] = said
    return NEWS


def _again(
    agent: Agent, asked: Asked, request: Record, record: Record, exact: str, key: str
) -> int:
    """A request that was made before: a repeat, unless its answer differs in substance."""
    before = asked.last
    if "z" in record and "q" in request["f"]:
        asked.failing, asked.worth = NOTHING_FOUND, EMPTY
    asked.last = key
    if key not in asked.answers:
        asked.letter = exact
        return CLOCK if "t" in record and _only_time(asked, record["t"]) else NEWS
    if exact != asked.letter:
        asked.how, asked.letter = "v", exact
    if key != before and agent.before[0] == asked.signature and asked.flips < FLIPS:
        asked.flips += 1
        return CLEAR
    return REPEAT


def _only_time(asked: Asked, timeless: str) -> bool:
    if asked.clocks is None:
        asked.clocks = {}
    known = asked.clocks.get(timeless, 0)
    asked.clocks[timeless] = known + 1
    if known:
        asked.how = "t"
    return known > 0
