"""Why a key would do nothing now, in one line that says what to do instead. No Textual in here.

The footer leaves such keys out; who presses one all the same is told the line. It names keys as
``{action}``: see ``keynames``.
"""

from __future__ import annotations

from typing import NamedTuple

from loopguard_core.store.contract import Request

_ANSWERS = frozenset({"approve", "deny", "modify"})
_CONTROLS = frozenset({"override", "reset", "halt", "resume"})
_MOVES = frozenset(
    [
        "down",
        "up",
        "page_down",
        "page_up",
        "first",
        "last",
        "step",
        "back",
        "next_tier",
        "previous_tier",
        "next_failure",
        "search",
        "fold",
        "fold_all",
        "only_hits",
        "bookmark",
        "pager",
        "copy",
        "rule",
        "hold",
        "follow",
    ]
)
_SESSIONS = frozenset({"next_session", "previous_session"})

NOBODY = "A recording has nobody to answer: {whatif} shows what other policies would have done, {rule} writes a rule."
NO_AGENT = "A recording has no agent to control: {whatif} shows what other policies would have done, {rule} writes a rule."
_LIVE_ALONE = "only in the live console: loopguard-console without a path opens it."
_BOOKMARK = "A recording is not written to: {bookmark} bookmarks the call."
_IN_REPLAY = {
    **dict.fromkeys(_ANSWERS, NOBODY),
    **dict.fromkeys(_CONTROLS, NO_AGENT),
    "grants": f"A recording has no grants in force. They are listed {_LIVE_ALONE}",
    "inbox": f"Nothing waits in a recording. Requests are answered {_LIVE_ALONE}",
    "waiting": f"Nothing waits in a recording. Requests are answered {_LIVE_ALONE}",
    "mute": f"Nothing rings in a recording. The bell rings {_LIVE_ALONE}",
    "follow": "A recording does not grow: {last} goes to its last call.",
    "search_all": "A recording is searched with {search}.",
    "note": f"{_BOOKMARK} Notes are kept {_LIVE_ALONE}",
    "label": f"{_BOOKMARK} Labels are kept {_LIVE_ALONE}",
    "delete": f"A recording is not deleted from here. Sessions are deleted {_LIVE_ALONE}",
}
_PLAYS = (
    "A live session does not play: {back} and {step} step through its past, "
    "{next_tier} goes to the next tier change."
)
_IN_LIVE = dict.fromkeys(("play", "faster", "slower"), _PLAYS)


class Standing(NamedTuple):
    """What an action would act on.

    ``why_not``: why nothing can be decided in this console, empty where it can. ``calls``: of the chain on
    the screen. ``listing``: keys that move, move in the list of sessions. ``gone``: the request that was chosen has been answered. ``waiting``: how many requests wait.
    """

    live: bool = True
    why_not: str = ""
    request: Request | None = None
    calls: int = 0
    sessions: int = 0
    waiting: int = 0
    gone: bool = False
    listing: bool = False


def on_main(action: str, now: Standing) -> str:
    """Why *action* would do nothing on the main screen, empty where it does something."""
    otherwise = (_IN_LIVE if now.live else _IN_REPLAY).get(action, "")
    if otherwise:
        return otherwise
    if now.live and now.why_not and action in _ANSWERS | _CONTROLS | {"note", "label", "delete"}:
        return now.why_not
    if now.listing and action in ("down", "up", "fold"):
        return ""
    if not now.calls and action in _MOVES | _CONTROLS | {
        "note",
        "label",
        "export",
        "whatif",
        "play",
    }:
        return "There is no call yet." if now.live else "There are no calls in this recording."
    if action in _ANSWERS:
        if now.request is None:
            return (
                "Nothing waits at this call: {waiting} goes to what waits."
                if now.waiting
                else _CALM
            )
        return _late(action, now.request)
    if action == "waiting" and not now.waiting:
        return _CALM
    if action in _SESSIONS and now.sessions < 2:
        return "There is no other session."
    return ""


_CALM = "Nothing waits for you."
_GONE = "That request has been answered: {down} and {up} choose the next one."


def on_inbox(action: str, now: Standing) -> str:
    """Why *action* would do nothing in the inbox, empty where it does something."""
    if action in _ANSWERS | _CONTROLS:
        if now.why_not:
            return now.why_not
        if now.request is not None:
            return _late(action, now.request)
    if action in _ANSWERS | _CONTROLS | {"mark", "fold"} and now.request is None:
        return _GONE if now.gone and now.waiting else _CALM
    if action in ("down", "up") and not now.waiting:
        return _CALM
    return ""


def _late(action: str, request: Request) -> str:
    """What is left to do about a request that nobody answered in time."""
    if request.resolution == "expired" and action == "modify":
        return (
            "It was refused when nobody answered in time: {approve} lets its next try run as it is."
        )
    return ""
