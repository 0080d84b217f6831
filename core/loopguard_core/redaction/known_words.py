r"""Secrets that a command takes as a word of its own, behind other words: ``bw unlock …``, ``cargo login …``."""

from __future__ import annotations

from loopguard_core.patterns import QUOTE, compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    Span = tuple[int, int]

__all__ = ["taken"]

#: Where such a command begins before what was found of it, in characters.
_REACH = 200
_VALUE = rf"""{QUOTE}?(?P<value>[^\s'"\\|;&<>$({{*%-][^\s'"\\|;&<>]{{3,}})"""
_SAY = r"[^\s'\"\\|;&<>]{1,100}"
_FLAGS = r"(?:[ ]--?[\w-]+(?:=[^\s\"\\]{1,60})?)*"
#: What goes before what was found, and behind it up to the secret.
_COMMANDS = (
    (r"(?<![\w.-])bw unlock $", rf"(?:--?[\w-]+(?:=[^\s\"\\]{{1,60}})?[ ])*{_VALUE}"),
    (r"(?<![\w.-])bw login$", rf"{_FLAGS}[ ]{_SAY}[ ]{_VALUE}"),
    (r"(?<![\w.-])cargo$", rf"[ ]login{_FLAGS}[ ]{_VALUE}"),
    (r"(?<![\w.-])wpa_passphrase$", rf"[ ]{QUOTE}?{_SAY}{QUOTE}?[ ]{_VALUE}"),
    (
        r"(?<![\w.-])rabbitmqctl$",
        rf"[^|;&\"]{{0,80}}?[ ](?:add_user|change_password|authenticate_user){_FLAGS}[ ]{_SAY}[ ]{_VALUE}",
    ),
    (r"(?<![\w.-])poetry$", rf"{_FLAGS}[ ]config{_FLAGS}[ ]pypi-token\.{_SAY}[ ]{_VALUE}"),
    (r"(?<![\w.-])poetry$", rf"{_FLAGS}[ ]config{_FLAGS}[ ]http-basic\.{_SAY}[ ]{_SAY}[ ]{_VALUE}"),
    (
        r"(?<![\w.-])pulumi$",
        rf"{_FLAGS}[ ]config set(?=[^|;&]{{0,200}}--secret){_FLAGS}[ ]{_SAY}{_FLAGS}[ ]{_VALUE}",
    ),
    (r"(?<![\w.-])cloudflared$", rf"[ ]service install[ ]{_VALUE}"),
    (r"(?<![\w.-])mc alias set$", rf"[ ]{_SAY}[ ]{_SAY}[ ]{_SAY}[ ]{_VALUE}"),
    (r"operator$", rf"[ ]unseal[ ]{_VALUE}"),
    (r"[Uu]nseal [Kk]ey$", r"[ ]\d+(?: \([\w ]{1,30}\))?:[ ]+(?P<value>[A-Za-z0-9+/=]{16,})"),
    (r"freerdp\b[^|;&]{0,180}/p:$", _VALUE),
)


def taken(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """The words that are secrets of the commands of which *names* are a part."""
    for name in names:
        at = name.end()
        for before, behind in _COMMANDS:
            if compiled(before).search(text, max(0, at - _REACH), at) is not None:
                found = compiled(behind).match(text, at)
                if found is not None:
                    yield found.span("value")
                    break
