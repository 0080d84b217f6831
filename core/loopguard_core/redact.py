"""Secrets are taken out of every text before it is written anywhere.

It works on the JSON text of an event's fields, in one walk from hit to hit: what may begin a secret is
looked for by its rarest letter, which costs little where there is none, and only at a hit is the whole
shape tried. What was found is replaced by a marker with a keyed digest, so that equal secrets still
compare equal and cannot be guessed. Names stay readable, values go.
"""

from __future__ import annotations

import json
import re
from functools import cache

from loopguard_core.events import dump, load
from loopguard_core.identity import Digester

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Span = tuple[int, int]

MARK = "[redacted:"

# -- tokens that are known by their beginning; the beginning stays, so that a reader knows what it was

_SIGNATURE = r"(?:sig|X-Amz-Signature|X-Goog-Signature)=([A-Za-z0-9%/+=_-]{16,})"
_TOKENS = (
    # letters to look for, the whole shape with what goes as its group
    (
        "-",
        r"-(?=[A-Za-z0-9_-]{16})(?:(?<=(?<![A-Za-z0-9])sk-)|(?<=glpat-)|(?<=pypi-)|(?<=xox[abeprs]-)"
        r"|(?<=xapp-)|(?<=xai-)|(?<=tvly-)|(?<=GOCSPX-)|(?<=PMAK-)|(?<=AGE-SECRET-KEY-))((?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]+)",
    ),
    (
        "_",
        r"_(?=[A-Za-z0-9_]{16})(?:(?<=gh[pousr]_)|(?<=github_pat_)|(?<=[srp]k_live_)|(?<=[srp]k_test_)"
        r"|(?<=npm_)|(?<=(?<![A-Za-z0-9])hf_)|(?<=gsk_)|(?<=whsec_)|(?<=dop_v1_)|(?<=sbp_)|(?<=shp.._)"
        r"|(?<=lin_api_)|(?<=figd_)|(?<=ntn_)|(?<=dckr_pat_)|(?<=(?<![A-Za-z0-9])secret_)(?=[A-Za-z0-9]{32}))"
        r"([A-Za-z0-9_]+)",
    ),
    ("A", r"A[KS]IA(?<=(?<![A-Za-z0-9])A.IA)([A-Z0-9]{12,})(?![a-z])"),
    ("A", r"AIza([A-Za-z0-9_-]{30,})"),
    (
        "J",
        r"J(?<=(?<![A-Za-z0-9_-])eyJ)([A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?)",
    ),
    ("G", r"G(?<=SG)\.([A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})"),
    (
        "-",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r'((?:[^"\\]|\\.)*?)(?=-----END [A-Z0-9 ]*PRIVATE KEY|"|$)',
    ),
    ("@", r'://[^\s/:@"\\]*:([^\s/@"\\]+)@'),
    ("@", r"://((?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{20,})@"),
    ("ya29.", r"(?<![A-Za-z0-9])ya29\.([A-Za-z0-9_-]{16,})"),
    (":AA", r"[0-9]{6,12}:(AA[A-Za-z0-9_-]{30,})"),
    # hashes of passwords, as they stand in shadow and htpasswd files
    ("$", r"\$(?:apr1|[1-7y]|2[abxy])\$([A-Za-z0-9./$=,-]{16,})"),
    ("hooks.slack", r"hooks\.slack\.com/services/([A-Za-z0-9/]{16,})"),
    ("?", rf"\?{_SIGNATURE}"),
    ("&", rf"&{_SIGNATURE}"),
    # Docker's login, curl's and sshpass's command lines
    ('"auth', r'"auth\\*"\s?:\s?\\*"([A-Za-z0-9+/=]{8,})'),
    ("-", r"""-(?:u|-user)[ =]['"\\]*(?!\d+:\d+\b)[^\s:'"\\/-][^\s:'"\\/]*:([^\s'"\\/]+)"""),
    ("-", r"-p(?<=(?<![a-z])sshpass -p) ?['\"\\]*([^\s'\"\\]+)"),
    ("-", r"-pass(?:in|out)?[ =]pass:([^\s'\"\\]+)"),
    ("-", r"mysql(?:dump|admin)?\s(?:[^|;&\"\\\n]{0,200}\s)?-p([^\s'\"\\]+)"),
)
#: letters from the rarest to the most frequent, and what stands in every JSON text
_RARE = '@_/zqjxkvbwgpyfmucldhrsnioate":'


def _rarest(letters: str) -> str:
    """The one of *letters* that most texts lack: one letter is looked for ten times as fast as several."""
    return min(letters, key=_RARE.find, default="")


def _gated(shapes: Iterable[tuple[str, str]]) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """What is looked for in a text, its rarest letter first, and the shapes behind it.

    Looking for letters in a long text is most of the work, so it is done once for all that share them.
    """
    found: dict[str, tuple[str, ...]] = {}
    for letters, shape in shapes:
        found[letters] = (*found.get(letters, ()), shape)
    return tuple((_rarest(letters), letters, behind) for letters, behind in found.items())


_SHAPES = _gated(_TOKENS)

# -- names whose value is a secret, found by a letter in the lowered text; the match ends with the name

_KEYED = "api|access|private|secret|encryption|signing|auth|master|account|shared|license"
_KEY_NAMES = "|".join(f"(?<={word}key)|(?<={word}[_-]key)" for word in _KEYED.split("|"))
_NAMES = (
    # letters to look for, what the name ends with; "cre" stands in both of its two
    ("w", r"w(?:ord(?<=password)|d(?:(?<=passwd)|(?<=pwd)))"),
    ("k", rf"k(?:en(?<=token)(?!s)|ey(?:{_KEY_NAMES}))"),
    ("cre", r"cre(?:t(?<=secret)(?!s)|dentials?)"),
    ("passphrase", "passphrase"),
)
_ENV = (
    ("K", r"_KEY(?=[A-Z0-9_]{0,40}\s?=)"),
    ("S", r"_PASS(?=[A-Z0-9_]{0,40}\s?=)"),
)
_HEADERS = _gated(
    (
        ("z", "z(?<=authoriz)ation"),
        ("ookie", "cookie"),
    )
)
_BEARER = r"bearer\s+([a-z0-9._~+/=-]{16,})"

_VALUE = r"""(?x)(?![_-]?(?:type|count|limit|usage|url|uri|endpoint|name|expir|budget|ttl|len|file|path|policy
          |field|hint|id\b|manager|reset|required))
    (?P<rest>[A-Za-z0-9_-]{0,40})
    (?:\\*["'])?\s*(?:=>|:=|==?|:)\s*
    (?: (?P<q>\\*["'])(?![${<*%\[])(?P<quoted>(?:(?!(?P=q))(?:[^"\\]|\\.))+)(?P=q)
      | (?P<bare>(?![${<*%/\[])[^\s"'\\,;&<>(){}\[\]|`]{3,}+)(?![(\[]) )"""
_FLAG = r"""[\w-]{0,40}\s{1,8}(?:\\*["'])?([^\s"'\\-][^\s"'\\]*)"""
_HEADER = r"""(?xi)(?:\\*["'])?\s*[:=]\s*(?:\\*["'])?\s*
    (?:(?:bearer|basic|token|digest|negotiate|apikey|aws4-hmac-sha256)\s+)?([^"'\\\r\n]{4,})"""
# Words that stand where a value would, in code, schemas and counts.
_NO_SECRET = (
    r"(?i)(?:none|null|nil|true|false|str|string|int|integer|bool|boolean|bytes|number|object|array|any"
    r"|optional|undefined|required|secretstr|self|os|[0-9.]{1,6}|[A-Za-z_]+(?:\.[A-Za-z_]+)+)\.?$"
)


@cache
def _shape(pattern: str) -> re.Pattern[str]:
    """The compiled *pattern*: made when it is first needed, since a hook process lives for one call."""
    return re.compile(pattern)


class Redaction:
    """What a person adds to what is known: own *patterns* (their first group goes, else all of it),
    *fields* by name, and tools whose arguments and results are never stored (``never_store``; a
    trailing ``*`` stands for any ending).

    Raises ``ValueError`` for a pattern that is no regular expression.
    """

    __slots__ = ("fields", "never_store", "patterns")

    def __init__(
        self,
        patterns: Iterable[str] = (),
        fields: Iterable[str] = (),
        never_store: Iterable[str] = (),
    ) -> None:
        self.fields = tuple(f.lower() for f in fields)
        self.never_store = tuple(never_store)
        self.patterns = tuple(_compiled(p) for p in patterns)

    def hides(self, tool: str) -> bool:
        """True where arguments and results of *tool* are never stored."""
        return any(
            tool.startswith(name[:-1]) if name.endswith("*") else tool == name
            for name in self.never_store
        )


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"the redaction pattern {pattern!r} is not usable: {error}") from None


class Redactor:
    """Takes secrets out, with this machine's *key* for the digests in the markers."""

    __slots__ = ("_digester", "_names", "rules")

    def __init__(self, key: bytes = b"", rules: Redaction | None = None) -> None:
        self.rules = rules or Redaction()
        self._digester = Digester(key)
        self._names = _gated((*_NAMES, *((f, re.escape(f)) for f in self.rules.fields)))

    def marker(self, secret: str) -> str:
        """What stands for *secret*: equal for equal secrets."""
        return f"{MARK}{self._digester(secret)[:12]}]"

    def __call__(self, text: str) -> str:
        """The JSON *text* without secrets, still JSON; the same object where there is none."""
        if self.rules.patterns or self.rules.fields:
            text = self._own(text)
        spans = self._spans(text)
        return text if not spans else self._replace(text, spans)

    def _spans(self, text: str) -> list[Span]:
        spans: list[Span] = []
        for gate, letters, shapes in _SHAPES:
            if gate in text and letters in text:
                spans += [m.span(1) for s in shapes for m in _shape(s).finditer(text)]
        low = text.lower()
        if len(low) != len(text):
            low = text.replace("\u0130", "i").lower()
        for gate, letters, names in self._names:
            if gate in low and letters in low:
                for name in names:
                    spans += _found(text, _shape(name).finditer(low), _value)
        if "_" in text:
            for letters, name in _ENV:
                if letters in text:
                    spans += _found(text, _shape(name).finditer(text), _value)
        for gate, letters, names in _HEADERS:
            if gate in low and letters in low:
                for name in names:
                    spans += _found(text, _shape(name).finditer(low), _header)
        if "b" in low and "bearer" in low:
            spans += [m.span(1) for m in _shape(_BEARER).finditer(low)]
        return spans

    def _replace(self, text: str, spans: list[Span]) -> str:
        out: list[str] = []
        at = 0
        for start, end in sorted(spans, key=lambda s: (s[0], -s[1])):
            if start < at or start == end or text.startswith(MARK, start):
                continue
            mark = self.marker(text[start:end])
            if _stands_alone(text, start):
                mark = f'"{mark}"'
            out += text[at:start], mark
            at = end
        return "".join((*out, text[at:])) if out else text

    # -- what a person added: on the values themselves, since a pattern knows nothing of JSON --------

    def _own(self, text: str) -> str:
        low = text.lower()
        if not self.rules.patterns and not any(f in low for f in self.rules.fields):
            return text
        before = load(text)
        after = self._walk(before)
        if after == before:
            return text
        try:
            clean = json.dumps(after, ensure_ascii=False, separators=(",", ":"))
            clean.encode()
        except ValueError:
            return dump(after)
        return clean

    def _walk(self, value: Any) -> Any:
        if isinstance(value, str):
            for pattern in self.rules.patterns:
                value = pattern.sub(self._sub, value)
            return value
        if isinstance(value, list):
            return [self._walk(v) for v in value]
        if isinstance(value, dict):
            fields = self.rules.fields
            return {
                k: self.marker(v if isinstance(v, str) else dump(v))
                if k.lower() in fields and not (isinstance(v, str) and v.startswith(MARK))
                else self._walk(v)
                for k, v in value.items()
            }
        return value

    def _sub(self, match: re.Match[str]) -> str:
        whole = match.group()
        if MARK in whole or not whole:
            return whole
        if not match.re.groups or match.group(1) is None:
            return self.marker(whole)
        start, end = match.span(1)
        at = match.start()
        return whole[: start - at] + self.marker(match.group(1)) + whole[end - at :]


def _found(
    text: str,
    names: Iterator[re.Match[str]],
    value: Callable[[str, re.Match[str]], Span | None],
) -> Iterator[Span]:
    """The values of *names*. A name inside a value says nothing of its own, so this stays linear."""
    end = 0
    for name in names:
        if name.start() >= end:
            span = value(text, name)
            if span is not None:
                end = span[1]
                yield span


def _header(text: str, name: re.Match[str]) -> Span | None:
    found = _shape(_HEADER).match(text, name.end())
    if found is None or _stands_alone(text, found.start(1)):
        return None  # no text: a number, or what has names of its own
    return found.span(1)


def _value(text: str, name: re.Match[str]) -> Span | None:
    """The value that belongs to the *name* that was found in *text*."""
    found = _shape(_VALUE).match(text, name.end())
    if found is None:
        bare_word = _takes_a_word(text, name.start())
        flag = _shape(_FLAG).match(text, name.end()) if bare_word else None
        return flag.span(1) if flag is not None else None
    if found.group("quoted"):
        return found.span("quoted")
    bare = found.group("bare")
    start, end = found.span("bare")
    if _stands_alone(text, start):  # a JSON value that is no string: a number, or a word
        secret = bare[0] in "-0123456789" and name.group().startswith(("w", "pass"))
    else:
        secret = _shape(_NO_SECRET).match(bare) is None
    return (start, end) if secret else None


def _takes_a_word(text: str, at: int) -> bool:
    """True where the name at *at* is a command-line flag, or stands in a ``.netrc``."""
    before = text[max(0, at - 80) : at]
    return re.search(r"--[\w-]{0,30}$|login\s+\S{1,60}\s+\w{0,12}$", before) is not None


def _stands_alone(text: str, at: int) -> bool:
    """True where a JSON value that is no string begins at *at*: inside a string, quotes are escaped."""
    return text[at - 2 : at] == '":' and text[at - 3 : at - 2] != "\\"
