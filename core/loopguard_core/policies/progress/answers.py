"""What an answer says: the pattern and the kind of a failure, an empty answer, an outage.

A failure is read as a pattern: times, ids, paths, numbers, quoted names and the arguments' own words
count for nothing, since only the way in which it failed matters.
"""

from __future__ import annotations

from loopguard_core.patterns import IGNORECASE, lazy
from loopguard_core.plain_json import value_at
from loopguard_core.policies.progress.volatile import without_notices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_EDGE = 1500
SHORT = 600
#: An error message of this many lines is more than that.
_FEW_LINES = 4
_PARSED = 65_536
#: A quoted name; a quoted sentence says something.
_INSIDE = r"[^{0}\n ]{{0,80}}(?: [^{0}\n ]{{0,30}}){{0,3}}"
_QUOTED = lazy(
    f'"{_INSIDE.format(chr(34))}"'
    f"|`{_INSIDE.format('`')}['`]"
    rf"|(?<!\w)'{_INSIDE.format(chr(39))}'(?!\w)"
)
_DIGITS = frozenset("0123456789")
_EDGES = "()[]{}<>,;:!?'\"`*="
_DATED = frozenset(
    "mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday jan feb mar apr may jun jul"
    " aug sep oct nov dec utc gmt am pm ms s sec secs second seconds min mins minute minutes hour hours".split()
)

_EXIT = lazy(
    r"(?:error:?\s*)?(?:(?:command |process )?(?:failed |exited )?(?:with )?(?:an )?exit(?:ed)?(?: with)?(?: code| status)?:?\s*1\W*)?",
    IGNORECASE,
)
_ERROR = lazy(
    r"[\W_]{0,4}(?:error|exception|fatal|failure|failed|traceback|[a-z]{2,30}error)\b(?: \(?\w{1,30}\)?){0,3}[\"']?\s?[:=]",
    IGNORECASE,
)
#: A short answer that says in plain words that nothing was done.
_CANNOT = lazy(
    r"[\W_]{0,4}(?:sorry,? )?(?:i(?:'m| am| was)? )?(?:(?:could not|couldn't|cannot|can't|unable to|failed to|no such|not allowed)\b"
    r"|(?:invalid|unknown|unsupported|unrecogni[sz]ed|missing) \w+|(?:\w+ ){0,2}(?:rejected|refused|denied|failed)\b(?:[:.!]|\Z))",
    IGNORECASE,
)
#: A number after such words makes them a count: ``failed: 2, done: 30``. An error may have a status or a list.
_TALLY = lazy(r"\W{0,3}(?![45]\d\d\b)\d+\b(?! validation)", IGNORECASE)
#: An answer that is nothing but the status of a request that failed.
_STATUS_ALONE = lazy(
    r"\W*(?:(?:https?(?:/\d(?:\.\d)?)?|status(?: code)?)[\s:=]+)?4\d\d[\s:,-]+(?:bad request|unauthorized|forbidden|not found"
    r"|method not allowed|conflict|gone|unprocessable \w+)\W*",
    IGNORECASE,
)
#: A program that ended badly, in the words and in the JSON of those who run programs.
_EXITED = lazy(
    r"\W{0,3}(?:the )?(?:process |command |program )?(?:exited with |finished with |returned )?(?:exit|return)?[ _]?(?:code|status)"
    r"\W{1,3}-?[1-9]\d{0,2}\b",
    IGNORECASE,
)
#: An object that says no.
_SAYS_NO = lazy(
    r"\"(?:success|succeeded|successful|ok)\"\s*:\s*false|\"is_?error\"\s*:\s*true"
    r"|\"(?:status|state|result|outcome)\"\s*:\s*\"(?:error|fail|failed|failure|rejected|denied|invalid)\""
    r"|\"(?:exit|return)_?(?:code|status)\"\s*:\s*-?[1-9]|\"(?:http_?)?status_?code\"\s*:\s*\"?4\d\d\b",
    IGNORECASE,
)
_NOTHING = lazy(
    r"[\W_]*(?:none|null|nil|nothing|empty|0|n/?a|not found|nothing found|no output|no content|no data"
    r"|\{\s*\}|\[\s*\]|-+)?[\W_]*",
    IGNORECASE,
)
_FOUND_NOTHING = lazy(
    r"\b(?:no|0|zero)\s+(?:\w+\s+){0,3}?(?:results?|match(?:es)?|hits?|files?|records?|rows?|documents?|entries|items?"
    r"|occurrences|pages?|articles?|papers?|data|memor(?:y|ies)|references|symbols|issues|tickets|users?)\b"
    r"|\bnothing (?:was |has been )?(?:found|matched|matches|returned)\b|\b(?:did not|didn't|does not|doesn't) match\b"
    r"|\b(?:not|never) (?:find|found)\b|n't (?:find|found)\b|\breturned (?:nothing|empty|no)\b"
    r"|\bempty (?:result|list|set|response)\b"
    r"|[\"']?(?:results?|matches|hits|items|documents|data|total|count|num_results|total_count|totalhits)[\"']?\s*[:=]"
    r"\s*(?:\[\s*\]|0\b|\{\s*\}|null|none)",
    IGNORECASE,
)

UNKNOWN_TOOL, INVALID, DENIED, PERMISSION = (
    "unknown tool",
    "invalid arguments",
    "denied",
    "no permission",
)
RATE, OUTAGE, NETWORK, TIMEOUT = "rate limit", "outage", "network failure", "timeout"
AUTH, MISSING, EXISTS, SYNTAX = "not authorised", "not found", "conflict", "syntax error"
#: Answers that are no failures and yet bring nothing.
NOTHING_FOUND, SAME_ANSWER = "nothing found", "same answer"
READ_BEFORE, SAME_TARGET = "lines read before", "same target"
#: Failures that pass by themselves.
TRANSIENT = frozenset((RATE, OUTAGE, NETWORK))

_TOOL = lazy(
    r"(?:unknown|no such|invalid|unrecogni[sz]ed|unsupported|undefined|nonexistent|unregistered) (?:tool|function)\b"
    r"|\b(?:tool|function)\b.{0,80}?(?:not found|does not exist|doesn't exist|not registered|unavailable|is unknown|not recogni[sz]ed"
    r"|is empty|isn't available|is not (?:available|defined|registered|valid|a (?:known|valid)))"
    r"|no (?:tool|function) (?:named|called|with)|(?:empty|missing) (?:tool|function)"
)
_STATUS = lazy(
    r"\b(?:https?|status|status code|error code|response|error|got|returned|upstream)\b[\s:=#/()-]{0,4}(?:1\.[01]\s)?"
    r"(40[0134]|409|429|50[0-4]|52\d)\b"
    r"|\A\W{0,2}(40[0134]|409|429|50[0-4])\b(?:\W{1,3}[a-z]|\W*\Z)"
    r"|\b(?:(429) too many|(503) service|(502) bad|(504) gateway|(500) internal)"
)
#: The system's own names of errors, which hide in other words (``ModuleNotFoundError``).
_ERRNO = lazy(
    r"\be(?:notfound|ai_again|conn[a-z]{3,9}|pipe|hostunreach|netunreach|timedout|acces|perm|rofs|exist|noent)\b"
)
_STATUSES = {
    "400": INVALID,
    "401": AUTH,
    "403": AUTH,
    "404": MISSING,
    "409": EXISTS,
    "429": RATE,
}
_ERRNOS = {
    "etimedout": TIMEOUT,
    "eacces": PERMISSION,
    "eperm": PERMISSION,
    "erofs": PERMISSION,
    "eexist": EXISTS,
    "enoent": MISSING,
}
#: Words of each kind, the first kind that has one wins.
_WORDS: tuple[tuple[str, str], ...] = (
    (
        INVALID,
        "validation error|validationerror|inputvalidation|invalid arg|invalid param|invalid input|invalid json|invalid schema|invalid type"
        "|invalid value|invalid option|invalid request|missing required|missing argument|missing param|missing field|missing key"
        "|missing mandatory|missing 1 required|required propert|required param|required field|required arg|required key|field required"
        "|is a required|is required|are required|unexpected keyword|unexpected argument|unexpected propert|unexpected param|bad json"
        "|jsondecode|malformed|bad request|must be a|must be of|must be one of|does not match schema|extra inputs|op missing",
    ),
    (
        RATE,
        "rate limit|rate-limit|ratelimit|too many requests|quota exceeded|quota reached|exceeded your|over quota|insufficient quota|resource exhausted|throttled|throttling|is overloaded|overloaded error|currently overloaded|server overloaded",
    ),
    (
        OUTAGE,
        "service unavailable|service is unavailable|temporarily unavailable|temporarily down|temporary failure|bad gateway|gateway timeout|gateway time-out|try again later"
        "|server is busy|server busy|server is down|internal server error|outage|under maintenance|service is down|is not responding"
        "|backend unavailable|upstream error|upstream unavailable",
    ),
    (
        NETWORK,
        "connection refused|connection reset|connection aborted|connection closed|connection error|connection failed|connection timed out"
        "|connection lost|connection was|network is unreachable|network unreachable|network error|host unreachable"
        "|name resolution|could not resolve|getaddrinfo|socket hang up|sslerror|remote end closed|fetch failed|failed to connect"
        "|failed to fetch|no route to host|connectionerror",
    ),
    (TIMEOUT, "timed out|timeout|time-out|deadline exceeded|took too long"),
    (
        PERMISSION,
        "permission denied|permissionerror|operation not permitted|access denied|access is denied|read-only file"
        "|readonly file|insufficient permission|insufficient privilege",
    ),
    (
        AUTH,
        "unauthori|unauthenticated|authentication|invalid api key|invalid key|invalid token|credential|login required|log in to|forbidden"
        "|token expired|expired token|token has expired",
    ),
    (
        DENIED,
        "denied|loopguard|loop guard|loop-guard|not executed|blocked:|hook blocked|not allowed|disallowed|blocked by|by policy|policy forbids|policy violation|violates|user doesn't want|was rejected|been rejected|is blocked|been blocked|was blocked"
        "|declined|requires approval|requires permission|requires confirmation|refused|refusal|not in the allow|outside the sandbox"
        "|outside of the workspace|outside the workspace|outside the allowed",
    ),
    (
        EXISTS,
        "already exist|already running|already taken|already in use|exists|conflict|duplicate",
    ),
    (
        MISSING,
        "no such|not found|does not exist|doesn't exist|do not exist|cannot find|can't find|could not find|couldn't find|unable to find"
        "|cannot locate|unable to locate|cannot open|could not open|cannot stat|cannot access|cannot resolve|filenotfound|no match found|no matches"
        "|unknown |modulenotfound|no module named|missing file|missing module|nonexist|no longer exists|isn't there|did not match",
    ),
    (
        SYNTAX,
        "syntax error|syntaxerror|parse error|parseerror|parsing failed|unexpected token|unexpected eof|unexpected end|unterminated|unmatched",
    ),
)
_KINDS = tuple((kind, tuple(words.split("|"))) for kind, words in _WORDS)
_PASSING = tuple(word for _, words in _KINDS[1:4] for word in words)

_OUTRIGHT = frozenset(
    "too many requests|service unavailable|bad gateway|gateway timeout|gateway time-out|try again later|server is busy"
    "|internal server error|connection refused|connection reset|connection timed out|socket hang up".split(
        "|"
    )
)


def words_of(value: Any) -> str:
    """The words of a result; of text that is JSON those of the JSON, with what follows it."""
    if isinstance(value, str) and value[:1] in ("{", "[") and len(value) < _PARSED:
        try:
            inner, end = value_at(value)
        except (ValueError, RecursionError):
            return value
        found = text_of(inner)
        return f"{found}\n{value[end:]}" if found else value
    return text_of(value)


def text_of(value: Any, depth: int = 0) -> str:
    """The words of a value: a string, the text parts of a list, else nothing."""
    if isinstance(value, str):
        return value
    if depth > 6:
        return ""
    if isinstance(value, dict):
        for name in ("error", "message", "stderr", "text", "content", "output", "result"):
            inner = value.get(name)
            if inner and (found := text_of(inner, depth + 1)):
                return found
        return ""
    if isinstance(value, (list, tuple)):
        return "\n".join(filter(None, (text_of(v, depth + 1) for v in value[:20])))
    return ""


def pattern(text: str, said: Iterable[str] = ()) -> str:
    """A failure as a pattern: ``File not found: notes.txt`` is ``file not found #``.

    *said*: short values of the arguments, which a failure likes to echo. Only the edges of long texts
    are read.
    """
    if len(text) > 2 * _EDGE:
        text = f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    text = without_notices(text)
    for word in said:
        text = text.replace(word, " # ")
    if '"' in text or "'" in text or "`" in text:
        text = _QUOTED.sub(" # ", text)
    out: list[str] = []
    for word in text.split():
        if not word.isalpha():
            word = _plain(word)
        if not word:
            continue
        word = word.lower()
        if word in _DATED:
            word = "#"
        if word != "#" or not out or out[-1] != "#":
            out.append(word)
    return " ".join(out)


def _plain(word: str) -> str:
    word = word.strip(_EDGES)
    if not word:
        return ""
    if not _DIGITS.isdisjoint(word) or "/" in word or "\\" in word or "#" in word:
        return "#"
    if "." in word:
        word = word.rstrip(".")
        if "." in word:
            return "#"
    return word


def failure_class(text: str) -> str:
    """The kind of failure that a text names, or the empty string.

    What passes by itself is said in few words: of a long text only its very edges speak of it.
    """
    near = text
    if len(text) > SHORT:
        near = f"{text[: SHORT // 2]}\n{text[-SHORT // 2 :]}"
    if len(text) > 2 * SHORT:
        text = f"{text[:SHORT]}\n{text[-SHORT:]}"
    return _class(text.lower().replace("_", " "), near.lower().replace("_", " "))


def _class(low: str, near: str) -> str:
    if ("tool" in low or "function" in low) and _TOOL.search(low) is not None:
        return UNKNOWN_TOOL
    found = ""
    for kind, words in _KINDS:
        where = near if kind in TRANSIENT else low
        if any(map(where.__contains__, words)):
            found = kind
            break
    if found in TRANSIENT or found in (INVALID, PERMISSION):
        return found
    errno = _ERRNO.search(low)
    if errno is not None:
        return _ERRNOS.get(errno[0], NETWORK)
    if (status := _status(near)) and (not found or status in TRANSIENT or found == DENIED):
        return status
    return found


def _status(low: str) -> str:
    if "40" not in low and "50" not in low and "429" not in low and "52" not in low:
        return ""
    match = _STATUS.search(low)
    if match is None:
        return ""
    code = match[match.lastindex or 0]
    return _STATUSES.get(code, OUTAGE)


def outage_class(text: str) -> str:
    """The transient failure that a successful but short answer reports, or the empty string.

    Words that may stand anywhere are believed only in what looks like an error.
    """
    if len(text) > SHORT // 2:
        return ""
    low = text.lower().replace("_", " ")
    status = _status(low)
    if status in TRANSIENT:
        return status
    if not any(map(low.__contains__, _PASSING)):
        return ""
    plain = _ERROR.match(text) is not None or len(text) <= SHORT // 8
    for kind, words in _KINDS[1:4]:
        if any(word in low and (plain or word in _OUTRIGHT) for word in words):
            return kind
    return ""


def reports_error(text: str, *, file: bool = False, reads: bool = False) -> bool:
    """True where a success is an error message: many tools return their errors as text.

    *file*: it is the answer of a tool that reads files, whose lines may well begin with such words.
    *reads*: the tool only looks, so what its answer says of failures may be what was asked for.
    """
    if not text or (file and (len(text) > SHORT // 3 or "\n" in text.strip())):
        return False
    lines = text.rstrip().count("\n")
    found = _ERROR.match(text)
    if found is not None and (text[0] in "{[T" or lines < (2 if reads else _FEW_LINES)):
        return _TALLY.match(text, found.end()) is None
    if file:
        return False
    if text[0] == "{":
        return not reads and _SAYS_NO.search(text) is not None
    if not reads and _EXITED.match(text) is not None:
        return failure_class(text) != ""
    if len(text) > SHORT // 3 or "\n" in text.strip():
        return False
    found = _CANNOT.match(text)
    if found is not None:
        return _TALLY.match(text, found.end()) is None
    return _STATUS_ALONE.fullmatch(text) is not None


def only_exit(text: str) -> bool:
    """True where a failure says no more than that it failed, as a search does that found nothing."""
    return len(text) < 100 and _EXIT.fullmatch(text.strip()) is not None


def is_empty(text: str) -> bool:
    """True where the answer of a search says that nothing was found."""
    if len(text) > SHORT // 3:
        return False
    if _NOTHING.fullmatch(text) is not None:
        return True
    match = _FOUND_NOTHING.search(text)
    return match is not None and (len(text) <= SHORT // 5 or match.start() <= 12 or text[0] in "[{")
