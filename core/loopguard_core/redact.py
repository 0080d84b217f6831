"""Secrets are taken out of every text before it is written anywhere.

It works on the JSON text of an event's fields. Most texts lack a letter that a secret of some shape cannot
do without, which is seen at the speed of memory; only where all of its letters are there is a shape looked for,
in one walk from hit to hit. What was found is replaced by a marker with a keyed digest, so that equal secrets
still compare equal and cannot be guessed. Names stay readable, values go.
"""

from __future__ import annotations

from loopguard_core.events import dump, load
from loopguard_core.identity import Digester
from loopguard_core.patterns import MIXED, QUOTE, TEXT, compiled, escape
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
_LOGIN = r"""[ =]['"\\]*(?!\d+:\d+\b)[^\s:'"\\/-][^\s:'"\\/]{0,200}:([^\s'"\\/]+)"""
_DASHED = rf"""(?x)-(?=
    (?<=[KXYa-eikprstxy]-)(?=[A-Za-z0-9_-]{{16}})(?:(?<={_START}sk-)|(?<=ctx7sk-)|(?<=glpat-)|(?<=gl[dfr]t-)
      |(?<=glptt-)|(?<=glcbt-)|(?<=glsoat-)|(?<=pypi-)|(?<=xox[a-eprs]-)|(?<=xapp-)|(?<=xai-)|(?<=tvly-)
      |(?<=nvapi-)|(?<=pplx-)|(?<=sq0[acis]tp-)|(?<=sq0csp-)|(?<=GOCSPX-)|(?<=PMAK-)|(?<=NRAK-)
      |(?<=AGE-SECRET-KEY-)|(?<={_START}key-)(?=[0-9a-f]{{32}}))
      ((?=[A-Za-z_-]{{0,60}}[0-9])[A-Za-z0-9_-]+)
    # the command lines of curl, sshpass and openssl
  | u{_LOGIN}
  | u[ =][^\s'"\\-][^\s"\\]{{0,200}}[ ]-p(?:[ =]|assword[ =])?{QUOTE}?(?!\d{{1,5}}\b)([^\s'"\\-][^\s'"\\]+)
  | -user{_LOGIN}
  | -proxy-user{_LOGIN}
  | p(?<=sshpass[ ]-p)[ ]?{QUOTE}?([^\s'"\\]+)
  | Lines:[ ](?<=Private-Lines:[ ])\d+(?:\\+[nr])+((?:[A-Za-z0-9+/=]|\\+[nr])+)
  | pass(?:in|out)?[ =]pass:([^\s'"\\]+)
  | -pass(?<=--pass)(?:[ =]{QUOTE}?|\\*"\s*,\s*\\*")(?!pass:)([^\s'"\\-][^\s'"\\]*))"""


class _Shape:
    """What a secret, or the name of one, looks like. Each match has one of the *words*.

    It is compiled when a text first has such a word, or when it is looked for a second time: a hook process,
    which lives for one call, mostly compiles none.
    """

    __slots__ = ("_words", "pattern", "search")

    def __init__(self, pattern: str, *words: str) -> None:
        self.pattern, self._words = pattern, words
        #: Finds the first in a text.
        self.search: Callable[[str], re.Match[str] | None] = self._search_by_words

    def _search_by_words(self, text: str) -> re.Match[str] | None:
        self.search = self._compile_and_search
        return self.search(text) if any(word in text for word in self._words) else None

    def _compile_and_search(self, text: str) -> re.Match[str] | None:
        self.search = compiled(self.pattern).search
        return self.search(text)


#: letters from the rarest to the most frequent, and what stands in every JSON text
_RARE = '@$?&JGBA_-zqjxvkbwgpyfmcdhioultrsnae/.0123456789":'


def _rarest(letters: str) -> str:
    """The one of *letters* that most texts lack: one letter is looked for ten times as fast as several."""
    return min(letters, key=_RARE.find)


#: By a letter that each has, and which most texts lack. What goes is the last group, or all of it.
_TOKENS = {
    "-": _Shape(
        _DASHED,
        *("sk-", "pat-", "glrt-", "gldt-", "glft-", "glptt-", "glcbt-", "glsoat-", "pypi-", "xox"),
        *("xapp-", "xai-", "tvly-", "nvapi-", "pplx-", "sq0", "CSPX-", "MAK-", "NRAK-", "KEY-"),
        *("key-", "-Lines", "-u", "-p"),
    ),
    "_": _Shape(
        r"_(?=[A-Za-z0-9_]{16})(?:(?<=gh[pousr]_)|(?<=github_pat_)|(?<=[srp]k_live_)|(?<=[srp]k_test_)"
        rf"|(?<=npm_)|(?<={_START}hf_)|(?<=gsk_)|(?<=whsec_)|(?<=do[opr]_v1_)|(?<=sbp_)|(?<=shp.._)"
        r"|(?<=lin_api_)|(?<=figd_)|(?<=ntn_)|(?<=dckr_pat_)|(?<=lsv2_[ps][tk]_)|(?<=pcsk_)|(?<=glsa_)"
        rf"|(?<=sntr[uy]s_)|(?<=sntryu_)|(?<=jina_)|(?<=rubygems_)|(?<={_START}e2b_)|(?<={_START}r8_)"
        rf"|(?<={_START}glc_)(?=eyJ)|(?<={_START}ops_)(?=eyJ)|(?<={_START}secret_)(?=[A-Za-z0-9]{{32}}))"
        r"([A-Za-z0-9_]+)",
        *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "_pat_", "k_live_", "k_test_", "npm_", "hf_"),
        *("gsk_", "whsec_", "_v1_", "sbp_", "shp", "_api_", "figd_", "ntn_", "secret_", "lsv2_"),
        *("csk_", "glsa_", "sntr", "jina_", "gems_", "e2b_", "r8_", "glc_", "ops_"),
    ),
    # Amazon, Google, Atlassian, Alibaba, and the bots of Telegram
    "A": _Shape(
        rf"A(?:[KS]IA(?<={_START}A.IA)([A-Z0-9]{{12,}})(?![a-z])|Iza([A-Za-z0-9_-]{{30,}})"
        r"|T[AC]TT3([A-Za-z0-9_=-]{30,})|I(?<=LTAI)([A-Za-z0-9]{12,})"
        r"|A(?<=[0-9]{6}:AA)[A-Za-z0-9_-]{30,})",
        *("AKIA", "ASIA", "AIza", "TT3", "LTAI", ":AA"),
    ),
    # JSON web tokens, and private keys in base64: certificates and public keys begin alike
    "J": _Shape(
        rf"J(?:(?<={_START}(?<![_-])eyJ)([A-Za-z0-9_-]{{6,}}\.\.?[A-Za-z0-9_-]{{6,}}(?:\.[A-Za-z0-9_-]*){{0,3}})"
        r"|Ti(?<=LS0tLS1CRUdJTi)(?!BDRVJUSUZJQ0FU|BQVUJMSUMg)((?:[A-Za-z0-9+/=]|\\+[nr]){40,}))",
        *("eyJ", "CRUdJTi"),
    ),
    "G": _Shape(r"G(?<=SG)\.([A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})", "SG."),
    # private keys, also as a list of lines, and what a login looks like in a header
    "B": _Shape(
        r"B(?:EGIN(?<=-----BEGIN) [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r"(?:\\*\"\s*,\s*\\*\"((?:[A-Za-z0-9+/=:, ]|-(?!----)|\\*\"\s*,\s*\\*\"(?!-----)|\\+[nr])++)(?=[\\\",\s]+-----END)"
        r'|((?:[^"\\]|\\.)*?)(?=-----END [A-Z0-9 ]*PRIVATE KEY|"|$))'
        r"|asic (?=[A-Za-z+/]*[0-9=])([A-Za-z0-9+/]{10,}={0,2}))",
        *("-----BEGIN", "Basic "),
    ),
    "@": _Shape(
        r'://(?:[^\s/:@"\\]*:([^\s/"\\?#]+)|((?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{20,}))@',
        "://",
    ),
    "y": _Shape(rf"ya29\.(?<={_START}ya29\.)([A-Za-z0-9_-]{{16,}})", "ya29."),
    # hashes of passwords, as they stand in shadow and htpasswd files
    "$": _Shape(r"\$(?:apr1|[1-7y]|2[abxy])\$([A-Za-z0-9./$=,-]{16,})", "$"),
    # so long a word is found quicker than its shape
    "hooks.slack.com/services/": _Shape(
        r"hooks\.slack\.com/services/([A-Za-z0-9/]{16,})", "hooks.slack.com/services/"
    ),
    "?": _Shape(rf"\?{_SIGNATURE}", "sig=", "Signature="),
    "&": _Shape(rf"&{_SIGNATURE}", "sig=", "Signature="),
    # Docker's login
    "h": _Shape(r'"auth\\*"\s?:\s?\\*"([A-Za-z0-9+/=]{8,})', '"auth'),
    "q": _Shape(
        rf"mysql(?:dump|admin)?\s(?:[^|;&\"\\\n]{{0,200}}\s)?-p{QUOTE}?([^\s'\"\\]+)", "mysql"
    ),
}

# -- names whose value is a secret, found by a letter in the lowered text; the match ends with the name

_KEYED = (
    "api access private secret encryption signing auth master account shared license subscription"
)
_KEY_NAMES = "|".join(f"(?<={word}key)|(?<={word}[ _-]key)" for word in _KEYED.split())
_NAMES = {
    "w": _Shape(
        r"w(?:ord(?<=password)|d(?:(?<=passwd)|(?<=pwd))|t(?<=jwt)(?==))", "word", "wd", "jwt="
    ),
    "k": _Shape(
        rf"k(?:en(?<=token)(?!s|i[sz]e)|ey(?:{_KEY_NAMES}|(?<=[?&]key)(?==))|(?P<header>ie)(?<=cookie))",
        *("token", "key", "cookie"),
    ),
    "z": _Shape("z(?<=authoriz)(?P<header>ation)", "authorization"),
    # for browsers, ``credentials`` is also a way to fetch
    "c": _Shape(
        r"cre(?:t(?<=secret)(?!s)|dentials?+(?!\\*[\"']?\s?:\s?\\*[\"']?(?:include|omit|same-origin)\b))",
        "cre",
    ),
    "p": _Shape(
        r"pass(?:phrase|(?:(?<![a-z]pass)|(?<=\\[nrt]pass))(?==|\\*[\"']?\s?:\s?\\*[\"']))",
        *("passphrase", "pass=", "pass:", 'pass"', "pass\\", "pass'"),
    ),
}
_OF_ENV = ("_KEY", "_PASS", "_JWT", "_CREDS", "_PAT=")
_ENV = _Shape(
    r"_(?:KEY|PASS|JWT|CREDS|PAT(?==))"
    r"(?=[A-Z0-9_]{0,40}(?:\s?=|\\*\"\s?:\s?\\*\")|:\s[^\s\"'\\,(]{4,}[\"'\\])",
    *_OF_ENV,
)
_BEARER = _Shape(r"bearer\s+([a-z0-9._~+/=-]{16,})", "bearer")

_VALUE = rf"""(?x)(?![_-]?(?:type|count|limit|usage|url|uri|endpoint|name|expir|budget|ttl|len|file|path|policy
          |field|hint|id\b|manager|reset|required))
    (?P<rest>[A-Za-z0-9_-]{{0,40}})
    (?:(?P<key>")|{QUOTE}(?:\](?=\s?=\s?['\\]))?)?
    \s*(?::\s*[A-Za-z][\w.\[\]|]{{0,40}}\s(?==\s['\\]))?(?:=>|:=|==?|:)\s*
    (?:[|>][+-]?(?:\\+[nr])+\s+)?
    (?: [bu$]?(?P<q>(?P<b>(?(key)(?=")|(?:\\(?:\\\\)*(?=")|\\*(?=')|(?:(?<==)|(?<==\s))(?=`))))["'`])(?![${{<*%\[])
        (?P<quoted>{TEXT}++)(?P=q)
      | (?P<bare>(?![${{<*%/\[])[^\s"'\\,;&<>(){{}}\[\]|`]{{3,}}+)(?![(\[]) )"""
_FLAG = rf"""(?x)[\w-]{{0,40}}(?:\s{{1,8}}{QUOTE}?|(?P<q>\\*["'])\s?,\s{{0,8}}(?P=q))
    (?P<word>[^\s"'\\-][^\s"'\\]*)"""
# a list of values, as headers have
_LIST = rf"""(?x)[A-Za-z0-9_-]{{0,40}}(?P<q>(?P<b>\\*)")\s*:\s*\[\s*
    (?P=q)(?P<values>{TEXT}++(?:(?P=q)\s*,\s*(?P=q){TEXT}*+)*)(?P=q)\s*\]"""
_SETTING = ("--", "login", "set", "env", "ENV ", "ARG ", "config")
_BEFORE_WORD = (
    r"--[\w-]{0,30}$|login\s+\S{1,60}?(?:\s|\\[nrt])+\w{0,12}$"
    r"|(?:setenv|setx|ENV|ARG|set -\w{1,3}) [A-Z0-9_]{0,40}$"
    r"|config(?:ure)? (?:(?:set|--\w{1,10}) [\w./:-]{0,60}|\w{1,40}\.[\w./:-]{0,60})$"
    r"|(?:getenv|environ\.get|setdefault|\.set|setProperty)\(\\*[\"'][\w.-]{0,40}$"
)
_HEADER = rf"""(?xi)(?:(?P<key>")|{QUOTE})?\s*[:=]\s*(?(key)"|{QUOTE}?)\s*
    (?:(?:bearer|basic|token|digest|negotiate|apikey|aws4-hmac-sha256)\s+)?(?P<text>[^"'\\\r\n]{{4,}})"""
# Words that stand where a value would, in code, schemas and counts.
_NO_SECRET = (
    r"(?i)(?:none|null|nil|true|false|str|string|int|integer|bool|boolean|bytes|number|object|array|any"
    r"|optional|undefined|required|secretstr|self|os|await|new|yield|not|lambda|pass|unexpected|[0-9.]{1,6}|[A-Za-z_]+(?:\.[A-Za-z_]+)+)\.?$"
)


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
        return compiled(pattern)
    except ValueError as error:
        raise ValueError(f"the redaction pattern {pattern!r} is not usable: {error}") from None


class Redactor:
    """Takes secrets out, with this machine's *key* for the digests in the markers."""

    __slots__ = ("_adds", "_digester", "_fields", "_foreign", "rules")

    def __init__(self, key: bytes = b"", rules: Redaction | None = None) -> None:
        self.rules = rules or Redaction()
        self._digester = Digester(key)
        self._adds = bool(self.rules.patterns or self.rules.fields)
        self._fields = [(_rarest(f), _Shape(escape(f), f)) for f in self.rules.fields]
        self._foreign = not "".join(self.rules.fields).isascii()

    def marker(self, secret: str) -> str:
        """What stands for *secret*: equal for equal secrets."""
        return f"{MARK}{self._digester(secret)[:12]}]"

    def __call__(self, text: str) -> str:
        """The JSON *text* without secrets, still JSON; the same object where there is none."""
        if self._adds:
            text = self._own(text)
        low = text.lower() if text.isascii() else self._lowered(text)
        # What follows is what most short texts cost, so it is spelled: each shape needs one of these letters. A
        # capital letter is one that lowering changed.
        spans: list[Span] = []
        if (
            "h" in text
            or "." in text
            or "_" in text
            or "-" in text
            or low != text
            or "=" in text
            or "$" in text
            or "@" in text
        ):
            spans += _tokens(text)
        if (
            ("p" in low and ("h" in low or "=" in low))
            or ("w" in low and ("d" in low or "=" in low))
            or "k" in low
            or ("c" in low and "cre" in low)
            or "z" in low
        ):
            spans += _named(text, low, _NAMES.items())
        if "b" in low and (first := _BEARER.search(low)):
            spans += [m.span(1) for m in _all_from(first)]
        if self._fields:
            spans += _named(text, low, self._fields)
        return self._replace(text, spans) if spans else text

    def _lowered(self, text: str) -> str:
        """*text* as names are looked for in it, letter by letter. Only a person's own may be of other letters
        than ASCII's, and to lower those takes ten times as long."""
        if not self._foreign:
            return text.encode("ascii", "replace").lower().decode("ascii")
        low = text.lower()
        return low if len(low) == len(text) else text.replace("\u0130", "i").lower()

    def _replace(self, text: str, spans: list[Span]) -> str:
        from loopguard_core.apart import again  # few texts have a secret

        spans += again(text, spans)
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


def _tokens(text: str) -> list[Span]:
    """Secrets that are known by what they look like, and those of environment variables."""
    spans: list[Span] = []
    for letter in _TOKENS:
        if letter in text and (first := _TOKENS[letter].search(text)):
            for m in _all_from(first):
                spans += _each(text, *m.span(m.lastindex or 0))
    if "_" in text and (first := _ENV.search(text)):
        spans += _found(text, _all_from(first), _value)
    return spans


def _named(text: str, low: str, names: Iterable[tuple[str, _Shape]]) -> list[Span]:
    """Secrets that are known by their *names*, which are looked for in the lowered text *low*."""
    spans: list[Span] = []
    for letter, name in names:
        if letter in low and (first := name.search(low)):
            headers: list[re.Match[str]] = []
            spans += _found(text, _no_headers(_all_from(first), headers), _value)
            spans += _found(text, headers, _header)
    return spans


def _no_headers(
    names: Iterator[re.Match[str]], headers: list[re.Match[str]]
) -> Iterator[re.Match[str]]:
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
        quote = compiled(r'\\*"$').search(text, max(0, start - 40), start)
    if quote is not None:
        q = escape(quote.group())
        piece = compiled(TEXT.replace("(?P=q)", q).replace("(?P=b)", q[:-1]) + "*+")
        comma = compiled(rf"{q}\s*,\s*{q}")
        while (here := piece.match(text, start, end)) and (
            found := comma.match(text, here.end(), end)
        ):
            yield start, here.end()
            start = found.end()
    yield start, end


def _header(text: str, name: re.Match[str]) -> Span | None:
    found = compiled(_LIST).match(text, name.end())
    if found is not None:
        return found.span("values")
    found = compiled(_HEADER).match(text, name.end())
    if found is not None:
        return found.span("text")
    if _takes_a_word(text, name.start()):
        found = compiled(_FLAG).match(text, name.end())
        return found.span("word") if found is not None else None
    return _apart(text, name, header=True)


def _value(text: str, name: re.Match[str]) -> Span | None:
    """The value that belongs to the *name* that was found in *text*."""
    found = compiled(_VALUE).match(text, name.end())
    if found is None:
        return _elsewhere(text, name)
    if found.group("quoted"):
        return found.span("quoted")
    bare = found.group("bare")
    start, end = found.span("bare")
    if _stands_alone(text, start):  # a JSON value that is no string: a number, or a word
        secret = bare[0] in "-0123456789" and name.group().startswith(("w", "pass"))
    elif text[name.start() - 1 : name.start()] == " ":  # a name of two words stands in prose, too
        secret = compiled(MIXED).match(bare) is not None
    else:
        secret = compiled(_NO_SECRET).match(bare) is None
    return (start, end) if secret else None


def _elsewhere(text: str, name: re.Match[str]) -> Span | None:
    """The value where nothing but its place says that it belongs to the *name*."""
    if _takes_a_word(text, name.start()):
        found = compiled(_FLAG).match(text, name.end())
        return found.span("word") if found is not None else None
    found = compiled(_LIST).match(text, name.end())
    if found is not None:
        secret = compiled(_NO_SECRET).match(found.group("values")) is None
        return found.span("values") if secret else None
    return _apart(text, name)


def _apart(text: str, name: re.Match[str], header: bool = False) -> Span | None:
    near = text[name.end() : name.end() + 100]
    if not ('"' in near or ">" in near or "value" in near):
        return None
    from loopguard_core.apart import value  # few texts name what they do not give

    return value(text, name.start(), name.end(), header)


def _takes_a_word(text: str, at: int) -> bool:
    """True where the name at *at* is a command-line flag, or one that a word sets: in a shell, a ``.netrc``."""
    before = text[max(0, at - 80) : at]
    if not any(word in before for word in _SETTING):
        return False
    return compiled(_BEFORE_WORD).search(before) is not None


def _stands_alone(text: str, at: int) -> bool:
    """True where a JSON value that is no string begins at *at*: inside a string, quotes are escaped."""
    return text[at - 2 : at] == '":' and text[at - 3 : at - 2] != "\\"
