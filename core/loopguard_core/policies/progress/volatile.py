"""Taking out of a success what changes by itself, word by word.

A number is news unless a word beside it says otherwise. Labelled ones (process ids, request ids, the
call's own duration, a reader's tally) are taken out; times are taken out only in a second reading,
which may warn but never stop. Only words that are not plain letters are looked at.
"""

from __future__ import annotations

from loopguard_core.identity import EDGE, LONG
from loopguard_core.patterns import DOTALL, IGNORECASE, lazy

_DIGITS = frozenset("0123456789")
_UUID = lazy(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_COLOURS = lazy(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_HEX = lazy(r"0x[0-9a-f]{4,}")
_NUMBER = lazy(r"([0-9][0-9.,]*)([a-zµ%]*)")
#: ``1h2m3s``, ``0m0.42s``: the number and the unit of its last part count.
_SPAN = lazy(r"(?:[0-9]+[dhm])+([0-9]+(?:\.[0-9]+)?)(m?s)")
_DATE = lazy(r"\d{4}[-/]\d\d[-/]\d\d(?:$|[t_ ])|\d{1,2}[./]\d{1,2}[./]\d{4}$")
_NOTICE = lazy(
    r"\n?\[[^\]\n]{0,80}\b(?:loop\w*|guard\w*|repeated|duplicate|no[- ]progress)\b[^\]\n]{0,600}\][^\n]*"
    r"|<(system-reminder|system_warning|hook_context|loop-?guard|notice)>.{0,4000}?</\1>",
    IGNORECASE | DOTALL,
)
_FLAT = str.maketrans(
    {**dict.fromkeys("\"'()[]{},;|<>`\\", " "), **{chr(c): chr(c + 32) for c in range(65, 91)}}
)
_ENDS = ".:=#!?*-_/@~"

_UNITS = frozenset(
    "ns us µs ms s sec secs second seconds m min mins minute minutes h hr hrs hour hours msec msecs"
    " millisecond milliseconds microseconds".split()
)
_PROCESS = frozenset(("pid", "ppid", "tid"))
#: What carries an id of the call itself, not of the thing that was asked for.
_OWN = frozenset(
    "request req trace span session sess correlation run execution exec invocation transaction tx chunk process"
    " thread connection conn worker container instance call query conversation log response message-id x-request".split()
)
#: Of these a bare number is enough; "chunk 12" or "message 5" is what was asked for.
_OWN_BARE = frozenset(
    "request req trace span correlation invocation process thread connection conn x-request".split()
)
#: What runs a call, and is numbered: ``Thread-12``.
_RUNS = frozenset(("thread", "pid"))
#: What leads a made-up name: ``job-8f3a2b1c``.
_NOUNS = frozenset("job id ticket issue order build deploy deployment pod tmp task".split())
_MAKES = frozenset(
    "created opened submitted queued enqueued scheduled placed started launched registered issued added booked"
    " triggered spawned posted new".split()
)
#: A duration after these is still to come, or a place in something that goes on.
_AHEAD = frozenset(
    "eta remaining left countdown wait retry again starts due try every timeout limit within"
    " position offset playhead at to until through".split()
)
#: Ids by their very name. A digest of a content is none: it changes with the content.
_TOKENS = frozenset(
    ("uid", "uuid", "guid", "nonce", "rid", "cid", "traceparent", "cf-ray", "x-amz-id-2")
)
_TOOK = frozenset(("took", "duration", "latency", "runtime", "time", "ran", "spent"))
_IN = frozenset(("in", "after", "finished", "completed", "done"))
#: An address in memory after these says nothing; elsewhere it is what a debugger was asked for.
_POINTS = frozenset("at addr address ptr pointer handle object".split())
_LASTS = frozenset(("elapsed", "uptime", "age", "for", "up", "since", "last", "running"))
#: Of these a number without a unit is a time.
_AGES = frozenset(("uptime", "elapsed", "age", "duration", "latency"))
#: What a call to a model says that it has used.
_USED = frozenset(
    "prompt_tokens completion_tokens total_tokens input_tokens output_tokens cached_tokens".split()
)
_CLOCKED = frozenset(("real", "user", "sys"))
_MONTHS = frozenset(
    "jan feb mar apr may jun jul aug sep oct nov dec january february march april june july august september"
    " october november december".split()
)
_COUNTED = frozenset(
    "attempt attempts call calls request requests read reads view views access accesses try tries invocation"
    " invocations visit visits lookup lookups fetch fetches".split()
)
_DID = frozenset(
    "read viewed called accessed fetched seen opened requested visited queried listed used shown served loaded"
    " invoked searched already run returned".split()
)
_ORDINALS = frozenset(("st", "nd", "rd", "th"))

_SUFFIXES = ("_ms", "_seconds", "_secs", "_millis", "_ns", "_us", "_sec", "_id", "-id")
_MARKS = (*_SUFFIXES, "_count")
_TIMES = frozenset(("wall", "total", "response", "execution"))
_GLUED = _UNITS | _ORDINALS | frozenset(("x",))
#: Labels that JavaScript writes in one word, in letters of one case by now.
_SPELLED = {
    **{f"{noun}id": f"{noun}_id" for noun in _OWN},
    **{
        f"{stem}{unit}": f"{stem}_{unit}"
        for stem in (*_TOOK, *_LASTS)
        for unit in ("ms", "seconds", "secs", "millis")
    },
    **{f"{stem}time{unit}": "took" for stem in _TIMES for unit in ("", "ms", "seconds")},
}
_WATCHED = (
    _PROCESS
    | _OWN
    | _TOKENS
    | _TOOK
    | _IN
    | _LASTS
    | _CLOCKED
    | _MONTHS
    | _COUNTED
    | _DID
    | _NOUNS
    | _USED
    | frozenset(("node", "count", "number", "no", "nr", "remaining", "left"))
)
#: Words before a number that may make it more than one.
_TELLING = _WATCHED | _SPELLED.keys()
_FOLLOWING = _UNITS | _COUNTED | _MONTHS | frozenset(("x", "times"))
#: Where none of them stands, short numbers among words of letters alone are only numbers.
_SAYING = _TELLING | _FOLLOWING

#: A text of one line that is longer is read comma by comma.
_LINE = 400
#: A piece of a text without labelled volatile parts, and without times as well.
Reading = tuple[str, str]

KEEP, LABEL, CLOCK = range(3)


def without_notices(text: str) -> str:
    """The text without what a guard or the host added to it."""
    if "[" not in text and "<" not in text:
        return text
    low = text.lower()
    if any(
        word in low
        for word in ("loop", "guard", "repeated", "reminder", "notice", "duplicate", "hook_context")
    ):
        return _NOTICE.sub("", text)
    return text


def without_colours(text: str) -> str:
    """The text without the control sequences of a terminal."""
    return _COLOURS.sub("", text) if "\x1b" in text else text


def pieces(text: str) -> list[str]:
    """The pieces in which *text* is read: its lines, of a long one those at its edges."""
    if len(text) > LONG:
        text = edges(text)
    if "[" in text or "<" in text:
        text = without_notices(text)
    if text[:1] in ("{", "["):  # lines inside JSON are lines as well
        text = text.replace("\\n", "\n")
    if "\x1b" in text:
        text = without_colours(text)
    found = text.splitlines()
    if len(found) < 3 and len(text) > _LINE:
        return text.split(",")
    return found


def lines_of(text: str) -> int:
    """How many lines a text has, those inside JSON included."""
    inside = text.count("\\n") if text[:1] in ("{", "[") else 0
    return text.count("\n") + inside + 1


def edges(text: str) -> str:
    """The edges of a long text: only these are read for volatile parts, the rest is taken as it is."""
    return f"{text[:EDGE]}\n{text[-EDGE:]}"


def read(piece: str, *, reads: bool, numbered: bool) -> Reading:
    """The reading of one piece: its words, without punctuation and letter case.

    *reads*: the tool only reads, so a tally in its answer is its own. *numbered*: a plain number under
    ``id`` is an id of the call, not an item that was handed out. Linear in the length of *piece*.
    """
    words = piece.translate(_FLAT).split()
    distinct = set(words)
    if _SAYING.isdisjoint(distinct) and all(map(_is_mute, distinct)):
        steady = " ".join(words)
        return steady, steady
    clocks: list[int] = []
    labels: list[int] = []
    for at, word in enumerate(words):
        if word.isalpha() or _DIGITS.isdisjoint(word) or _is_plain(words, at, word):
            continue
        kind = _kind(words, at, word, piece, reads, numbered)
        if kind is LABEL:
            labels.append(at)
        elif kind is CLOCK:
            clocks.append(at)
    for at in labels:
        words[at] = "#"
    steady = " ".join(words)
    if not clocks:
        return steady, steady
    for at in clocks:
        words[at] = "#"
    return steady, " ".join(words)


def _is_mute(word: str) -> bool:
    return word.isalpha() or (word.isdecimal() and len(word) < 10)


def _is_plain(words: list[str], at: int, word: str) -> bool:
    """True for a short number between words that say nothing of it: most numbers, and quick to tell."""
    if not word.isdecimal() or len(word) > 9 or not at:
        return False
    before = words[at - 1]
    if not before.isalpha() or before in _TELLING:
        return False
    return at + 1 == len(words) or words[at + 1].rstrip(_ENDS) not in _FOLLOWING


def _kind(words: list[str], at: int, word: str, text: str, reads: bool, numbered: bool) -> int:
    """What the word *word*, which has a digit in it, is."""
    label, owner_at = _before(words, at)
    label = _SPELLED.get(label, label)
    if word[0] not in _DIGITS:
        head, mark, value = word.partition("=")
        if not mark:
            head, mark, value = word.partition(":")
        if mark and value and not _DIGITS.isdisjoint(value):
            if head.strip(_ENDS):
                label, owner_at = head.strip(_ENDS), at
            word = value
    word = word.strip(_ENDS)
    if not word:
        return KEEP
    owner = _before(words, owner_at)[0]
    match = _NUMBER.fullmatch(word) or _SPAN.fullmatch(word)
    if match is None:
        return _worded(word, label, owner, numbered)
    number, unit = match[1], match[2]
    if not unit:
        marked = words[at][0] == "#" or label in _WATCHED or label.endswith(_MARKS)
        if not marked and len(number) < 10:
            following = words[at + 1].rstrip(_ENDS) if at + 1 < len(words) else ""
            if following not in _FOLLOWING:
                return KEEP
    elif unit not in _GLUED and len(word) >= 6:
        return _worded(word, label, owner, numbered)
    return _labelled(words, at, label, owner, number, unit, text, reads, numbered)


def _before(words: list[str], at: int) -> tuple[str, int]:
    """The word before, and where it stands; marks that stand alone are skipped."""
    while at > 0:
        at -= 1
        word = words[at].rstrip(_ENDS)
        if word:
            return word, at
    return "", 0


def _worded(word: str, label: str, owner: str, numbered: bool) -> int:
    """What a word of letters and digits is."""
    if word.count(":") == 2 or _DATE.match(word) is not None:
        return CLOCK
    if word[:2] == "0x" and label in _POINTS and _HEX.fullmatch(word) is not None:
        return LABEL
    if numbered and len(word) >= 36 and _UUID.fullmatch(word[-36:]) is not None:
        return LABEL
    if label in _TOKENS or label == "id" or label.endswith(("_id", "-id")):
        return LABEL if len(word) >= 4 else KEEP
    noun, _, token = word.replace("_", "-").partition("-")
    if noun in _RUNS and token.isdecimal():
        return LABEL
    if (
        len(token) >= 6
        and (noun in _OWN or (numbered and noun in _NOUNS))
        and not _DIGITS.isdisjoint(token)
    ):
        return LABEL
    named = owner if label in ("no", "number", "nr") else label
    return LABEL if len(word) >= 6 and named in _OWN and any(map(str.isalpha, word)) else KEEP


def _labelled(
    words: list[str],
    at: int,
    label: str,
    owner: str,
    number: str,
    unit: str,
    text: str,
    reads: bool,
    numbered: bool,
) -> int:
    """What the words beside a number make of it."""
    following = words[at + 1].rstrip(_ENDS) if at + 1 < len(words) else ""
    if (following in _MONTHS and len(number) <= 2) or (
        label in _MONTHS and len(number) in (1, 2, 4)
    ):
        return CLOCK
    if (
        len(number) in (10, 13, 16)
        and number[0] == "1"
        and "5" <= number[1] <= "9"
        and number.isdigit()
    ):
        return CLOCK
    if (
        label in _PROCESS
        or (label == "node" and "(node:" in text)
        or (numbered and not unit and (label == "id" or _made(words, at, label)))
    ):
        return LABEL
    if label == "id" or label.endswith(("_id", "-id")):
        noun = owner if label == "id" else label[:-3]
        return LABEL if noun in _OWN or numbered else KEEP
    if label in _OWN_BARE and label not in _COUNTED and not unit:
        marked = words[at][0] in ":=#" or words[at - 1][-1] in ":=#" or "=" in words[at]
        if marked or len(number) >= 4:
            return LABEL
    if label.endswith(_SUFFIXES):
        return CLOCK if label.startswith(("uptime", "age", "running")) else LABEL
    timed = _timed(words, at, label, owner, number, unit, following, text)
    if timed is not KEEP:
        return timed
    return LABEL if reads and _tally(words, at, label, owner, unit, following) else KEEP


def _made(words: list[str], at: int, label: str) -> bool:
    """True for the number of what the call has made: ``created ticket 7``, not ``finished ticket 7``."""
    return (label in _NOUNS or words[at][0] == "#") and not _MAKES.isdisjoint(words)


def _timed(
    words: list[str],
    at: int,
    label: str,
    owner: str,
    number: str,
    unit: str,
    following: str,
    text: str,
) -> int:
    """A duration: the call's own, or one that goes on by itself."""
    if label == "count" and owner in ("token", "tokens"):
        return LABEL
    if (unit or following) in _UNITS:
        if label in _TOOK or (label in _IN and owner not in _AHEAD):
            return LABEL
        if not _TOOK.isdisjoint(words[:at]):  # its parts: Duration 35ms (setup 12ms)
            return LABEL
        after = words[at + (1 if unit else 2) : at + (2 if unit else 3)]
        if label in _LASTS or after == ["ago"]:
            return CLOCK
        if f"({number}" in text or f"[{number}" in text:
            return LABEL
        last = at + (1 if unit else 2) >= len(words)
        if (
            last
            and label not in _AHEAD
            and owner not in _AHEAD
            and ("." in number or (unit or following) == "ms")
        ):
            return LABEL
    elif label in _AGES and not unit:
        return CLOCK
    elif (
        (label.endswith("_tokens") and label in _USED)
        or label == "took"
        or (label == "time" and owner in _TIMES)
    ):
        return LABEL
    if label in _CLOCKED and unit == "s":
        return LABEL
    return KEEP


def _tally(words: list[str], at: int, label: str, owner: str, unit: str, following: str) -> bool:
    """True for a count that a reader keeps of its own use."""
    if (unit or following) in ("x", "times") and (label in _DID or owner in _DID):
        return True
    if unit in _ORDINALS:
        return following in _COUNTED or following == "time"
    if label in _COUNTED or (label in ("count", "number", "no") and owner in _COUNTED):
        return True
    if label.endswith("_count") and label[:-6] in _COUNTED:
        return True
    return not unit and (following in _COUNTED or label in ("remaining", "left"))
