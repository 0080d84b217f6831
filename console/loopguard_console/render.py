"""Foreign text on its way to a terminal: the one function that makes it harmless, and what builds on it.

Tool names, arguments, results, notes, titles and paths come from models, tools and files. A terminal
obeys what it reads, so everything goes through ``safe``; the result is literal text, and nothing here
or elsewhere reads markup from it.
"""

from __future__ import annotations

import json
import re
import time
from math import ceil, isfinite
from textwrap import wrap

from rich.cells import cell_len, set_cell_size

from loopguard_core.events import portable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from loopguard_core.store.contract import Session

ELLIPSIS = "…"

#: The letter that stands for a tier wherever colour alone would.
LETTERS = ("·", "W", "B", "H")

# Control, format, bidi, invisible, private, tag and surrogate code points. Newline and tab are
# treated apart; the joiners too, since scripts and emoji need them.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0d"
    "\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
)
#: Ids that say nothing to a person, so that the agent's name is needed beside them.
_RANDOM = re.compile(r"[0-9a-f]{8}")
_JOINERS = re.compile("[\u200c\u200d]")
_JOINED = re.compile("(?<=[\u0300-\U0001ffff])[\u200c\u200d](?=[\u0300-\U0001ffff])")
# Terminals disagree on the width of these: variation selectors, keycaps, skin tones.
_UNSURE = re.compile("[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff]")
_STACKED = re.compile(
    "([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0]{3})[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0]+"
)


def safe(text: object, width: int | None = None, *, lines: bool = False) -> str:
    """*text* so that any terminal shows it literally and obeys nothing in it.

    Control, escape, bidi and invisible characters appear as ``\\x1b``, ``\\u202e`` and so on, lone
    surrogates as ``\\ud800``. Without *lines* the answer is one line (``↵`` for a line end, a space for
    a tab) and holds only characters on whose width terminals agree; with *lines* line ends stay and
    tabs become spaces. Where *width* is given, every line is cut to that many cells with an ellipsis.
    What is not a string appears as JSON.
    """
    raw = text if isinstance(text, str) else as_json(text)
    if width is not None and not lines:
        raw = raw[: 8 * max(width, 1) + 1]
    if raw.isascii() and raw.isprintable():
        return cut(raw, width) if width is not None else raw
    raw = raw.replace("\r\n", "\n")
    if lines:
        out = "\n".join(line.expandtabs(4) for line in raw.split("\n"))
        out = _JOINERS.sub(_name, out) if _loose(out) else out
    else:
        out = raw.replace("\n", "↵").replace("\t", " ")
        out = _UNSURE.sub("", _JOINED.sub("", out))
        out = _JOINERS.sub(_name, out)
    out = _STACKED.sub(r"\1", _HIDDEN.sub(_name, out))
    if width is None:
        return out
    return "\n".join(cut(line, width) for line in out.split("\n"))


def _loose(text: str) -> bool:
    """True where a joiner stands beside what it cannot join, so that it could only hide something."""
    return bool(_JOINERS.search(_JOINED.sub("", text)))


def _name(match: re.Match[str]) -> str:
    point = ord(match.group())
    if point < 0x100:
        return {13: "\\r", 0: "\\0"}.get(point, f"\\x{point:02x}")
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def cut(text: str, width: int) -> str:
    """Safe *text* cut to *width* cells; the last cell is an ellipsis where something is missing."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1) + ELLIPSIS


def cut_head(text: str, width: int) -> str:
    """The last *width* characters of a safe name: its end says more than where it lies."""
    return text if len(text) <= width else ELLIPSIS + text[1 - width :]


def cut_middle(text: str, width: int) -> str:
    """Safe *text* cut to *width* cells in its middle, for names that differ at their ends."""
    if cell_len(text) <= width or width < 4:
        return cut(text, width)
    start = (width - 1) // 3
    end = text
    while cell_len(end) > width - 1 - start:
        end = end[1:]
    return set_cell_size(text, start) + ELLIPSIS + end


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Safe *text* in exactly *width* cells, cut or filled with spaces (before it if *right*)."""
    text = cut(text, width)
    fill = " " * (width - cell_len(text))
    return fill + text if right else text + fill


def in_lines(text: str, width: int, *, indent: int) -> list[str]:
    """Safe *text* in lines of *width* cells, broken between words, all but the first indented; whole where that is 0."""
    if not width or cell_len(text) <= width:
        return [text]
    return wrap(
        text,
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,  # a path or a command is to be copied
        break_on_hyphens=False,
    )


def collapse_frames(text: str) -> str:
    """A result in which a progress bar drew itself over and over: of each line only the last frame.

    Three or more frames are replaced by their number, so that nothing disappears unsaid. Not for
    arguments: there a carriage return may be there to hide what stands before it.
    """
    if "\r" not in text:
        return text
    return "\n".join(map(_last_frame, text.replace("\r\n", "\n").split("\n")))


def _last_frame(line: str) -> str:
    frames = line.count("\r")
    if frames < 3:
        return line
    last = line.rstrip("\r").rpartition("\r")[2]
    return f"({frames} frames) {last}"


def as_json(value: object) -> str:
    """*value* as compact JSON in Unicode, whatever it is."""
    return json.dumps(portable(value), ensure_ascii=False, separators=(", ", ": "))


def pretty(value: object) -> str:
    """*value* for the inspector: a string as it is, anything else as indented JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(portable(value), ensure_ascii=False, indent=2)


def preview(args: object, width: int | None = None) -> str:
    """Arguments in one safe line: a text that comes first or a value that is all stands alone, the rest is ``name=value``."""
    room = None if width is None else 8 * max(width, 1)
    if isinstance(args, dict):
        parts: list[str] = []
        for name, value in args.items():
            alone = not parts and (isinstance(value, str) or len(args) == 1)
            parts.append(_short(value, room) if alone else f"{name}={_short(value, room)}")
            if room is not None and sum(map(len, parts)) > room:
                break
        text = ", ".join(parts)
    elif args is None:
        text = ""
    else:
        text = _short(args, room)
    return safe(text, width)


def _short(value: object, room: int | None) -> str:
    if isinstance(value, str):
        return '"' + (value if room is None else value[:room]) + '"'
    return as_json(value)


#: What stands for the tier of calls that no guard has judged.
UNJUDGED = "-"


def tier_letter(tier: int) -> str:
    """``W``, ``B``, ``H``, or a dot for allow."""
    return LETTERS[tier] if 0 <= tier < len(LETTERS) else "?"


def clock(ts: float | None) -> str:
    """The time of day at *ts* (seconds since the epoch) in the local zone; blanks where unknown."""
    try:
        return "--:--:--" if ts is None else time.strftime("%H:%M:%S", time.localtime(ts))
    except (ValueError, OverflowError, OSError):  # a time that no calendar has
        return "--:--:--"


def span(seconds: float | None) -> str:
    """A length of time in at most six characters: ``12ms``, ``1.4s``, ``2:05``, ``3h12``, ``4d``."""
    if seconds is None or not isfinite(seconds):
        return ""
    if seconds < 0:
        seconds = 0.0
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 10:
        return f"{seconds:.1f}s"
    if seconds < 60:
        return f"{seconds:.0f}s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02d}"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}" if hours < 48 else f"{hours // 24}d"


def countdown(seconds: float) -> str:
    """What is left of a time, as ``span`` says it, in whole seconds: ``0s`` when it is over."""
    left = max(0, ceil(seconds))
    return f"{left}s" if left < 60 else span(left)


def size(count: int) -> str:
    """A number of characters or bytes in words: ``812``, ``3.4k``, ``2.1M``, ``62.4G``."""
    if count < 1000:
        return str(count)
    amount = count / 1000
    for unit in "kMG":
        if amount < 999.95:
            return f"{amount:.1f}{unit}"
        amount /= 1000
    return f"{amount:,.1f}T"


def counted(number: int, noun: str, *, short: bool = False) -> str:
    """How many of a thing: ``1 session``, ``3 sessions``; *short*: ``3.4k sessions``."""
    return f"{size(number) if short else number} {noun}" + ("" if number == 1 else "s")


def session_title(session: Session, width: int) -> str:
    """What a person calls a session: its name, else its agent with the start of its id.

    Of one below another its own part of the id, since the first is its parent's.
    """
    if session.name:
        return safe(session.name, width)
    if not (_RANDOM.match(session.session) and session.agent):
        return safe(session.session, width)
    own = session.session.rpartition("/")[2] if session.parent else session.session
    return safe(session.agent if own == session.agent else f"{session.agent} {own[:8]}", width)


def times_more(number: int) -> str:
    """How often something comes again: ``once more``, ``3 times more``."""
    return "once more" if number == 1 else f"{number} times more"


def halted_words(session: Session) -> str:
    """What a human halted in *session* and still stands, in words; empty where nothing does."""
    if not session.halted:
        return ""
    by = f" by {safe(session.halted_by, 60)}" if session.halted_by else ""
    at = f" at {clock(session.halted_ts)}" if session.halted_ts is not None else ""
    return f"the {session.halted} is halted{by}{at}"


def already_so(session: Session, grant: str = "") -> str:
    """The same, to who would halt it again, or would lift what is not there; or would revoke *grant* again."""
    halted = halted_words(session).replace(" is halted", " is already halted", 1) or "not halted"
    stands = f"{safe(grant, 60)} is already revoked" if grant else halted
    return f"{stands}; nothing was changed"


def signature_label(tool: str, args: object, width: int) -> str:
    """A signature as people read it: ``search("quantum comp…)``."""
    name = safe(tool, max(4, width // 2)) or "(no name)"
    inside = preview(args, max(0, width - cell_len(name) - 2))
    return cut(f"{name}({inside})", width)


def pairs(fields: Mapping[str, object], width: int | None = None) -> list[tuple[str, str]]:
    """Names and values as safe single lines."""
    return [(safe(k), safe(v, width)) for k, v in fields.items()]
