"""Secrets that stand apart from what says that they are some: in another member, or once more without a name."""

from __future__ import annotations

from loopguard_core.patterns import MIXED, QUOTE, TEXT, compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Span = tuple[int, int]

_SPELLED = ("\\b", "\\f", "\\n", "\\r", "\\t")

#: ``"name": "api_key", "value": "…"``
_MEMBERS = rf"""(?x)[\w\ -]{{0,40}}(?P<q>(?P<b>\\*)")\s*,\s*
    (?:(?P=q)[A-Za-z_]{{1,20}}(?P=q)\s*:\s*(?P=q)[^"\\]{{0,60}}(?P=q)\s*,\s*){{0,4}}
    (?P=q)[Vv]alue(?P=q)\s*:\s*(?P=q)(?P<value>{TEXT}++)(?P=q)"""
#: ``"api_key": {"value": "…"``
_WRAPPED = rf"""(?x)[\w-]{{0,40}}(?P<q>(?P<b>\\*)")\s*:\s*\{{\s*
    (?P=q)(?:value|raw|plain|plaintext|secret)(?P=q)\s*:\s*(?P=q)(?P<value>{TEXT}++)(?P=q)"""
#: ``["authorization", "Bearer …"]``
_HEADER = rf"""(?P<q>(?P<b>\\*)")\s*,\s*(?P=q)(?P<value>(?=[^"\\]*[ =]){TEXT}++)(?P=q)\s*\]"""
#: ``["api_key", "…"]``: a list of names looks alike
_PAIR = rf"""(?P<q>\\*")\s*,\s*(?P=q)(?P<value>{MIXED})(?P=q)\s*\]"""
_FIRST = r"\[\s*\\*\"[\w .-]{0,40}$"
#: in XML, as an element or two attributes, and in YAML, as two members
_MARKUP = rf"""(?x)[\w.-]{{0,40}}(?:\s?>(?=[^<>"\\]{{1,400}}</)|{QUOTE}\s{{1,4}}value\s?=\s?{QUOTE}
      |{QUOTE}?(?:\\+[nr])+\s{{1,40}}value:\s{{1,4}}{QUOTE}?)(?P<value>[^\s<>"'\\]{{3,}}[^<>"'\\]*?)(?=["'<\\]|$)"""


def value(text: str, start: int, end: int, header: bool = False) -> Span | None:
    """Where in the JSON *text* the value of a name stands that lies between *start* and *end*, if it does.

    *header*: it is the name of one of HTTP's.
    """
    for pattern in (_MEMBERS, _HEADER if header else _MARKUP, _WRAPPED):
        found = compiled(pattern).match(text, end)
        if found is not None:
            return found.span("value")
    before = max(0, start - 50)
    if text.rfind("[", before, start) < 0:
        return None
    found = compiled(_PAIR).match(text, end)
    if found is None or compiled(_FIRST).search(text, before, start) is None:
        return None
    return found.span("value")


def is_unmistakable(secret: str) -> bool:
    """True for what no reader would take for a word, and no JSON for a number."""
    return compiled(MIXED).fullmatch(secret) is not None


def again(text: str, secrets: Iterable[str]) -> list[Span]:
    """Where *secrets*, which are unmistakable, stand in the JSON *text*, named or not."""
    found = []
    for secret in secrets:
        at = text.find(secret)
        while at >= 0:
            end = at + len(secret)
            if _begins(text, at) and not text[end : end + 1].isalnum():
                found.append((at, end))
            at = text.find(secret, end)
    return found


def _begins(text: str, at: int) -> bool:
    """Whether a word begins at *at*: also behind what JSON spells with a letter, such as the end of a line."""
    before = text[at - 1]
    return text[at - 2 : at] in _SPELLED or not (before == "\\" or before.isalnum())
