"""The shapes of secrets, as a process that has just begun has them."""

from __future__ import annotations

from loopguard_core.redaction import known_secrets
from loopguard_core.redaction.known_names import BEARER, NAMES
from loopguard_core.redaction.known_secrets import TOKENS


def forget_shapes() -> None:
    """Have each be compiled when it is needed next, if a text has one of its words."""
    for shape in (*TOKENS.values(), *NAMES.values(), BEARER):
        shape.search, shape._rest = shape._search_by_words, known_secrets._BY_WORDS
