"""Secrets that stand apart from what says that they are some: in another member, or once more without a name."""

from __future__ import annotations

from loopguard_core.patterns import MIXED, QUOTE, TEXT, compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable

    Span = tuple[int, int]

#: where a word begins that could be a secret, and of how many it is tried
_WORD = r"(?:(?<![A-Za-z0-9\\])|(?<=\\[bfnrt]))(?=[A-Za-z0-9+/=_.~!@#$%^&*-]{8})"
_MOST = 20_000
_SPELLED = ("\\b", "\\f", "\\n", "\\r", "\\t")

#: ``"name": "api_key", "value": "…"``, and what a browser is told to type: ``"element": "Password field", "text": "…"``
_MEMBERS = rf"""(?x)[\w\ \]-]{{0,40}}(?P<q>(?P<b>\\*)")\s*,\s*
    (?:(?P=q)[A-Za-z_]{{1,20}}(?P=q)\s*:\s*(?:(?P=q)[^"\\]{{0,60}}(?P=q)|true|false|null|[0-9]{{1,9}})\s*,\s*){{0,4}}
    (?P=q)(?:[Vv]alue|ParameterValue|(?P<typed>text))(?P=q)\s*:\s*(?P=q)(?P<value>{TEXT}++)(?P=q)"""
_FIELD = r"\\*\"(?:element|selector|field|locator|target)\\*\"\s*:\s*\\*\"[^\"\\]{0,60}$"
#: the same members the other way round
_BEFORE = r"""(?x)(?P<q>\\*")[Vv]alue(?P=q)\s*:\s*(?P=q)(?P<value>[^"\\]{1,400})(?P=q)\s*,\s*
    (?P=q)(?:[Nn]ame|[Kk]ey)(?P=q)\s*:\s*(?P=q)[\w.-]{0,40}$"""
#: ``"api_key": {"value": "…"``
_WRAPPED = rf"""(?x)[\w-]{{0,40}}(?P<q>(?P<b>\\*)")\s*:\s*\{{\s*
    (?P=q)(?:value|raw|plain|plaintext|secret)(?P=q)\s*:\s*(?P=q)(?P<value>{TEXT}++)(?P=q)"""
#: ``["authorization", "Bearer …"]``
_HEADER = rf"""(?P<q>(?P<b>\\*)")\s*,\s*(?P=q)(?P<value>(?=[^"\\]*[ =]){TEXT}++)(?P=q)\s*\]"""
#: ``["api_key", "…"]``: a list of names looks alike
_PAIR = rf"""(?P<q>\\*")\s*,\s*(?P=q)(?P<value>{MIXED})(?P=q)\s*\]"""
_FIRST = r"\[\s*\\*\"[\w .-]{0,40}$"
#: in XML, as an element or two attributes, and in YAML, as two members
_MARKUP = rf"""(?x)[\w.-]{{0,40}}(?:,ParameterValue=|\s?>(?=[^<>"\\]{{1,400}}</)|</(?:key|name|Name)>(?:\s|\\+[nrt])*<(?:string|value|Value)>
      |{QUOTE}(?:\s{{1,4}}[\w:.-]{{1,20}}={QUOTE}[^"'<>\\]{{0,60}}{QUOTE}){{0,3}}\s{{1,4}}value\s?=\s?{QUOTE}
      |{QUOTE}?(?:\\+[nr])+\s{{1,40}}value:\s{{1,4}}{QUOTE}?)(?P<value>[^\s<>"'\\]{{3,}}[^<>"'\\]*?)(?=["'<\\]|$)"""
#: and as the text of an element that has attributes
_ELEMENT = rf"""(?x)[\w.-]{{0,40}}{QUOTE}?(?:\s{{1,4}}[\w:.-]{{1,20}}={QUOTE}[^"'<>\\]{{0,120}}{QUOTE}){{0,3}}\s?>
    (?:(?:\s|\\+[nrt])*<value>)?(?P<value>[^\s<>"'\\]{{3,400}})</"""
_OPENED = r"<(?:\w{1,20}:)?(?:(?P<sure>property|entry|param|parameter|prop|setting|env|secret)\s[^<>]{0,60}|(?:string|data|item|var|variable)\s[^<>]{0,60}|(?P<itself>[\w.-]{0,40}))$"
#: ``variable "db_password" { default = "…" }``
_DEFAULT = rf"""[\w-]{{0,40}}(?P<q>{QUOTE})\s?\{{[^{{}}]{{0,300}}?default\s{{0,10}}=\s?(?P=q)(?P<value>[^"'\\<{{$%][^"'\\]{{2,200}})(?P=q)"""
#: ``getByLabel("Password").fill("…")``, ``set_password("service", "user", "…")``
_TYPED = rf"""(?x)[\w\ -]{{0,20}}\]?{QUOTE}(?:\s?,\s?\{{[^{{}}"]{{0,60}}\}})?\s?\)\.(?:fill|type|send_keys|sendKeys|setValue|press_?[sS]equentially)
    \(\s?(?P<q>{QUOTE})(?P<value>[^"'\\<{{$%][^"'\\]{{2,200}})(?P=q)"""
_SET = rf"""\(\s*(?:{QUOTE}[^"'\\]{{0,100}}{QUOTE}\s*,\s*){{0,2}}(?P<q>{QUOTE})(?P<value>[^"'\\<{{$%][^"'\\]{{2,200}})(?P=q)\s*\)"""


def value(text: str, start: int, end: int, header: bool = False) -> Span | None:
    """Where in the JSON *text* the value of a name stands that lies between *start* and *end*, if it does.

    *header*: it is the name of one of HTTP's.
    """
    for pattern in (_MEMBERS, _HEADER if header else _MARKUP, _WRAPPED, _TYPED, _DEFAULT):
        found = compiled(pattern).match(text, end)
        if found is not None:
            if pattern is not _MEMBERS or found["typed"] is None or _is_typed(text, start, found):
                return found.span("value")
            return None
    return _of_element(text, start, end) or _of_call(text, start, end) or _of_list(text, start, end)


def _is_typed(text: str, start: int, found: re.Match[str]) -> bool:
    """True where the text that was *found* is for a field of a page, not about one."""
    return " " not in found["value"] and bool(
        compiled(_FIELD).search(text, max(0, start - 100), start)
    )


def _of_element(text: str, start: int, end: int) -> Span | None:
    if ">" not in text[end : end + 200]:
        return None
    opened = compiled(_OPENED).search(text, max(0, start - 100), start)
    found = None if opened is None else compiled(_ELEMENT).match(text, end)
    if found is None or opened is None:
        return None
    sure = opened["sure"] or opened["itself"] is not None or is_unmistakable(found["value"])
    return found.span("value") if sure else None


def _of_call(text: str, start: int, end: int) -> Span | None:
    if text[end : end + 1] != "(" or "set" not in text[max(0, start - 10) : start].lower():
        return None
    found = compiled(_SET).match(text, end)
    return None if found is None else found.span("value")


def _of_list(text: str, start: int, end: int) -> Span | None:
    before = max(0, start - 50)
    if text.find("alue", max(0, start - 500), start) >= 0:
        members = compiled(_BEFORE).search(text, max(0, start - 500), start)
        if members is not None:
            return members.span("value")
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


def told(text: str, secrets: Iterable[tuple[int, str]], digest: Callable[[str], str]) -> list[Span]:
    """Where words of the JSON *text* stand that are *secrets*, of which the length and the *digest* are known."""
    digests: dict[int, set[str]] = {}
    for size, one in secrets:
        digests.setdefault(size, set()).add(one)
    found, tried = [], 0
    for begin in compiled(_WORD).finditer(text):
        at = begin.start()
        for size, known in digests.items():
            end = at + size
            if end < len(text) and not text[end].isalnum() and tried < _MOST:
                tried += 1
                if digest(text[at:end])[:12] in known:
                    found.append((at, end))
    return found


def _begins(text: str, at: int) -> bool:
    """Whether a word begins at *at*: also behind what JSON spells with a letter, such as the end of a line."""
    before = text[at - 1]
    return text[at - 2 : at] in _SPELLED or not (before == "\\" or before.isalnum())
