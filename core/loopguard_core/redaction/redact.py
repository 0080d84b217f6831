"""Secrets are taken out of every text before it is written anywhere.

It works on the JSON text of an event's fields; what is known stands in ``known_secrets`` and ``known_names``. What
was found is replaced by a marker with a keyed digest, so that equal secrets still compare equal and cannot be
guessed. Names stay readable, values go.
"""

from __future__ import annotations

from loopguard_core.events import dump, load
from loopguard_core.identity import Digester
from loopguard_core.patterns import compiled, escape
from loopguard_core.plain_json import writer
from loopguard_core.redaction.known_names import BEARER, NAMES, named, stands_alone, values
from loopguard_core.redaction.known_secrets import Shape, all_from, each, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable
    from typing import Any

    from loopguard_core.redaction.known_secrets import Span

MARK = "[redacted:"
#: characters of a marker
_MARKER = len(MARK) + 13
#: of so many secrets it is looked for whether they stand somewhere else
_REMEMBERED = 16
_write = writer()
_NAMES = tuple(NAMES.items())

#: letters from the rarest to the most frequent, and what stands in every JSON text
_RARE = '@$?&JGBA_-zqjxvkbwgpyfmcdhioultrsnae/.0123456789":'


def _rarest(letters: str) -> str:
    """The one of *letters* that most texts lack: one letter is looked for ten times as fast as several."""
    return min(letters, key=_RARE.find)


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

    __slots__ = ("_adds", "_digester", "_fields", "_foreign", "_known", "_told", "rules")

    def __init__(self, key: bytes = b"", rules: Redaction | None = None) -> None:
        self.rules = rules or Redaction()
        self._digester = Digester(key)
        self._adds = bool(self.rules.patterns or self.rules.fields)
        self._fields = [(_rarest(f), Shape(escape(f), f)) for f in self.rules.fields]
        self._foreign = not "".join(self.rules.fields).isascii()
        #: the latest secrets that were found: they go wherever else they stand, named or not
        self._known: tuple[str, ...] = ()
        #: those that other processes of the session found, by length and digest
        self._told: tuple[tuple[int, str], ...] = ()

    def marker(self, secret: str) -> str:
        """What stands for *secret*: equal for equal secrets."""
        if secret not in self._known:
            from loopguard_core.redaction.apart import is_unmistakable  # few texts have a secret

            if is_unmistakable(secret):
                self._known = (*self._known[1 - _REMEMBERED :], secret)
        return f"{MARK}{self._digester(secret)[:12]}]"

    def met(self) -> list[tuple[int, str]]:
        """Of the latest secrets that were found: how long each is, and its digest. ``recall`` takes them."""
        own = [(len(secret), self._digester(secret)[:12]) for secret in self._known]
        return [*(told for told in self._told if told not in own), *own][-_REMEMBERED:]

    def recall(self, met: Iterable[tuple[int, str]]) -> None:
        """Take out, wherever they stand, also the secrets that another process ``met``."""
        self._told = tuple(met)[-_REMEMBERED:]

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
            spans, names = tokens(text)
            if names:
                spans += values(text, names)
        found = named(text, low, _NAMES)
        if found:  # to extend a list takes more than to look at it
            spans += found
        if "b" in low and (first := BEARER.search(low)):
            for m in all_from(first):
                spans += each(text, *m.span(m.lastindex or 0))
        if self._fields:
            spans += named(text, low, self._fields)
        if spans or self._known or self._told:
            return self._replace(text, spans)
        return text

    def _lowered(self, text: str) -> str:
        """*text* as names are looked for in it, letter by letter. Only a person's own may be of other letters
        than ASCII's, and to lower those takes ten times as long."""
        if not self._foreign:
            return text.encode("ascii", "replace").lower().decode("ascii")
        low = text.lower()
        return low if len(low) == len(text) else text.replace("\u0130", "i").lower()

    def _replace(self, text: str, spans: list[Span]) -> str:
        from loopguard_core.redaction.apart import (  # few processes meet a secret
            again,
            is_unmistakable,
            told,
        )

        if self._told:
            spans += told(text, self._told, self._digester)
        for start, end in spans:
            if not _marked(text, start):
                self.marker(text[start:end])
        spans += again(text, self._known)
        out: list[str] = []
        at = 0
        for start, end in sorted(spans, key=lambda s: (s[0], -s[1])):
            if start < at or start == end or _marked(text, start):
                continue
            secret = text[start:end]
            mark = self.marker(secret)
            if stands_alone(text, start) and not is_unmistakable(secret):
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


def _marked(text: str, at: int) -> bool:
    """True where a marker stands at *at*, or around it."""
    if text.startswith(MARK, at):
        return True
    start = text.rfind(MARK, max(0, at - _MARKER), at)
    return start >= 0 and text.find("]", start, at) < 0
