"""Secrets are taken out of every text before it is written anywhere.

It works on the JSON text of an event's fields, in one walk from hit to hit: what may begin a secret is
looked for by its rarest letter, which costs little where there is none, and only at a hit is the whole
shape tried. What was found is replaced by a marker with a keyed digest, so that equal secrets still
compare equal and cannot be guessed. Names stay readable, values go.
"""

from __future__ import annotations

from loopguard_core.events import dump, load
from loopguard_core.identity import Digester
from loopguard_core.patterns import compiled as _shape
from loopguard_core.patterns import escape
from loopguard_core.plain_json import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Span = tuple[int, int]

MARK = "[redacted:"
_write = writer()

# -- tokens that are known by their beginning; the beginning stays, so that a reader knows what it was

_SIGNATURE = r"(?:sig|X-Amz-Signature|X-Goog-Signature)=([A-Za-z0-9%/+=_-]{16,})"
# Where a word begins: also behind what JSON spells with a letter or a digit, such as the end of a line.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4}))"
# A dash is frequent: whatever follows one is tried in a single walk, which goes on right behind the dash.
_DASHED = rf"""(?x)-(?=
    (?<=[KXYabeikprsty]-)(?=[A-Za-z0-9_-]{{16}})(?:(?<={_START}sk-)|(?<=glpat-)|(?<=pypi-)|(?<=xox[abeprs]-)
      |(?<=xapp-)|(?<=xai-)|(?<=tvly-)|(?<=GOCSPX-)|(?<=PMAK-)|(?<=AGE-SECRET-KEY-))
      ((?=[A-Za-z_-]{{0,60}}[0-9])[A-Za-z0-9_-]+)
    # the command lines of curl, sshpass and openssl
  | (?:u|-user)[ =]['"\\]*(?!\d+:\d+\b)[^\s:'"\\/-][^\s:'"\\/]{{0,200}}:([^\s'"\\/]+)
  | p(?<=sshpass[ ]-p)[ ]?['"\\]*([^\s'"\\]+)
  | pass(?:in|out)?[ =]pass:([^\s'"\\]+))"""
_TOKENS = (
    # letters to look for, the whole shape with what goes as its last group, or all of it
    ("-", _DASHED),
    (
        "_",
        r"_(?=[A-Za-z0-9_]{16})(?:(?<=gh[pousr]_)|(?<=github_pat_)|(?<=[srp]k_live_)|(?<=[srp]k_test_)"
        rf"|(?<=npm_)|(?<={_START}hf_)|(?<=gsk_)|(?<=whsec_)|(?<=dop_v1_)|(?<=sbp_)|(?<=shp.._)"
        rf"|(?<=lin_api_)|(?<=figd_)|(?<=ntn_)|(?<=dckr_pat_)|(?<={_START}secret_)(?=[A-Za-z0-9]{{32}}))"
        r"([A-Za-z0-9_]+)",
    ),
    (
        "A",  # Amazon, Google, and the bots of Telegram
        rf"A(?:[KS]IA(?<={_START}A.IA)([A-Z0-9]{{12,}})(?![a-z])|Iza([A-Za-z0-9_-]{{30,}})"
        r"|A(?<=[0-9]{6}:AA)[A-Za-z0-9_-]{30,})",
    ),
    (
        "J",
        rf"J(?<={_START}(?<![_-])eyJ)([A-Za-z0-9_-]{{6,}}\.[A-Za-z0-9_-]{{6,}}(?:\.[A-Za-z0-9_-]*)?)",
    ),
    ("G", r"G(?<=SG)\.([A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})"),
    (
        "-----BEGIN",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r'((?:[^"\\]|\\.)*?)(?=-----END [A-Z0-9 ]*PRIVATE KEY|"|$)',
    ),
    (
        "@",
        r'://(?:[^\s/:@"\\]*:([^\s/@"\\]+)|((?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{20,}))@',
    ),
    ("ya29.", rf"ya29\.(?<={_START}ya29\.)([A-Za-z0-9_-]{{16,}})"),
    # hashes of passwords, as they stand in shadow and htpasswd files
    ("$", r"\$(?:apr1|[1-7y]|2[abxy])\$([A-Za-z0-9./$=,-]{16,})"),
    ("hooks.slack.com/services/", r"hooks\.slack\.com/services/([A-Za-z0-9/]{16,})"),
    ("?", rf"\?{_SIGNATURE}"),
    ("&", rf"&{_SIGNATURE}"),
    # Docker's login
    ('"auth', r'"auth\\*"\s?:\s?\\*"([A-Za-z0-9+/=]{8,})'),
    ("mysql", r"mysql(?:dump|admin)?\s(?:[^|;&\"\\\n]{0,200}\s)?-p([^\s'\"\\]+)"),
)
#: letters from the rarest to the most frequent, and what stands in every JSON text
_RARE = '@$?&JGA_-zqjxvkbwgpyfmucldhrsnioate/.0123456789":'


def _rarest(letters: str) -> str:
    """The one of *letters* that most texts lack: one letter is looked for ten times as fast as several."""
    return min(letters, key=_RARE.find, default="")


def _gated(shapes: Iterable[tuple[str, str]], long: int) -> tuple[tuple[str, str, str], ...]:
    """For each shape the rarest letter, the word that has to stand in the text as well, and the shape.

    Words of *long* letters or fewer are left to the shape.
    """
    return tuple(
        (_rarest(letters), letters if len(letters) > long else "", shape)
        for letters, shape in shapes
    )


#: Of a text below so many characters all words are looked for first: a process that lives for one call would
#: have to compile the shapes. In a longer one, a shape finds its first letters quicker than a short word is.
_SHORT, _LONG = 500, 8
_SHAPES = _gated(_TOKENS, 0), _gated(_TOKENS, _LONG)

# -- names whose value is a secret, found by a letter in the lowered text; the match ends with the name

_KEYED = "api|access|private|secret|encryption|signing|auth|master|account|shared|license"
_KEY_NAMES = "|".join(f"(?<={word}key)|(?<={word}[_-]key)" for word in _KEYED.split("|"))
_NAMES = (
    # letters to look for, what the name ends with; "cre" stands in both of its two
    ("w", r"w(?:ord(?<=password)|d(?:(?<=passwd)|(?<=pwd)))"),
    ("k", rf"k(?:en(?<=token)(?!s)|ey(?:{_KEY_NAMES})|(?P<header>ie)(?<=cookie))"),
    ("z", "z(?<=authoriz)(?P<header>ation)"),
    ("cre", r"cre(?:t(?<=secret)(?!s)|dentials?)"),
    ("passphrase", "passphrase"),
)
_ENV = r"_(?:KEY|PASS)(?=[A-Z0-9_]{0,40}\s?=)"
_BEARER = r"bearer\s+([a-z0-9._~+/=-]{16,})"

# A piece of a text in quotes *q*. In JSON inside JSON a quote stands behind backslashes *b*; one that does not end
# the text stands behind twice as many and one more.
_TEXT = r"""(?:(?P=b)(?P=b)\\["\\]|(?!(?P=q))(?:[^"\\]|\\.))"""
_VALUE = rf"""(?x)(?![_-]?(?:type|count|limit|usage|url|uri|endpoint|name|expir|budget|ttl|len|file|path|policy
          |field|hint|id\b|manager|reset|required))
    (?P<rest>[A-Za-z0-9_-]{{0,40}})
    (?:\\*["'])?\s*(?:=>|:=|==?|:)\s*
    (?: (?P<q>(?P<b>\\*)["'])(?![${{<*%\[])(?P<quoted>{_TEXT}++)(?P=q)
      | (?P<bare>(?![${{<*%/\[])[^\s"'\\,;&<>(){{}}\[\]|`]{{3,}}+)(?![(\[]) )"""
_FLAG = (
    r"""(?x)[\w-]{0,40}(?:\s{1,8}(?:\\*["'])?|\\*["']\s?,\s{0,8}\\*["'])([^\s"'\\-][^\s"'\\]*)"""
)
# what stands apart from its name: a list of values, as headers have, or the two in members of an object
_LIST = rf"""(?x)[A-Za-z0-9_-]{{0,40}}(?P<q>(?P<b>\\*)")\s*:\s*\[\s*
    (?P=q)(?P<values>{_TEXT}++(?:(?P=q)\s*,\s*(?P=q){_TEXT}*+)*)(?P=q)\s*\]"""
_MEMBERS = rf"""(?x)[\w\ -]{{0,40}}(?P<q>(?P<b>\\*)")\s*,\s*
    (?:(?P=q)[A-Za-z_]{{1,20}}(?P=q)\s*:\s*(?P=q)[^"\\]{{0,60}}(?P=q)\s*,\s*){{0,4}}
    (?P=q)[Vv]alue(?P=q)\s*:\s*(?P=q)(?P<value>{_TEXT}++)(?P=q)"""
_BEFORE_WORD = r"--[\w-]{0,30}$|login\s+\S{1,60}?(?:\s|\\[nrt])+\w{0,12}$"
_HEADER = r"""(?xi)(?:\\*["'])?\s*[:=]\s*(?:\\*["'])?\s*
    (?:(?:bearer|basic|token|digest|negotiate|apikey|aws4-hmac-sha256)\s+)?([^"'\\\r\n]{4,})"""
# Words that stand where a value would, in code, schemas and counts.
_NO_SECRET = (
    r"(?i)(?:none|null|nil|true|false|str|string|int|integer|bool|boolean|bytes|number|object|array|any"
    r"|optional|undefined|required|secretstr|self|os|[0-9.]{1,6}|[A-Za-z_]+(?:\.[A-Za-z_]+)+)\.?$"
)


class _Searches(dict[str, object]):
    """Pattern -> its ``search``, made when it is first needed, since a hook process lives for one call."""

    def __missing__(self, pattern: str) -> object:
        made = self[pattern] = _shape(pattern).search
        return made


_search: Callable[[str], Callable[[str], re.Match[str] | None]]
_search = _Searches().__getitem__  # type: ignore[assignment]


def _all_from(match: re.Match[str]) -> Iterator[re.Match[str]]:
    """The first *match* in a text, and those that follow. To look for the first one alone costs half."""
    search, text = match.re.search, match.string
    found: re.Match[str] | None = match
    while found is not None:
        yield found
        found = search(text, found.end())


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
        self.fields = tuple(f.lower() for f in fields if f)
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
        return _shape(pattern)
    except ValueError as error:
        raise ValueError(f"the redaction pattern {pattern!r} is not usable: {error}") from None


class Redactor:
    """Takes secrets out, with this machine's *key* for the digests in the markers."""

    __slots__ = ("_digester", "_foreign", "_names", "rules")

    def __init__(self, key: bytes = b"", rules: Redaction | None = None) -> None:
        self.rules = rules or Redaction()
        self._digester = Digester(key)
        names = (*_NAMES, *((f, escape(f)) for f in self.rules.fields))
        self._names = _gated(names, 0), _gated(names, _LONG)
        self._foreign = not "".join(self.rules.fields).isascii()

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
        long = len(text) >= _SHORT
        for gate, word, shape in _SHAPES[long]:
            if gate in text and word in text and (first := _search(shape)(text)):
                spans += [m.span(m.lastindex or 0) for m in _all_from(first)]
        low = self._lowered(text)
        for gate, word, name in self._names[long]:
            if gate in low and word in low and (first := _search(name)(low)):
                headers: list[re.Match[str]] = []
                spans += _found(text, _apart(_all_from(first), headers), _value)
                spans += _found(text, headers, _header)
        named = "_" in text and (long or "_KEY" in text or "_PASS" in text)
        if named and (first := _search(_ENV)(text)):
            spans += _found(text, _all_from(first), _value)
        if "b" in low and "bearer" in low and (first := _search(_BEARER)(low)):
            spans += [m.span(1) for m in _all_from(first)]
        return spans

    def _lowered(self, text: str) -> str:
        """*text* as names are looked for in it, letter by letter. Only a person's own may be of other letters
        than ASCII's, and to lower those takes ten times as long."""
        if text.isascii():
            return text.lower()
        if not self._foreign:
            return text.encode("ascii", "replace").lower().decode("ascii")
        low = text.lower()
        return low if len(low) == len(text) else text.replace("\u0130", "i").lower()

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
            clean = _write(after)
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


def _apart(names: Iterator[re.Match[str]], headers: list[re.Match[str]]) -> Iterator[re.Match[str]]:
    """*names* of fields; those of HTTP headers, whose values go to the end of the line, go to *headers*."""
    for name in names:
        if name.lastgroup is None:
            yield name
        else:
            headers.append(name)


def _found(
    text: str,
    names: Iterable[re.Match[str]],
    value: Callable[[str, re.Match[str]], Span | None],
) -> Iterator[Span]:
    """The values of *names*. A name inside a value says nothing of its own, so this stays linear."""
    end = 0
    for name in names:
        if name.start() >= end:
            span = value(text, name)
            if span is not None:
                end = span[1]
                yield from _each(text, *span)


def _each(text: str, start: int, end: int) -> Iterator[Span]:
    """The strings that stand there: the values of a list are found as one."""
    quote = None
    if text.find('"', start, end) >= 0:
        quote = _shape(r'\\*"$').search(text, max(0, start - 40), start)
    if quote is not None:
        q = escape(quote.group())
        piece = _shape(_TEXT.replace("(?P=q)", q).replace("(?P=b)", q[:-1]) + "*+")
        comma = _shape(rf"{q}\s*,\s*{q}")
        while (here := piece.match(text, start, end)) and (
            found := comma.match(text, here.end(), end)
        ):
            yield start, here.end()
            start = found.end()
    yield start, end


def _header(text: str, name: re.Match[str]) -> Span | None:
    found = _shape(_LIST).match(text, name.end())
    if found is not None:
        return found.span("values")
    found = _shape(_HEADER).match(text, name.end())
    if found is None or _stands_alone(text, found.start(1)):
        return None  # no text: a number, or what has names of its own
    return found.span(1)


def _value(text: str, name: re.Match[str]) -> Span | None:
    """The value that belongs to the *name* that was found in *text*."""
    found = _shape(_VALUE).match(text, name.end())
    if found is None:
        return _elsewhere(text, name)
    if found.group("quoted"):
        return found.span("quoted")
    bare = found.group("bare")
    start, end = found.span("bare")
    if _stands_alone(text, start):  # a JSON value that is no string: a number, or a word
        secret = bare[0] in "-0123456789" and name.group().startswith(("w", "pass"))
    else:
        secret = _shape(_NO_SECRET).match(bare) is None
    return (start, end) if secret else None


def _elsewhere(text: str, name: re.Match[str]) -> Span | None:
    """The value where nothing but its place says that it belongs to the *name*."""
    if _takes_a_word(text, name.start()):
        found = _shape(_FLAG).match(text, name.end())
        return found.span(1) if found is not None else None
    found = _shape(_LIST).match(text, name.end())
    if found is not None:
        secret = _shape(_NO_SECRET).match(found.group("values")) is None
        return found.span("values") if secret else None
    found = _shape(_MEMBERS).match(text, name.end())
    return found.span("value") if found is not None else None


def _takes_a_word(text: str, at: int) -> bool:
    """True where the name at *at* is a command-line flag, or stands in a ``.netrc``."""
    before = text[max(0, at - 80) : at]
    if "--" not in before and "login" not in before:
        return False
    return _search(_BEFORE_WORD)(before) is not None


def _stands_alone(text: str, at: int) -> bool:
    """True where a JSON value that is no string begins at *at*: inside a string, quotes are escaped."""
    return text[at - 2 : at] == '":' and text[at - 3 : at - 2] != "\\"
