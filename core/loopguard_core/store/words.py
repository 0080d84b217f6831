"""Words as people search for them: letters, digits and ``_``, in lower case and without accents."""

from __future__ import annotations

import re
import unicodedata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = re.compile(r"\w+")
#: Characters of a word that count.
_LONGEST = 200
#: Words before the first one that was found, and in all, in what is shown of a hit.
_BEFORE, _SHOWN = 5, 16


def _plain(word: str) -> str:
    """*word* as it is compared."""
    if not word.isascii():
        split = unicodedata.normalize("NFKD", word)
        word = "".join(c for c in split if not unicodedata.combining(c))
    return word.lower()[:_LONGEST]


def words_of(text: str) -> Iterator[tuple[str, int, int]]:
    """The words of *text*, and where each begins and ends there."""
    for match in _WORD.finditer(text.encode("utf-8", "replace").decode()):
        if word := _plain(match.group()):
            yield word, match.start(), match.end()


def phrases(words: str) -> list[list[str]]:
    """What is searched for: words that stand together, of each phrase the last one in its beginning."""
    found = []
    for n, part in enumerate(words.split('"')):
        for one in [part] if n % 2 else part.split():
            if phrase := [word for word, _, _ in words_of(one)]:
                found.append(phrase)
    return found


def parts(text: str, asked: list[list[str]]) -> list[tuple[str, bool]]:
    """*text* around the first word that was found, in parts that were found and that were not."""
    words = list(words_of(text))
    marked = {m for n in range(len(words)) for m in _marks(words, n, asked)}
    first = max(0, min(marked, default=0) - _BEFORE)
    shown = words[first : first + _SHOWN]
    if not shown:
        return []
    made: list[tuple[str, bool]] = [("…", False)] if first else []
    at = shown[0][1] if first else 0
    for n, (_, begin, end) in enumerate(shown, first):
        if n in marked:
            made += [(text[at:begin], False), (text[begin:end], True)]
            at = end
    last = shown[-1][2] if first + _SHOWN < len(words) else len(text)
    made += [(text[at:last], False), ("…" if last < len(text) else "", False)]
    return [part for part in made if part[0]]


def _marks(words: list[tuple[str, int, int]], n: int, asked: list[list[str]]) -> Iterator[int]:
    """The places of the words of the phrases that begin at *n*."""
    for phrase in asked:
        if not words[n][0].startswith(phrase[0]):
            continue
        there = [word for word, _, _ in words[n : n + len(phrase)]]
        if there[:-1] == phrase[:-1] and there[-1].startswith(phrase[-1]):
            yield from range(n, n + len(phrase))
