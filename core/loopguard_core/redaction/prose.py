r"""Secrets that are told in a sentence: "my password is …".

A plain word behind ``is`` is nearly always about a password and none itself ("the password is wrong"), so what stands
there must be in quotes, or of letters and digits. Few texts come this far.
"""

from __future__ import annotations

from loopguard_core.patterns import MIXED, QUOTE, compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    Span = tuple[int, int]

__all__ = ["said"]

#: Characters before a name in which it is told whose it is.
_REACH = 90
# Letters and digits, and none of the words that a text about secrets has: sha256, base64, 32bytes, 2fa.
_WORD = r"""(?!(?:sha|md|base|utf|oauth|argon|pbkdf|bcrypt|scrypt|aes|rsa|ed|hs|rs|es|v|x|rfc|http|ipv|python|step|line|test|user)-?\d|\d+(?:-?[a-z]+|st|nd|th)?[.,;:]?(?:\s|$))
    (?=[^\s\d"\\]{0,60}\d)(?=[^\sA-Za-z"\\]{0,60}[A-Za-z])[^\s"'`\\<>(){}\[\],;|/=]{5,100}[^\s"'`\\<>(){}\[\],;:|/=.!?]"""
_NOTHING = r"(?i)(?:none|null|nil|true|false|required|optional|empty|password|passphrase|passcode|secret|token|string|redacted|x+|\*+|\.+)$"
_IS = rf"""(?x)(?:\s(?:for|of|to|on|für|zu|zum|von)\s[\w' .@/-]{{1,40}}?)?\s(?:is|was|ist|lautet|war|est|es|provided)(?:\s(?:now|set\sto|currently|jetzt))?:?\s+
    (?:(?P<q>{QUOTE}|`)(?P<quoted>[^\s"'`\\<>{{}}$%]{{4,100}})(?P=q)|(?P<bare>{_WORD}))"""
_FOR = rf"(?i)\sfor\s[\w' .@%\"\\-]{{1,60}}?\s=\s(?:{QUOTE})(?P<quoted>[^\s\"'`\\<>{{}}$%]{{3,100}})(?:{QUOTE})"
_BESIDE = rf"""(?x)\s+(?:(?P<q>{QUOTE}|`)(?P<quoted>[^\s"'`\\<>{{}}$%]{{4,100}})(?P=q)|(?P<bare>{_WORD}))"""
_CELL = rf"(?:[ ]*\|[ ]*|\\+t)(?P<bare>{MIXED})(?=[ ]*\||\\+[nrt]|\"|$)"
#: Whoever logs in is named before, or a statement of SQL or of a device says so.
_LOGIN = r"(?:(?:\b|(?<=\\[nrt]))(?:user(?:name)?|usr|login|log in|account|e-?mail)\b[ :=]{1,3}[^\s]{1,60}[ ,;/]{1,3}(?:(?:and|und|with|mit)[ ])?(?:the )?|\\n[ ]*|^[ ]*|(?:\b|(?<=\\[nrt]))(?:set|enable)[ ]|\b(?:mysqladmin|nmcli)\b[^|;&\\\"]{1,80} )$"
_SQL = r"(?i)(?:\b(?:with|encrypted|unencrypted|login|superuser|createdb)|\b(?:user|role)[ ][^\s]{1,60})[ ]$"
_FUNCTION = r"\((?P<q>\\*')(?P<quoted>[^\s\"'`\\<>{}$%]{3,100})(?P=q)"


def said(text: str, start: int, end: int) -> Span | None:
    """Where in the JSON *text* the value is told of a name that goes on to *end*, if it is; *start* is in the name."""
    start = text.rfind(" ", max(0, start - 16), start) + 1 or start
    for pattern in (_IS, _BESIDE, _CELL):
        found = compiled(pattern).match(text, end)
        if found is None:
            continue
        kind = found.lastgroup or ""
        value = found[kind]
        if kind == "quoted" and compiled(_NOTHING).match(value):
            return None
        before = text[max(0, start - _REACH) : start]
        if (
            pattern is _CELL
            or (
                pattern is _IS and (kind == "bare" or _is_password(text, end) or _has_digits(value))
            )
            or (
                pattern is _BESIDE
                and kind == "quoted"
                and (_has_digits(value) or compiled(_SQL).search(before))
            )
            or (pattern is _BESIDE and kind == "bare" and compiled(_LOGIN).search(before))
        ):
            return found.span(kind)
        return None
    found = compiled(_FOR).match(text, end) or compiled(_FUNCTION).match(text, end)
    return found.span("quoted") if found is not None and text[start:end].isupper() else None


def _is_password(text: str, end: int) -> bool:
    return (
        text[max(0, end - 8) : end]
        .lower()
        .endswith(("word", "wort", "phrase", "passcode", "passe"))
    )


def _has_digits(value: str) -> bool:
    return len(value) > 5 and any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
