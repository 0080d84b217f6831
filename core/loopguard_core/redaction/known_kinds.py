"""Values of a kind of their own, which the names of some fields have; few texts have one of those."""

from __future__ import annotations

from loopguard_core.patterns import MIXED, QUOTE, TEXT, compiled
from loopguard_core.redaction.known_commands import piped, stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator

    Span = tuple[int, int]

__all__ = ["KINDS"]

#: The largest key or list of cookies that is looked through, in characters.
_OBJECT = 20_000
# A value after nothing but KEY=: random, and so neither words with dashes between nor a path.
_RANDOM = rf"""(?x)={QUOTE}?(?P<value>(?=[A-Za-z0-9+/]{{0,400}}[0-9])(?=[0-9+/]{{0,400}}[A-Za-z])
    (?=[A-Za-z0-9+/_-]*?(?=[A-Za-z]*[0-9][A-Za-z]*[0-9])[A-Za-z0-9]{{12}})[A-Za-z0-9+_-][A-Za-z0-9+/_-]{{15,}}={{0,2}})(?=['"\\\s;&]|$)"""
# The private members of a key in JSON (RFC 7517, 7518), and the values of a browser's cookies.
_PRIVATE = r"""(?P<q>\\*["'])(?:d|p|q|dp|dq|qi|k)(?P=q)\s*:\s*(?P=q)(?P<value>[A-Za-z0-9_=+/-]{8,})(?P=q)"""
_COOKIE = rf"""(?P<q>(?P<b>\\*)")value(?P=q)\s*:\s*(?P=q)(?P<value>{TEXT}++)(?P=q)"""
# The addresses at which anybody may post who knows them: Slack, Discord, Teams, Zapier.
_HOOK = r"""(?x)hook(?:s\.slack\.com/(?:services|workflows|triggers)/(?P<slack>[A-Za-z0-9/]{16,})
    |s/(?<=discord.com/api/webhooks/|cordapp.com/api/webhooks/)[0-9]{15,20}/(?P<discord>[A-Za-z0-9_-]{40,})
    |b2/(?P<teams>[A-Za-z0-9@-]+/IncomingWebhook/[A-Za-z0-9/-]+)
    |s\.zapier\.com/hooks/catch/(?P<zapier>[0-9]+/[A-Za-z0-9]+))"""
# What htpasswd is given, and what chpasswd reads from a text of the shell's.
_HTPASSWD = rf"""(?x)(?:\s+-[A-Za-z]{{1,6}}){{0,3}}\s+-[A-Za-z]{{0,5}}b[A-Za-z]{{0,5}}(?:\s+-[A-Za-z]{{1,6}}){{0,3}}
    \s+[^\s|;&<>"'\\]{{1,200}}\s+(?:[^\s|;&<>"'\\]{{1,200}}\s+)?{QUOTE}?(?P<value>[^\s|;&<>"'\\$][^\s|;&<>"'\\]*)"""
_HERE = rf"""(?x)[ ]*<<<[ ]*{QUOTE}?[\w.-]{{1,64}}:(?P<value>[^\s'"\\$][^'"\\]*)
    |[^\\"'<]{{0,40}}<<-?[ ]*{QUOTE}?(?P<end>\w{{1,40}}){QUOTE}?(?:\\+[rn])+"""
_LOGIN = "(?=[A-Za-z+/]*[0-9=])[A-Za-z0-9+/]{10,}={0,2}"
_DAPI = "[0-9a-f]{32}(?:-[0-9])?(?![0-9A-Za-z])"
_LINE = r"""[\w.-]{1,64}:(?P<value>[^\\"']+)"""

_DOCKER = r"""\\*"\s?:\s?\\*"(?P<value>[A-Za-z0-9+/=]{8,})"""
_USER = rf"""(?x)\s?=?\s?\(\s*(?P<q>{QUOTE})[^"'\\]{{1,100}}(?P=q)\s?,\s?[bfru]?(?P=q)(?P<value>[^"'\\<{{$%][^"'\\]{{2,200}})(?P=q)\s?[,)]"""
_EXAMPLES = {"password", "passwd", "pass", "pwd", "secret", "token"}
_NEXT = rf"""\s{{1,8}}{QUOTE}?(?P<value>[^\s"'\\$<{{*%#-][^\s"'\\]{{3,}})"""
_REDIS = r"(?:[\"']|\\[nr]\s{0,8}|(?:set|SET|run:)\s|--|\$\s)(?:requirepass|masterauth)$"
_BY = r"""(?i)\s+(?:with\s+[\w"'\\]{1,60}\s+)?(?:by|as)\s+(?:password\s+)?\\*'(?P<value>[^\s"'\\]{3,200})\\*'"""
_USERS = ("user", "role", "grant", "@")
_SLASH = rf"""(?::|(?:\s+-[A-Za-z]+){{0,4}}\s+{QUOTE}?)[^\s:/@"'\\-][^\s:/@"'\\]{{0,100}}/(?P<value>[^\s@/"'\\$]{{2,200}})@"""
_PLAINTEXT = rf"""(?i)\s+(?:-string\s+)?{QUOTE}(?P<value>[^"'\\$]{{3,200}})"""
_PGPASS = r"(?<![\w*.-])[\w*.-]{1,100}:(?:[0-9]{1,5}|\*):[\w*.-]{1,64}:[\w*.@-]{1,64}:(?P<value>[^\s:\"'\\]{3,200})(?![\w:])"
_KIND = r"kind\\*\"?:\s?\\*\"?Secret[\s\"\\]"
# the block of a Secret's data: deeper lines of YAML, or an object
_DATA = r"""(?:stringData|(?<![A-Za-z])data|(?<=\\n)data)(?:\\*"\s?:\s?\{(?P<object>)|:)(?P<block>(?:(?:\\+[nr])+\s+[\w.-]+:\s?[^\\"]*)+|[^{}]{1,20000})"""
_DATUM = r"""(?x)(?:(?:\\+[nr])+\s+[\w.-]+:[ ](?:[|>]-?(?:\\+[nr])+\s+)?(?:\\*'|\\+")?|(?P<q>\\*")[\w.-]{1,200}(?P=q)\s?:\s?(?P=q))(?P<value>[^\s\\"'|>][^\\"']*)"""


def _bare(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """What a variable holds that is just called ``KEY``. In small letters that is a name for anything."""
    for name in names:
        if text.startswith("KEY", name.start()):
            found = compiled(_RANDOM).match(text, name.end())
            if found is not None:
                yield found.span("value")


def _logins(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """Passwords that ``htpasswd`` and ``chpasswd`` are given."""
    end = 0
    for name in names:
        at = name.end()
        if at < end:
            continue
        if text.startswith("ht", name.start() - 6):
            found = compiled(_HTPASSWD).match(text, at)
        else:
            yield from piped(text, at)
            found = compiled(_HERE).match(text, at)
        if found is None:
            continue
        end = found.end()
        if found.group("value"):
            yield found.span("value")
        elif found.group("end"):
            last = text.find(found.group("end"), end, end + _OBJECT)
            last = last if last >= 0 else end + _OBJECT
            for line in compiled(_LINE).finditer(text, end, last):
                yield line.span("value")
            end = last


def _jwks(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """The private members of keys in JSON."""
    end = 0
    for name in names:
        at = name.start()
        if at >= end:
            start = text.rfind("{", max(end, at - _OBJECT), at)
            end = _end(text, "}", at)
            if start >= 0:
                yield from _values(_PRIVATE, text, start, end)


def _hooks(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    for name in names:
        found = compiled(_HOOK).match(text, name.start() - 3)
        if found is not None:
            yield found.span(found.lastgroup or 0)


def _jars(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """The values of a browser's cookies."""
    end = 0
    for name in names:
        if name.start() >= end:
            end = _end(text, "]", name.end())
            yield from _values(_COOKIE, text, name.end(), end)


def _end(text: str, sign: str, at: int) -> int:
    found = text.find(sign, at, at + _OBJECT)
    return found if found >= 0 else at + _OBJECT


def _values(pattern: str, text: str, start: int, end: int) -> Iterator[Span]:
    for found in compiled(pattern).finditer(text, start, end):
        yield found.span("value")


def _basic(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """Logins in base64, as a header has them."""
    for name in names:
        found = compiled(_LOGIN).match(text, name.end())
        if found is not None and text[name.start() - 4] == "B":
            yield found.span()


def _databricks(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    for name in names:
        found = compiled(_DAPI).match(text, name.end())
        if found is not None:
            yield found.span()


def _codes(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    from loopguard_core.redaction.known_codes import codes  # few texts have a name of one

    return codes(text, names)


def _words(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    from loopguard_core.redaction.known_codes import phrases

    return phrases(text, names)


def _dockers(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """Logins in Docker's configuration."""
    for name in names:
        found = compiled(_DOCKER).match(text, name.end())
        if found is not None:
            yield found.span("value")


def _pairs(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """Logins that code gives: ``auth=("user", "…")``, ``HTTPBasicAuth("user", "…")``."""
    for name in names:
        found = compiled(_USER).match(text, name.end())
        if found is None or found["value"].lower() in _EXAMPLES:
            continue
        before = text[max(0, name.start() - 6) : name.start()].lower()
        sure = "=" in found.group()[:3] or before.endswith(("basic", "digest", "db.", "proxy"))
        if sure or compiled(MIXED).fullmatch(found["value"]):
            yield found.span("value")


def _word(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """What stands behind a setting of Redis as the next word."""
    for name in names:
        found = compiled(_NEXT).match(text, name.end())
        if found is not None and compiled(_REDIS).search(
            text, max(0, name.start() - 20), name.end()
        ):
            yield found.span("value")


def _sql(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """The password of a user that a statement makes or changes."""
    for name in names:
        found = compiled(_BY).match(text, name.end())
        near = text[max(0, name.start() - 200) : name.start()].lower()
        if found is not None and any(word in near for word in _USERS):
            yield found.span("value")


def _oracle(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """Logins of Oracle: ``user/password@host``."""
    for name in names:
        found = compiled(_SLASH).match(text, name.end())
        if found is not None:
            yield found.span("value")


def _inputs(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """What is piped to a command that asks for a password."""
    for name in names:
        yield from piped(text, name.start())


def _powershell(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    for name in names:
        found = compiled(_PLAINTEXT).match(text, name.end())
        if found is not None:
            yield found.span("value")


def _kubernetes(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """The data of a Secret, in YAML and in JSON; it stands before or behind what says that it is one."""
    end = 0
    for name in names:
        at = name.start()
        if at < end or compiled(_KIND).search(text, max(0, at - 30), name.end() + 1) is None:
            continue
        first = max(
            end, at - _OBJECT, text.rfind("---", end, at), text.rfind("apiVersion", end, at)
        )
        last = compiled("apiVersion|---").search(text, at, at + _OBJECT)
        end = last.start() if last is not None else at + _OBJECT
        for data in compiled(_DATA).finditer(text, first, end):
            for member in compiled(_DATUM).finditer(text, data.start("block"), data.end("block")):
                yield member.span("value")


def _pgpass(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """The lines of a ``.pgpass``, before and behind its name."""
    start, end = max(0, names[0].start() - _OBJECT), names[-1].end() + _OBJECT
    yield from _values(_PGPASS, text, start, end)


def _tables(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """What stands below the name of a column."""
    from loopguard_core.redaction.tables import cells, is_head

    return cells(text, [name for name in names if is_head(text, name.end())])


def _taken(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    from loopguard_core.redaction.known_words import taken

    return taken(text, names)


KINDS: dict[str, Callable[[str, list[re.Match[str]]], Iterator[Span]]] = {
    "bare": _bare,
    "basic": _basic,
    "card": _codes,
    "code": _codes,
    "dapi": _databricks,
    "docker": _dockers,
    "hook": _hooks,
    "jar": _jars,
    "jwk": _jwks,
    "kube": _kubernetes,
    "login": _logins,
    "oracle": _oracle,
    "pair": _pairs,
    "pgpass": _pgpass,
    "piped": _inputs,
    "power": _powershell,
    "sql": _sql,
    "store": stored,
    "table": _tables,
    "taken": _taken,
    "word": _word,
    "words": _words,
}
