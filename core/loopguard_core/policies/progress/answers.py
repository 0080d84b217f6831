"""What an answer says once everything that changes by itself is taken out.

A failure is read as a template: times, ids, paths, numbers, quoted names and the arguments' own words
count for nothing, since only the kind of failure matters. A success is news to the letter; only what
carries a label (pid, id, the call's own duration, a reader's tally) may be taken out, and a time only
so far that it can warn.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_EDGE = 1500
_UNIT = r"(?:ns|[muµ]s|ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?|milliseconds?)"
_TIME = (
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?\s?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)?"
    r"|\d{4}[-/]\d\d[-/]\d\d|\d{1,2}[./]\d{1,2}[./]\d{4}"
    r"|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?:\s?[AaPp][Mm])?\b"
    r"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\s+(?:\d{1,2}\s+)?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?(?:\s+\d{1,2})?(?:,?\s+\d{4})?"
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?\s+\d{1,2}(?:,?\s+\d{4})?\b"
    r"|\b1[5-9]\d{8}(?:\.\d+|\d{3}|\d{6}|\d{9})?\b"
)
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"

_FAILURE = re.compile(
    r'"[^"\n]{0,300}"'
    r"|(?<!\w)'[^'\n]{0,300}'(?!\w)"
    r"|`[^`\n]{0,300}`"
    r"|[a-z][a-z0-9+.-]*://\S+"
    r"|(?:[a-z]:)?[\w.~@+-]{0,200}[/\\][^\s:;,'\"()\[\]<>]*"
    r"|\b[\w-]{1,100}\.[a-z]\w{0,5}\b"
    rf"|{_UUID}|{_TIME}"
    r"|\b0x[0-9a-f]+\b|\b(?=[a-z]*\d)[0-9a-f]{6,}\b|\b(?=\w*\d)(?=\w*[a-z])[\w-]{8,}\b"
    rf"|\d+(?:[.,:]\d+)*(?:\s?{_UNIT}\b|%|x\b)?",
    re.I,
)
#: What guards and hosts write into a result, which is not the tool's answer.
_NOTICE = re.compile(
    r"\n?\[[^\]\n]{0,80}\b(?:loop|guard|repeated|duplicate|no[- ]progress)\b[^\]\n]{0,600}\][^\n]*"
    r"|<(system-reminder|system_warning|loop-?guard|notice)>.{0,4000}?</\1>",
    re.I | re.S,
)
_HOLES = re.compile(r"#(?:[\s,:;.=()-]*#)+")
_SPACE = re.compile(r"\s+")

_RAN = r"\b(?:took|in|after|elapsed|duration|latency|finished|completed|ran for|wall time|time taken|response time|runtime|total time)"
_LABELLED = re.compile(
    # a process
    r"\b(?:pid|ppid|process(?: id)?|thread(?: id)?|port)\b[\"']?\s*[:=#]?\s*\d+"
    # an id with its label; bare numbers under a bare "id" are left to _NUMBERED
    r"|\b(?:request|trace|span|session|correlation|run|execution|invocation|transaction|chunk|message|msg|event|operation|job|task|call|build|container|instance|ticket|order|conversation|log)[ _-]?(?:id|no|number|#)\b[\"']?\s*[:=#]?\s*[\"']?[\w.:-]+"
    r"|\b(?:id|uid|uuid|guid|nonce|etag|token|cid|rid|ref|hash|sha|checksum|x-request-id)[\"']?\s*[:=#]\s*[\"']?(?=[\w-]*\d)(?=[\w-]*[a-zA-Z-])[\w-]{4,}"
    r"|\b(?:id|req|request|trace|run|job|msg|sess|session|call|evt|tx)[ _#:=-]+(?=[0-9a-f]*\d)[0-9a-f]{4,}(?:-[0-9a-f]{4,})*\b"
    rf"|{_UUID}|\b0x[0-9a-fA-F]{{6,}}\b"
    # the call's own duration
    rf"|{_RAN}[\"']?(?:[_ ]?(?:ms|s|sec|secs|seconds))?[\"']?\s*[:=]?\s*[\"']?\d+(?:[.,]\d+)*\s?{_UNIT}?\b"
    rf"|\(\s*\d+(?:\.\d+)?\s?{_UNIT}\s*\)|\[\s*\d+(?:\.\d+)?\s?{_UNIT}\s*\]"
    r"|\b(?:real|user|sys)\s+\d+m[\d.]+s"
    r"|\b\w*_(?:ms|seconds|secs)[\"']?\s*[:=]\s*\d+(?:\.\d+)?"
    # how many tokens the host counted
    r"|\b(?:original )?token count[\"']?\s*[:=]\s*\d+",
    re.I,
)
_NUMBERED = re.compile(r"\bid[\"']?\s*[:=#]?\s*[\"']?\d+\b|#\d+\b", re.I)
_TALLY = re.compile(
    r"\b(?:read|viewed|called|accessed|fetched|seen|opened|requested|visited|queried|listed|used|shown|served|loaded|invoked|searched|run)\s+(?:already\s+)?\d+\s*(?:x|times?)\b"
    r"|\b\d+(?:st|nd|rd|th)\s+(?:time|call|read|view|request|attempt|access|visit|lookup)\b"
    r"|\b(?:attempts?|calls?|requests?|reads?|views?|access(?:es)?|tries|try|invocations?|hits?|visits?|lookups?|read|view|call)(?:[ _-](?:count|no|number|made|used|so far))?[\"']?\s*[:=#]?\s*\d+(?:\s*(?:/|of)\s*\d+)?\b"
    r"|\b\d+\s+(?:calls?|reads?|views?|requests?|accesses|lookups?|hits?|visits?)(?:\s+(?:so far|made|this session|in this session|today|remaining|left))?\b"
    r"|\b\d+\s*(?:x|times)\s+(?:this|in this|so far|already)\b"
    r"|\b(?:cache[ _-]?hits?|rate limit remaining|remaining (?:calls|requests|quota))[\"']?\s*[:=]?\s*\d+",
    re.I,
)
_CLOCK = re.compile(
    _TIME
    + rf"|\b(?:elapsed|uptime|age|running for|for|ago|up|last)\s*[:=]?\s*\d+(?:[.,]\d+)?\s?{_UNIT}\b",
    re.I,
)

_NOTHING = re.compile(
    r"[\W_]*(?:none|null|nil|nothing|empty|no|0|n/?a|false|undefined|not found|nothing found|no output|no content|no data"
    r"|\{\s*\}|\[\s*\]|-+)?[\W_]*",
    re.I,
)
_FOUND_NOTHING = re.compile(
    r"\b(?:no|0|zero)\s+(?:\w+\s+){0,3}?(?:results?|match(?:es)?|hits?|files?|records?|rows?|documents?|entries|items?|occurrences|pages?|articles?|papers?|data|memor(?:y|ies)|references|symbols|issues|tickets|users?)\b"
    r"|\bnothing (?:was |has been )?(?:found|matched|matches|returned)\b|\b(?:did not|didn't|does not|doesn't) match\b"
    r"|\b(?:not|n't|never) (?:find|found)\b|\breturned (?:nothing|empty|no)\b|\bempty (?:result|list|set|response)\b"
    r"|[\"']?(?:results?|matches|hits|items|documents|data|total|count|num_results|total_count|totalhits)[\"']?\s*[:=]\s*(?:\[\s*\]|0\b|\{\s*\}|null|none)",
    re.I,
)

UNKNOWN_TOOL, INVALID, DENIED, PERMISSION = (
    "unknown tool",
    "invalid arguments",
    "denied",
    "no permission",
)
RATE, OUTAGE, NETWORK, TIMEOUT = "rate limit", "outage", "network failure", "timeout"
AUTH, MISSING, EXISTS, SYNTAX = "not authorised", "not found", "conflict", "syntax error"
#: Failures that pass by themselves.
TRANSIENT = frozenset((RATE, OUTAGE, NETWORK))
_STATUS = r"(?:\b(?:http|https|status|code|error|err|response|got|returned|upstream)\b[\s:=#/\d.()-]{0,8}|^\W{0,2})"
_CLASSES = tuple(
    (name, re.compile(pattern, re.I | re.M))
    for name, pattern in (
        (
            UNKNOWN_TOOL,
            r"(?:unknown|no such|invalid|unrecogni[sz]ed|unsupported|undefined|nonexistent|unregistered) (?:tool|function)\b|(?:tool|function) (?:name )?.{0,80}?(?:not found|does not exist|doesn't exist|is not (?:available|defined|registered|a (?:known|valid))|not registered|unavailable|is unknown|not recogni[sz]ed|is empty|isn't available)|no (?:tool|function) (?:named|called|with)|(?:tool|function) name (?:is |must |cannot |can't )|(?:empty|missing) (?:tool|function) name",
        ),
        (
            INVALID,
            r"validation ?error|invalid[ _-](?:\w+ )?(?:arg|param|input|json|schema|type|value|option|call|request)|missing (?:\d+ )?(?:required|mandatory|argument|param|field|key)|required (?:property|parameter|field|argument|key|positional)|is a required|field required|unexpected keyword|bad json|jsondecode|json (?:parse|decode)|malformed|schema|does not match (?:the )?schema|inputvalidation|bad request|\b(?:is|are) required\b|must be (?:a|an|of|one)\b|expected .{1,40}(?:but )?(?:got|received)|unexpected (?:argument|param|property|field)|extra (?:fields|inputs)",
        ),
        (
            RATE,
            rf"rate.?limit|too many requests|quota (?:exceeded|reached)|exceeded .{{0,30}}quota|throttl|overloaded|{_STATUS}429\b|\b429 \w",
        ),
        (
            OUTAGE,
            rf"service (?:is )?(?:temporarily )?unavailable|bad gateway|gateway time-?out|temporar(?:y|ily)|try again later|server (?:is )?(?:busy|overloaded|down)|internal server error|\boutage\b|under maintenance|(?:service|server|host|backend|upstream) (?:is )?(?:down|unreachable|not responding)|{_STATUS}5(?:00|02|03|04|20|2\d)\b|\b50[234] \w",
        ),
        (
            NETWORK,
            r"connection (?:was |has been |is )?(?:refused|reset|aborted|closed|error|failed|lost|timed out|dropped)|econn\w+|enotfound|eai_again|(?:network|host|address) (?:is )?(?:unreachable|down|error)|name resolution|could not resolve|getaddrinfo|socket hang up|dns|ssl(?:error|_error)|remote end closed|fetch failed|failed to (?:connect|fetch)|no route to host",
        ),
        (
            TIMEOUT,
            r"\btim(?:ed?|ing)[ -]?out\b|timeout(?:error|expired)?\b|deadline exceeded|etimedout|took too long|did not (?:respond|finish|complete) (?:with)?in",
        ),
        (
            PERMISSION,
            r"permission denied|eacces|eperm|operation not permitted|access (?:is )?denied|read-?only file ?system|insufficient (?:permission|privilege)|not permitted|permissionerror",
        ),
        (
            AUTH,
            rf"unauthori[sz]ed|unauthenticated|authenticat|invalid (?:api )?(?:key|token|credential)|log ?in required|credentials|{_STATUS}(?:401|403)\b|\bforbidden\b|expired token|token (?:has )?expired",
        ),
        (
            DENIED,
            r"\bden(?:y|ied)\b|not allowed|disallowed|blocked by|\bpolicy\b|user doesn't want|(?:was|were|been|is) (?:rejected|refused|blocked|declined)|requires? (?:approval|permission|confirmation)|\brefus(?:ed|al|es)\b|not in the allow|outside (?:of )?(?:the )?(?:sandbox|workspace|allowed)",
        ),
        (
            EXISTS,
            rf"already (?:exists|exist|running|taken|in use)|\beexist|\bexists\b|\bconflict\b|duplicate|{_STATUS}409\b|address already",
        ),
        (
            MISSING,
            rf"no such (?:file|dir|\w+)|not found|does not exist|doesn't exist|do not exist|(?:cannot|can't|could not|couldn't|unable to) (?:find|locate|open|stat|access|resolve)|enoent|filenotfound|no match|unknown (?:\w+)|missing (?:file|module|dir)|modulenotfound|no module named|{_STATUS}404\b|isn't (?:a file|there)|nonexist|no longer exists|not exist",
        ),
        (
            SYNTAX,
            r"syntax ?error|parse ?error|parsing (?:error|failed)|unexpected (?:token|eof|end|indent|character|identifier)|unterminated|unmatched",
        ),
    )
)
_SHORT = 600


def text_of(value: Any) -> str:
    """The words of a result: a string, the text parts of a list, else nothing."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        for name in ("error", "message", "stderr", "text", "content", "output", "result"):
            inner = value.get(name)
            if inner and (found := text_of(inner)):
                return found
        return ""
    if isinstance(value, (list, tuple)):
        return "\n".join(filter(None, (text_of(v) for v in value[:20])))
    return ""


def template(text: str, said: tuple[str, ...] = ()) -> str:
    """A failure as a pattern: ``File not found: notes.txt`` is ``file not found: #``.

    *said*: short values of the arguments, which a failure likes to echo.
    """
    if len(text) > 2 * _EDGE + 100:
        text = text[:_EDGE] + "\n" + text[-_EDGE:]
    for word in said:
        if word in text:
            text = text.replace(word, " # ")
    text = _FAILURE.sub("#", without_notices(text))
    return _SPACE.sub(" ", _HOLES.sub("#", text)).strip().casefold()


def failure_class(text: str) -> str:
    """The kind of failure that a text names, or the empty string."""
    if len(text) > 2 * _SHORT:
        text = text[:_SHORT] + "\n" + text[-_SHORT:]
    for name, pattern in _CLASSES:
        if pattern.search(text) is not None:
            return name
    return ""


def outage_class(text: str) -> str:
    """The transient failure that a successful but short answer reports, or the empty string."""
    if not text or len(text) > _SHORT // 2:
        return ""
    for name, pattern in _CLASSES:
        if name in TRANSIENT and pattern.search(text) is not None:
            return name
    return ""


def without_notices(text: str) -> str:
    """The text without what a guard or the host added to it."""
    if "[" not in text and "<" not in text:
        return text
    return _NOTICE.sub("", text)


def is_empty(text: str) -> bool:
    """True where the answer of a search says that nothing was found."""
    if len(text) > _SHORT:
        return False
    return _NOTHING.fullmatch(text) is not None or _FOUND_NOTHING.search(text) is not None


def steady(text: str, *, reads: bool, numbered: bool) -> str:
    """A success without pid, id and duration; of a reader also without its tally.

    *numbered*: a plain number under ``id`` is an id of the call, not an item that was fetched.
    """
    text = _LABELLED.sub("#", without_notices(text))
    if numbered:
        text = _NUMBERED.sub("#", text)
    return _TALLY.sub("#", text) if reads else text


def timeless(text: str) -> str:
    """A success without any time."""
    return _CLOCK.sub("#", text)
