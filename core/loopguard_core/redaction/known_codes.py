r"""Codes that let somebody in once or for a while, and phrases of words: what only its form tells from a number.

``pin: 13`` is a wire of a chip and ``status_code: 404`` an answer, so a name is not enough: a code has four digits and
more, or is mixed of letters and digits. Few texts come this far.
"""

from __future__ import annotations

from loopguard_core.patterns import QUOTE, compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    Span = tuple[int, int]

__all__ = ["codes", "phrases"]

#: Characters before the end of a name in which it begins.
_REACH = 24
#: What makes a ``pin``, an ``otp``, a ``code`` one of these; looked for in small letters.
_NAME = (
    r"(?:(?P<short>(?<![a-z])cv[vc]2?|(?<=\\[nrt])cv[vc]2?|security[ _-]?code)"
    r"|(?:(?<![a-z])|(?<=\\[nrt])|card|user|device|sim|login|door|alarm)pin|(?:(?<![a-z])|(?<=\\[nrt])|(?<![a-z])[th]|user|login|sms|mail)otp"
    r"|(?:one[ _-]?time|otp|pin|pass|mfa|[2t]fa|two[ _-]?factor|verif(?:y|ication)|confirmation|auth(?:entication|orization)?"
    r"|recovery|backup|log[ _-]?in|sign[ _-]?in|sms|access|pairing|device|unlock)[ _-]?code"
    r"|(?P<answer>[?&\"']code))$"
)
_BEFORE = r"(?:^|[^0-9A-Za-z]|\\[nrt])(?P<value>\d{3}[ -]?\d{3}|\d{4,8}) (?:is|ist) (?:your|my|the|dein|Ihr) (?:[\w-]{1,20} ){0,3}$"
_SEPARATOR = rf"""(?:{QUOTE}|")?\]?\s*(?:=>|:=|==?|:|,(?=\s?\\*["'])|\b(?:is|ist|lautet)\b:?|(?P<space>(?=\s)))\s*"""
_DIGITS = r"(?:\d{4,10}|\d{3}[ -]\d{3})"
_VALUE = rf"""(?x)(?:[ _-]?(?:code|number|value))?s?{_SEPARATOR}(?:[bru]?(?:{QUOTE}|"|`))?
    (?P<value>{_DIGITS}|(?(space)(?!)|(?:(?=[A-Za-z-]{{0,64}}[0-9])(?=[0-9-]{{0,64}}[A-Za-z])[A-Za-z0-9-]{{6,64}}|[A-Z0-9]{{4}}-[A-Z0-9]{{4}}|[cbdefghijklnrtuv]{{32,48}})))
    (?![\w(\[]|[.:/-]\w)"""
_SHORT = rf"""(?x){_SEPARATOR}(?:{QUOTE}|")?(?P<value>\d{{3,4}})(?![\w(\[]|[.:/-]\w)"""
# what a page of OAuth gives back
_ANSWER = r"=(?P<value>(?=[^&0-9]{0,200}[0-9])(?=[^&A-Za-z]{0,200}[A-Za-z])[A-Za-z0-9._~%/+-]{16,})"
_LIST = r"""(?x)s(?P<q>\\*")\s*:\s*\[\s*(?P=q)(?P<values>[A-Za-z0-9 -]{4,40}(?:(?P=q)\s*,\s*(?P=q)[A-Za-z0-9 -]{1,40})*)(?P=q)\s*\]"""
_PHRASE = rf"""(?x)(?:[ ]?(?:phrase|words?))?(?:{QUOTE}|")?\s*(?:=>|:=|==?|:|\bis\b:?|(?=\s))\s*[bru]?(?:{QUOTE}|")?\s*
    (?P<value>(?:[a-z]{{3,8}}(?:[ ,]|\\[nt]){{1,3}}){{11,23}}[a-z]{{3,8}})(?![a-z])"""


def codes(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """The codes behind *names*, which end with ``pin``, ``otp``, ``code`` or the like, or before them."""
    for name in names:
        end = name.end() - (not text[name.end() - 1].isalnum())
        start = max(0, end - _REACH)
        kind = compiled(_NAME).search(text[start:end].lower())
        if kind is None:
            continue
        if kind["answer"]:
            found = compiled(_ANSWER).match(text, end)
            if found is not None:
                yield found.span("value")
            continue
        start += kind.start()
        yield from _code(text, start, end, kind["short"] is not None)


def _code(text: str, start: int, end: int, short: bool) -> Iterator[Span]:
    """The codes that belong to the name from *start* to *end*; *short*: of three digits, too."""
    said = compiled(_BEFORE).search(text, max(0, start - 90), start)
    if said is not None:
        yield said.span("value")
    found = compiled(_LIST).match(text, end)
    if found is not None:
        yield found.span("values")
        return
    found = (compiled(_SHORT).match(text, end) if short else None) or compiled(_VALUE).match(
        text, end
    )
    if found is not None and (
        found["space"] is None or text.rfind("--", max(0, start - 20), end) >= 0
    ):
        yield found.span("value")


def phrases(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """The words that make the key of a wallet."""
    for name in names:
        found = compiled(_PHRASE).match(text, name.end() - (not text[name.end() - 1].isalnum()))
        if found is not None:
            yield found.span("value")
