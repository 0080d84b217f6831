"""Secrets that are known by the names of what holds them: fields, variables, flags, headers.

Names are looked for in a lowered text, by a letter that most texts lack or that their shape is quickly tried at.
The match ends with the name; what a value looks like depends on where the name stands: in JSON (also in JSON inside
JSON), YAML, XML, code, a query, a shell.
"""

from __future__ import annotations

from loopguard_core.patterns import MIXED, QUOTE, TEXT, compiled
from loopguard_core.redaction.known_secrets import Shape, all_from, each

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator

    from loopguard_core.redaction.known_secrets import Span

__all__ = ["BEARER", "NAMES", "named", "stands_alone", "values"]

_KEYED = "api access private secret encryption signing auth master account shared license subscription hmac functions pragma"
_KEY_NAMES = "|".join(
    f"(?<=(?:{words})key)|(?<=(?:{words})[ _-]key)"  # those of one length share a look behind
    for size in sorted({len(word) for word in _KEYED.split()})
    for words in ("|".join(w for w in _KEYED.split() if len(w) == size),)
)
# Groups with a name have values of a kind of their own (``_KINDS``, ``known_kinds``).
# What has to follow what might be a code.
_CODE = r"s?\\*[\"']?\]?(?:\s?(?:[:=,]|is\b|ist\b|\d)|[.!]?(?:[\s\\\"']|$))"
NAMES = {
    "w": Shape(
        r"w(?:ord(?<=password)|_session(?<=bw_session)(?==)| login(?<=bw login)(?P<taken>(?=\s))|ith-token(?<=--with-token)(?P<piped>(?=[\s\"'\\]))|d(?:(?<=[ch][ht]passwd)(?P<login>)|(?<=passwd)|(?<=pwd))|t(?<=jwt)(?==|\\*[\"']\s?:)"
        r"|ort(?<=passwort|kennwort))",
        *("word", "wd", "jwt", "wort", "bw_session", "bw login", "with-token"),
    ),
    "k": Shape(
        rf"k(?:en(?<=token)(?:(?<=[\"_]token)(?P<object>(?=s\\*\"\s?:\s?\{{))|(?!s|i[sz]e))|ey(?:{_KEY_NAMES}|(?<=[?&]key)(?==)|(?<=unseal key)(?P<taken>(?= \d))"
        r"|(?==)(?:(?<![a-z0-9_.$-]key)|(?<=\\[nrt]key))(?P<bare>))"
        r"|ie(?<=cookie)(?:(?P<jar>(?=s\\*\"\s*:\s*\[\s*\{))|(?P<header>))|ty(?<=[\"']kty)(?P<jwk>(?=\\*[\"']))"
        r"|v(?<=[\s\"'/]kv)(?P<store>(?=\s(?:put|patch)\s))| (?<=bw unlock )(?P<taken_>)|init(?<=kinit)(?P<piped>(?=[\s\"'\\]))|s(?<=hooks)(?P<hook>)|b2(?<=hookb2)(?P<hook_>))",
        *("token", "key", "cookie", "kty", "hook", "kv ", "kinit", "bw unlock"),
    ),
    "z": Shape("zation(?<=authorization)(?P<header>)", "authorization"),
    # for browsers, ``credentials`` is also a way to fetch. What begins with a letter of its own is tried fast.
    "c": Shape(
        r"c(?:r(?:e(?:t(?<=secret)(?:(?P<store>(?=s?\s(?:set|put|create|add|versions|generic|docker-registry|tls)\s))|(?<=[\"_]secret)(?P<object>(?=s\\*\"\s?:\s?\{))|(?!s))"
        r"|dentials?+(?:(?P<object_>(?=\\*\"\s?:\s?\{))|(?!\\*[\"']?\s?:\s?\\*[\"']?(?:include|omit|same-origin)\b)))|yptsetup(?P<piped>(?=\s)))"
        rf"|o(?:de(?P<code>(?={_CODE}))|ntrase[^\s\"]{{1,9}}a(?=\s?[:=]))|v[cv]2?(?P<card>(?={_CODE}))"
        r"|argo(?P<taken>(?= login\s))|tl(?<=rabbitmqctl)(?P<taken_>(?=\s))"
        r"|ure(?<=secure)string(?P<power>(?=\s))|l(?:e(?<=oracle):thin(?P<oracle>(?=:))|oudflared(?P<taken_1>(?= service )))"
        r"| (?:alias set(?<=mc alias set)(?P<taken_2>(?=\s))|(?<=basic )(?P<basic>)|(?<=mnemonic )(?P<words>))|:(?<=mnemonic:)(?P<words_>)|\"(?<=mnemonic\")(?P<words_1>)|\\(?<=mnemonic\\)(?P<words_2>))",
        *(
            "cre",
            "code",
            "cvc",
            "cvv",
            "mnemonic",
            "basic ",
            "contrase",
            "securestring",
            "cryptsetup",
            "oracle:",
            "cargo login",
            "rabbitmqctl",
            "cloudflared",
            "mc alias",
        ),
    ),
    "h": Shape(
        r"auth(?:(?<=\"auth)(?P<docker>(?=\\*\"\s?:\s?\\*\"[a-z0-9+/=]{8}))|(?P<pair>(?=\s?=?\s?\(\s*\\*[\"']))"
        r"|(?<=masterauth)(?P<word>(?=\s))|(?<=[?&]auth)(?P<short>(?==)))",
        "auth",
    ),
    "p": Shape(
        r"p(?:ass(?:phrase(?:(?<=wpa_passphrase)(?P<taken>(?=\s)))?|code|e(?<=mot de passe)|(?<=requirepass)(?P<word>(?=\s))|(?<=\s/pass)(?=:\S)|(?:(?<![a-z]pass)|(?<=\\[nrt]pass)|(?<=sshpass))(?:(?==|\\*[\"']?\s?:\s?\\*[\"'])|(?P<near>(?=\s=\s|:\s))))|lus(?<=sqlplus)(?P<oracle>(?=\s))"
        r"|oetry(?P<taken_>(?=\s[^\"|;&]{0,30}config))|ulumi(?P<taken_1>(?=\s[^\"|;&]{0,30}config))|gpass(?P<pgpass>)|erator(?P<taken_2>(?= unseal\s))"
        rf"|i(?:n(?<=pin)(?P<code>(?=(?:[ _-]?(?:code|number))?{_CODE}))|(?<=dapi)(?P<dapi>(?=[0-9a-f]{{32}})))"
        r"|w(?P<short>(?=\\*[\"']?\s?[:=]))|sk(?P<short_>(?=\\*[\"']?\s?[:=]))|hrase(?<=seed.phrase|very.phrase)(?P<words>)"
        r"|:(?:(?<=otp:)(?P<code_>)|(?<= /p:)(?P<taken_3>))|=(?<=otp=)(?P<code_1>)|\"(?<=otp\")(?P<code_2>)|\\(?<=otp\\)(?P<code_3>)| (?<=otp )(?P<code_5>))",
        *(
            "pass",
            "pin",
            "otp",
            "pw",
            "psk",
            "phrase",
            "dapi",
            "sqlplus",
            "poetry",
            "pulumi",
            "pgpass",
            "unseal",
            "/p:",
        ),
    ),
    # in SQL, a user is mostly named with a host; few texts have that sign
    "@": Shape(r"identified(?P<sql>(?=\s))", "identified"),
}
# Private keys, also as a list of lines, and what follows the word ``bearer``: both begin alike.
BEARER = Shape(
    r"be(?:arer(?:\s+([a-z0-9._~+/=-]{16,})|\\*\"\s?:\s?\\*\"([a-z0-9._~+/=-]{8,}))|gin(?<=-----begin) [a-z0-9 ]*private key(?: block)?-----"
    r"(?:\\*\"\s*,\s*\\*\"((?:[a-z0-9+/=:, ]|-(?!----)|\\*\"\s*,\s*\\*\"(?!-----)|\\+[nr])++)(?=[\\\",\s]+-----end)"
    r'|((?:[^"\\]|\\.)*?)(?=-----end [a-z0-9 ]*private key|"|$)))',
    *("bearer", "-----begin"),
)

#: The end of a line behind which a command goes on, as JSON spells it, and JSON inside JSON.
_GOES_BELOW = r"(?:\\{3}){1,4}(?:r\\{1,4})?n\s{0,40}"
_VALUE = rf"""(?x)(?![_-]?(?:type|count|limit|usage|url|uri|endpoint|name|expir|budget|ttl|len|file|path|policy
          |field|hint|id\b|manager|reset|required))
    (?P<rest>[A-Za-z0-9_-]{{0,40}})
    (?:(?P<key>")|{QUOTE}(?:\](?=\s?=\s?['\\]))?)?
    \s*(?::\s*(?:&(?:'static[ ])?)?[A-Za-z][\w.\[\]|]{{0,40}}\s(?==\s['\\])|(?:string|String|\[\]byte)\s(?==\s\\))?(?:=>|:=|==?|:|(?:%22)?%3[AaDd](?:%22)?)\s*
    (?:[|>][+-]?(?:\\+[nr])+\s+|{_GOES_BELOW})?
    (?: (?:[bu$](?=\\*["'])|(?:[a-z]{{1,12}}\.)?(?:SecretStr|Secret|Password)\()?(?:(?P<three>\\+)"(?P=three)"(?=(?P=three)"[^"\\]))?(?P<q>(?P<b>(?(key)(?=")|(?:\\(?:\\\\)*(?=")|\\*(?=')|(?:(?<==)|(?<==\s))(?=`))))["'`])(?![${{<*%\[])
        (?P<quoted>{TEXT}++)(?P=q)
      | (?P<bare>(?![${{<*/\[]|%(?![0-9A-F]{{2}}))[^\s"'\\,;&<>(){{}}\[\]|`]{{3,}}+)(?![(\[]) )"""
_FLAG = rf"""(?x)(?![_-]?(?:file|stdin|path|policy|url|env\b|command|helper|manager|store\b|reset|less))[\w-]{{0,40}}(?:(?:\s{{0,8}}{_GOES_BELOW}|\s{{1,8}}){QUOTE}?|(?P<q>\\*["'])\s?,\s{{0,8}}(?P=q))
    (?P<word>[^\s"'\\$<{{*%-][^\s"'\\]*)"""
# a list of values, as headers have
_LIST = rf"""(?x)[A-Za-z0-9_-]{{0,40}}(?P<q>(?P<b>\\*)")\s*:\s*\[\s*
    (?P=q)(?P<values>{TEXT}++(?:(?P=q)\s*,\s*(?P=q){TEXT}*+)*)(?P=q)\s*\]"""
# an object of them, each of which looks like a secret
_MEMBERS = r"""s?(?P<q>\\*")\s?:\s?(?=\{(?P<inner>[^{}]{0,20000}))"""
_MEMBER = rf"""QUOTE\s?:\s?QUOTE(?P<value>(?![#./])(?=(?:[^0-9"\\]*[0-9]){{2}}){MIXED})(?=QUOTE)"""
_SETTING = ("--", " -", "'-", '"-', "login", "set", "env", "ENV ", "ARG ", "config", "auth")
_BEFORE_WORD = (
    r"--[\w-]{0,30}$|[\s\"']-[A-Za-z]{0,20}$|login\s+\S{1,60}?(?:\s|\\[nrt])+(?:account\s[^\s=]{1,60}\s+)?\w{0,12}$"
    r"|(?:setenv|setx|ENV|ARG|set -\w{1,3}) [A-Z0-9_]{0,40}$"
    r"|config(?:ure)? (?:(?:set|--\w{1,10}) [\w./:-]{0,60}|\w{1,40}\.[\w./:-]{0,60})$"
    r"|(?:add-|ngrok )authto$|reset-admin-pass$"
)
_HEADER = rf"""(?xi)(?:(?P<key>")|{QUOTE})?\s*[:=]\s*(?(key)"|(?:[bfur]?{QUOTE})?)\s*
    (?:(?:bearer|basic|token|digest|negotiate|apikey|aws4-hmac-sha256)\s+)?(?P<text>[^"'\\\r\n]{{4,}})"""
# Calls whose second word belongs to their first, which ends with a name.
_CALL = r"(?:getenv|environ\.get|[sS]et[dD]efault|\.set|[sS]etProperty|putenv|[sS]etenv|Variable|define|\.fill|\.type|[sS]et_?[vV]alue|[hH]eader|[sS]et_?[sS]ecret)\(\s?\\*[\"'](?P<name>[^\"'()]{0,60}[\"']?[\w.-]{0,40})$"
_GIVEN = r"""(?x)[\w-]{0,40}(?:\\*["']?\])?(?P<q>\\*["'])\s?,\s{0,8}[bfu]?(?P=q)
    (?:(?:[Bb]earer|[Bb]asic|[Tt]oken)\s+)?(?![${<%*-]|(?:Bearer|Basic|Token)\s|(?P=q))(?P<value>(?:(?!(?P=q))(?:[^"\\]|\\.)){3,2000}+)(?P=q)"""
#: What stands behind the name of a column.
_GOES_ON = frozenset((",", ";", "|", " ", "\\"))
#: A line below a name that says who logs in.
_USER_BELOW = r"[^\"\\]{1,90}\\+n\s*(?:user|login)"
#: Characters behind a header's name that tell a sentence.
_SENTENCE = 400
# What is said about a header, in words: that one is required, or what it is for.
_SAID = r"""(?x)(?:[Rr]equired|[Nn]one|[Oo]ptional|[Dd]isabled|[Ee]nabled|[Nn]ull|[Tt]rue|[Ff]alse|[Mm]issing|[Ii]nvalid|[Uu]nauthorized)[.,;:!)]*$
    |(?:\(?[A-Za-z]?[a-z'/-]{0,15}[.,;:!?)]*\s+){1,400}\(?[A-Za-z]?[a-z'/-]{0,15}[.,;:!?)]*\s*$"""
# Words that stand where a value would, in code, schemas and counts.
_NO_SECRET = (
    r"(?i)(?:none|null|nil|true|false|str|string|int|integer|bool|boolean|bytes|number|object|array|any"
    r"|optional|undefined|required|secretstr|self|os|await|new|yield|not|lambda|pass|unexpected|[0-9.]{1,6}|[A-Za-z_]+(?:\.[A-Za-z_]+)+)\.?$"
)


def named(text: str, low: str, names: Iterable[tuple[str, Shape]]) -> list[Span]:
    """Where the values of *names* stand in *text*; those are looked for in the lowered text *low*."""
    spans: list[Span] = []
    for letter, name in names:
        if letter not in low:
            continue
        search = name.search  # it is no method, but stands in a slot
        if first := search(low):
            kinds: dict[str, list[re.Match[str]]] = {}
            spans += _found(text, _plain(all_from(first), kinds), _value)
            for kind, found in kinds.items():
                spans += _of_kind(kind)(text, found)
    return spans


def _of_kind(kind: str) -> Callable[[str, list[re.Match[str]]], Iterator[Span]]:
    if kind in _KINDS:
        return _KINDS[kind]
    from loopguard_core.redaction.known_kinds import KINDS  # few texts have one

    return KINDS[kind]


def values(text: str, names: Iterable[re.Match[str]]) -> list[Span]:
    """The values of *names* that were found in *text*."""
    return list(_found(text, names, _value))


def _plain(
    names: Iterator[re.Match[str]], kinds: dict[str, list[re.Match[str]]]
) -> Iterator[re.Match[str]]:
    """*names* of fields; those that have values of another kind go to *kinds*."""
    for name in names:
        if name.lastgroup is None:
            if (
                name.group() == "cret"
                and "kind" in name.string[max(0, name.start() - 30) : name.start()]
            ):
                kinds.setdefault("kube", []).append(name)
            if name.string[name.end() : name.end() + 1] in _GOES_ON:
                kinds.setdefault("table", []).append(name)
            yield name
        else:
            kinds.setdefault(name.lastgroup.partition("_")[0], []).append(name)


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
                yield from each(text, *span)


def _header(text: str, name: re.Match[str]) -> Span | None:
    found = compiled(_LIST).match(text, name.end())
    if found is not None:
        return found.span("values")
    # what is only said is told from its beginning, so that texts full of it stay quick
    found = compiled(_HEADER).match(text, name.end(), name.end() + _SENTENCE)
    if found is not None:
        if found["key"] is None and compiled(_SAID).match(text, *found.span("text")):
            return None
        found = compiled(_HEADER).match(text, name.end())
    if found is not None:
        return found.span("text")
    if _takes_a_word(text, name.start()):
        found = compiled(_FLAG).match(text, name.end())
        return found.span("word") if found is not None else None
    return _given(text, name) or _apart(text, name, header=True)


def _value(text: str, name: re.Match[str]) -> Span | None:
    """The value that belongs to the *name* that was found in *text*."""
    found = compiled(_VALUE).match(text, name.end())
    if found is None:
        return _elsewhere(text, name)
    if found.group("quoted"):
        return found.span("quoted")
    bare = found.group("bare")
    start, end = found.span("bare")
    if stands_alone(text, start):  # a JSON value that is no string: a number, or a word
        secret = bare[0] in "-0123456789" and name.group().startswith(("w", "pass"))
    elif text[name.start() - 1 : name.start()] == " ":  # a name of two words stands in prose, too
        secret = compiled(MIXED).match(bare) is not None
    else:
        word = bare.rpartition("_")[2]  # token = new_token
        same = word.islower() and text.endswith(word, 0, name.end())
        secret = not same and compiled(_NO_SECRET).match(bare) is None
    return (start, end) if secret else None


def _elsewhere(text: str, name: re.Match[str]) -> Span | None:
    """The value where nothing but its place says that it belongs to the *name*."""
    if _takes_a_word(text, name.start()):
        found = compiled(_FLAG).match(text, name.end())
        if found is None and text.startswith("-stdin", name.end()):
            return _piped(text, name.start())
        return found.span("word") if found is not None else None
    found = compiled(_LIST).match(text, name.end())
    if found is not None:
        secret = compiled(_NO_SECRET).match(found.group("values")) is None
        return found.span("values") if secret else None
    found_apart = _given(text, name) or _apart(text, name)
    if found_apart is not None:
        return found_apart
    if name.group() == "wd" and (span := _piped(text, name.start())) is not None:
        return span
    if text.startswith((" ", "\\t", "("), name.end()):
        from loopguard_core.redaction.prose import said  # few texts go on like that

        return said(text, name.start(), name.end())
    return None


def _given(text: str, name: re.Match[str]) -> Span | None:
    """The word that a call gives beside a name: ``setenv("API_KEY", "…")``."""
    if text.find(",", name.end(), name.end() + 50) < 0:
        return None
    before = text[max(0, name.start() - 90) : name.start()]
    if "(" not in before or compiled(_CALL).search(before) is None:
        return None
    found = compiled(_GIVEN).match(text, name.end())
    if found is None or compiled(_NO_SECRET).match(found["value"]):
        return None
    return found.span("value")


def _piped(text: str, at: int) -> Span | None:
    from loopguard_core.redaction.known_commands import piped  # few texts give a command its input

    return next(iter(piped(text, at)), None)


def _apart(text: str, name: re.Match[str], header: bool = False) -> Span | None:
    near = text[name.end() : name.end() + 100]
    if not ('"' in near or ">" in near or "value" in near or ")." in near or near[:1] == "("):
        return None
    from loopguard_core.redaction.apart import value  # few texts name what they do not give

    return value(text, name.start(), name.end(), header)


def _takes_a_word(text: str, at: int) -> bool:
    """True where the name at *at* is a command-line flag, or one that a word sets: in a shell, a ``.netrc``."""
    before = text[max(0, at - 80) : at]
    if not any(word in before for word in _SETTING):
        return False
    return compiled(_BEFORE_WORD).search(before) is not None


def stands_alone(text: str, at: int) -> bool:
    """True where a JSON value that is no string begins at *at*: inside a string, quotes are escaped."""
    return text[at - 2 : at] == '":' and text[at - 3 : at - 2] != "\\"


# -- values of a kind of their own


def _headers(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    return _found(text, names, _header)


def _short(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """What stands behind ``pw`` and ``psk``, which are also names of other things: in quotes, or mixed."""
    for name in names:
        at = name.start()
        if text[at - 1].isalpha() and text[at - 2 : at] not in ("\\n", "\\r", "\\t"):
            continue
        found = compiled(_VALUE).match(text, name.end())
        if found is None or found["rest"]:
            continue
        start, end = found.span(found.lastgroup or 0)
        if found["quoted"] or compiled(MIXED).match(text, start, end) or text.startswith("PW=", at):
            yield start, end


def _object(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """The values of an object that is called ``secrets``, or a secret of another form that goes by that name."""
    for name in names:
        found = compiled(_MEMBERS).match(text, name.end())
        if found is None:
            span = _value(text, name)
            if span is not None:
                yield span
            continue
        for member in compiled(_MEMBER.replace("QUOTE", found["q"].replace("\\", "\\\\"))).finditer(
            text, found.start("inner"), found.end("inner")
        ):
            yield member.span("value")


def _near(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """What stands behind ``pass`` where somebody logs in: ``user = me``, ``pass = …``."""
    for name in names:
        before = text[max(0, name.start() - 90) : name.start()]
        if (
            "user" in before
            or "login" in before
            or before.endswith("_")
            or compiled(_USER_BELOW).match(text, name.end())
        ):
            span = _value(text, name)
            if span is not None and compiled(MIXED).match(text, *span):
                yield span


_KINDS: dict[str, Callable[[str, list[re.Match[str]]], Iterator[Span]]] = {
    "header": _headers,
    "near": _near,
    "object": _object,
    "short": _short,
}
