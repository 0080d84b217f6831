"""Every action of the console as data: one table for keys, footer, help, palette and the manual.

``where`` names the place in which the keys work: ``everywhere``, ``main`` (the live and the replay
screen), ``live`` or ``replay`` (the main screen in that mode only), ``inbox``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Action(NamedTuple):
    """One thing a person can do. ``keys`` as Textual names them; ``title`` stands in the footer."""

    id: str
    keys: tuple[str, ...]
    title: str
    help: str
    group: str
    where: tuple[str, ...] = ("main",)
    footer: bool = False


DECIDE, CONTROL, MOVE, LOOK, PLAY, SESSIONS, APP = (
    "Decide",
    "Control the agent",
    "Move",
    "Look",
    "Step through",
    "Sessions",
    "The console",
)
_BOTH = ("live", "inbox")

ACTIONS: tuple[Action, ...] = (
    Action(
        "approve",
        ("a",),
        "approve",
        "Let the waiting call run once. It leaves no mark on the counters: the next identical call is asked about again.",
        DECIDE,
        _BOTH,
        footer=True,
    ),
    Action(
        "deny",
        ("d",),
        "deny",
        "Refuse the waiting call. A note, if you write one, becomes the tool's result.",
        DECIDE,
        _BOTH,
        footer=True,
    ),
    Action(
        "override",
        ("o",),
        "override…",
        "Let this signature, this tool or the session run for a number of calls, for minutes, until the result changes or for this turn.",
        DECIDE,
        _BOTH,
        footer=True,
    ),
    Action(
        "modify",
        ("m",),
        "modify…",
        "Change the arguments of the waiting call and let it run.",
        DECIDE,
        _BOTH,
    ),
    Action(
        "mark",
        ("space",),
        "mark",
        "Mark this request, so that approve and deny answer all that are marked.",
        DECIDE,
        ("inbox",),
        footer=True,
    ),
    Action(
        "reset",
        ("r",),
        "reset",
        "Set the count of this signature back to nothing, and lift a stop that it caused.",
        CONTROL,
        _BOTH,
        footer=True,
    ),
    Action(
        "halt",
        ("x",),
        "halt…",
        "Stop the agent: every further call of this turn, or of the session, is refused until you resume.",
        CONTROL,
        _BOTH,
        footer=True,
    ),
    Action(
        "resume",
        ("u",),
        "resume",
        "Lift a halt, yours or the guard's.",
        CONTROL,
        ("live", "inbox"),
        True,
    ),
    Action(
        "grants",
        ("O",),
        "grants…",
        "The grants in force with what is left of each; revoke one.",
        CONTROL,
        ("live",),
    ),
    Action(
        "inbox", ("i",), "inbox", "All requests that wait, of every session.", LOOK, ("live",), True
    ),
    Action(
        "sessions",
        ("s",),
        "sessions",
        "Show the list of sessions and go there; again: back to the chain.",
        LOOK,
        footer=True,
    ),
    Action(
        "search", ("slash",), "search", "Search tools, arguments and outcomes.", LOOK, footer=True
    ),
    Action(
        "only_hits",
        ("ampersand",),
        "only hits",
        "Show only the calls that the search finds, or all calls with the hits marked.",
        LOOK,
    ),
    Action("next_hit", ("n",), "next hit", "The next hit of the search.", LOOK),
    Action("previous_hit", ("N",), "previous hit", "The hit before.", LOOK),
    Action(
        "search_all",
        ("ctrl+f",),
        "search all",
        "Search the arguments, results and texts of all sessions of the store.",
        LOOK,
        ("live",),
    ),
    Action(
        "fold",
        ("enter",),
        "open",
        "Open or close a folded run of calls; in the inbox, go to the call that waits.",
        LOOK,
        ("main", "inbox"),
    ),
    Action(
        "fold_all", ("z",), "fold", "Fold runs of equal calls and cycles, or show every call.", LOOK
    ),
    Action(
        "pager",
        ("v",),
        "view",
        "The call with its full arguments and result in a pager; q there comes back.",
        LOOK,
    ),
    Action("copy", ("y",), "copy", "Copy the call's arguments to the clipboard.", LOOK),
    Action(
        "follow",
        ("F",),
        "follow",
        "Stay on the newest call as it comes, or stop doing so.",
        MOVE,
        ("live",),
        footer=True,
    ),
    Action(
        "waiting",
        ("w",),
        "next waiting",
        "Go to the next request that waits, in whatever session; to the late ones where none does.",
        MOVE,
        ("live",),
    ),
    Action("next_session", ("J",), "next session", "The next session in the list.", MOVE),
    Action("previous_session", ("K",), "previous session", "The session before it.", MOVE),
    Action(
        "whatif",
        ("p",),
        "what if",
        "What every other policy would have done with these calls, and one with thresholds that you type.",
        LOOK,
        footer=True,
    ),
    Action(
        "rule",
        ("c",),
        "rule…",
        "Write a rule about this tool into loopguard.toml: it polls, it is bookkeeping, it has thresholds of its own, a field never matters. You see the change first.",
        LOOK,
    ),
    Action("undo_rule", ("U",), "undo rule", "Take the last rule back.", LOOK),
    Action(
        "export",
        ("X",),
        "export…",
        "Write this session to a file: an HTML report, Markdown, JSON Lines, or a pytest test that fails while the guard does not catch this loop.",
        LOOK,
    ),
    Action(
        "sort",
        ("S",),
        "sort",
        "The sessions in the next order: what waits, last active, name, calls, worst tier, started.",
        SESSIONS,
    ),
    Action("filter", ("f",), "filter", "Show only the sessions that match some words.", SESSIONS),
    Action(
        "pin", ("P",), "pin", "Keep this session at the top of the list, or let it go.", SESSIONS
    ),
    Action("rename", ("R",), "rename", "Call this session by a name of your own.", SESSIONS),
    Action(
        "delete",
        ("D",),
        "delete…",
        "Delete this session with all its events.",
        SESSIONS,
        ("live",),
    ),
    Action(
        "hold",
        ("b",),
        "break…",
        "Hold calls before they run: a condition as in a search. In a recording, playing stops there.",
        PLAY,
    ),
    Action(
        "holds",
        ("I",),
        "breakpoints",
        "Breakpoints of this session off, or the last one on again.",
        PLAY,
    ),
    Action("note", ("semicolon",), "note", "Keep a note on this call.", LOOK, ("live",)),
    Action(
        "label",
        ("l",),
        "label",
        "Say whether the agent was stuck at this call or was fine.",
        LOOK,
        ("live",),
    ),
    Action("down", ("j", "down"), "down", "The next line.", MOVE, ("main", "inbox")),
    Action("up", ("k", "up"), "up", "The line before.", MOVE, ("main", "inbox")),
    Action("page_down", ("pagedown", "ctrl+d"), "page down", "A page further.", MOVE),
    Action("page_up", ("pageup", "ctrl+u"), "page up", "A page back.", MOVE),
    Action("first", ("g", "home"), "first", "The first call.", MOVE),
    Action("last", ("G", "end"), "last", "The last call; in a live session, follow it.", MOVE),
    Action("play", ("space",), "play", "Play or pause the recording.", PLAY, ("replay",), True),
    Action("faster", ("plus",), "faster", "Play at twice the speed.", PLAY, ("replay",)),
    Action("slower", ("minus",), "slower", "Play at half the speed.", PLAY, ("replay",)),
    Action(
        "next_tier",
        ("e",),
        "next tier",
        "The next call at which the guard's tier changes.",
        PLAY,
        footer=True,
    ),
    Action("previous_tier", ("E",), "previous tier", "The tier change before.", PLAY),
    Action(
        "bookmark",
        ("B",),
        "bookmark",
        "Mark this call, or take its mark away. The mark is yours: the session does not change.",
        PLAY,
    ),
    Action("next_bookmark", ("apostrophe",), "next bookmark", "The next bookmark.", PLAY),
    Action("previous_bookmark", ("quotation_mark",), "previous bookmark", "The one before.", PLAY),
    Action(
        "bookmarks",
        ("L",),
        "bookmarks",
        "All bookmarks, notes and labels of this session; Enter goes there.",
        PLAY,
    ),
    Action("step", ("right_square_bracket",), "step", "One call further.", PLAY),
    Action("back", ("left_square_bracket",), "back", "One call back.", PLAY),
    Action(
        "next_failure",
        ("exclamation_mark",),
        "next failure",
        "The next call that failed or was refused.",
        PLAY,
    ),
    Action("card_down", ("full_stop",), "card down", "The card of the call a page further.", MOVE),
    Action("card_up", ("comma",), "card up", "The card a page back.", MOVE),
    Action(
        "card_larger",
        ("greater_than_sign",),
        "larger card",
        "More room for the card of the selected call; its border can be dragged, too.",
        APP,
    ),
    Action("card_smaller", ("less_than_sign",), "smaller card", "Less room for the card.", APP),
    Action(
        "list_larger",
        ("right_curly_bracket",),
        "larger list",
        "More room for the list of sessions; its border can be dragged, too.",
        APP,
    ),
    Action("list_smaller", ("left_curly_bracket",), "smaller list", "Less room for the list.", APP),
    Action("usual_sizes", ("equals_sign",), "usual sizes", "All panes as they come.", APP),
    Action(
        "mute",
        ("M",),
        "mute",
        "Ring the bell when something starts to wait, or keep quiet.",
        APP,
        ("live", "inbox"),
    ),
    Action(
        "back_to_chain",
        ("escape",),
        "close",
        "Back to the chain; on the chain, end the search and show every call.",
        APP,
        ("inbox", "main"),
        footer=True,
    ),
    Action(
        "help",
        ("question_mark", "f1"),
        "help",
        "What the keys do and what the words mean.",
        APP,
        ("everywhere",),
        True,
    ),
    Action(
        "command_palette",
        ("ctrl+p",),
        "palette",
        "Find an action by its name; choose the colours (theme).",
        APP,
        ("everywhere",),
        True,
    ),
    Action(
        "suspend_process",
        ("ctrl+z",),
        "to the shell",
        "To the shell for a while, the agents go on; fg brings the console back.",
        APP,
        ("everywhere",),
    ),
    Action(
        "quit",
        ("q",),
        "quit",
        "Leave the console. Agents go on; what waits is refused soon, unless another console is open or unattended_wait_seconds is set.",
        APP,
        ("everywhere",),
        True,
    ),
)

BY_ID = {action.id: action for action in ACTIONS}

_BEGIN = "<!-- keys: made from console/loopguard_console/keys/actions.py -->"
_END = "<!-- end of keys -->"
_DISPLAY = {
    "right_square_bracket": "]",
    "left_square_bracket": "[",
    "exclamation_mark": "!",
    "question_mark": "?",
    "slash": "/",
    "greater_than_sign": ">",
    "less_than_sign": "<",
    "right_curly_bracket": "}",
    "left_curly_bracket": "{",
    "equals_sign": "=",
    "full_stop": ".",
    "comma": ",",
    "ampersand": "&",
    "apostrophe": "'",
    "quotation_mark": '"',
    "semicolon": ";",
    "plus": "+",
    "minus": "-",
    "escape": "Esc",
    "enter": "Enter",
    "space": "Space",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    "tab": "Tab",
    "home": "Home",
    "end": "End",
    "f1": "F1",
}


def shown_key(key: str) -> str:
    """A key as a person reads it on the keyboard."""
    if key.startswith("ctrl+"):
        return "^" + key[5:].upper()
    return _DISPLAY.get(key, key)


def keys_of(action: Action, chosen: Mapping[str, str] | None = None) -> str:
    """All keys of an action, as a person reads them; *chosen*: by the action's id, as in ``key_map``."""
    own = (chosen or {}).get(action.id)
    keys = action.keys if own is None else own.replace(" ", "").split(",")
    return " ".join(shown_key(key) for key in keys)


def actions_of(*places: str) -> list[Action]:
    """The actions of the given places and those that work everywhere."""
    wanted = {*places, "everywhere"}
    return [action for action in ACTIONS if wanted & set(action.where)]


def groups(actions: list[Action]) -> dict[str, list[Action]]:
    """Actions by group, both in the table's order."""
    out: dict[str, list[Action]] = {}
    for action in actions:
        out.setdefault(action.group, []).append(action)
    return out


def key_map(given: object) -> dict[str, str]:
    """Keys that a person chose, ``{"approve": "y", "deny": "n,ctrl+n"}``; what is no action is left out."""
    if not isinstance(given, dict):
        return {}
    return {n: k for n, k in given.items() if n in BY_ID and isinstance(k, str) and k}


def key_table() -> str:
    """The table of keys for the manual, in Markdown."""
    lines = ["| Key | Action | What it does | Where |", "|---|---|---|---|"]
    for action in ACTIONS:
        keys = " ".join(f"`{shown_key(key)}`" for key in action.keys)
        lines.append(f"| {keys} | {action.title} | {action.help} | {', '.join(action.where)} |")
    return "\n".join(lines) + "\n"


def write_manual(path: Path) -> bool:
    """Put the table into the manual between its two marks; True where that changed something."""
    text = path.read_text("utf-8")
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{path} has no marks for the table of keys")
    new = f"{before}{begin}\n{key_table()}{end}{after}"
    if new != text:
        path.write_text(new, "utf-8")
    return new != text


if __name__ == "__main__":
    write_manual(Path("docs/console.md"))
