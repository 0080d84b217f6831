"""Sound guesses from a tool's name, for tools that nobody declared.

The first verb decides, as people name tools (``get_update_status`` reads, ``update_status`` writes). A
name without a known verb says nothing.
"""

from __future__ import annotations

from loopguard_core.patterns import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WORD = lazy(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+")

READS = frozenset(
    "read get list search find grep glob fetch view show query lookup look describe inspect cat head tail ls dir"
    " stat browse scan count check extract retrieve recall explain compare diff info tree peek preview whoami which"
    " who where locate select load scrape crawl lint validate verify review status history log logs outline"
    " rg ripgrep fd open see display print analyze analyse examine observe download".split()
)
SEARCHES = frozenset(
    "search find grep glob lookup query locate rg ripgrep fd recall retrieve discover match searcher where list ls".split()
)
WRITES = frozenset(
    "write edit create delete remove update set put post patch insert append send move rename copy add apply replace"
    " make mkdir rmdir rm mv cp touch upload publish deploy commit push merge install uninstall kill stop start restart"
    " click type press fill submit save store attach detach book cancel pay transfer modify assign unassign close reset"
    " approve reply notify comment schedule enable disable grant revoke sync archive restore register order purchase"
    " drop clear rewrite refactor generate draft mark tag label lock unlock subscribe unsubscribe invite upsert"
    " increment decrement enqueue dequeue pop push emit trigger launch spawn drag scroll navigate swipe tap".split()
)
_REWRITES = frozenset("replace delete remove write update rewrite create insert edit".split())
#: Verbs that are things as well, unless they come first: a ``vector_store`` stores nothing.
_THINGS = frozenset(
    "store post order book label mark draft comment purchase schedule lock tag archive copy patch commit set start"
    " type press register launch".split()
)
POLLS = frozenset(
    "poll wait await sleep status progress heartbeat health healthcheck ping watch monitor alive ready readiness".split()
)
_SETS = frozenset(
    "update set change put post write send reset create mark edit delete patch start stop enable disable add remove"
    " restart kill report publish push sleep wait await".split()
)
_NOTES = frozenset(
    "todo todos todolist think thinking thought thoughts scratchpad reflect reflection intent".split()
)
#: Bookkeeping only where it is written: plans, notes, reports of progress.
_WRITTEN = frozenset("plan plans note notes memo journal progress".split())
_KEEPING = frozenset(
    "update write set create revise make save store add take append record log report".split()
)
#: Tools that speak to somebody: the same target and only other words is the same message again.
TELLS = frozenset(
    "send message notify reply post comment email mail sms ping tell say chat announce broadcast dm".split()
)


def bare(tool: str) -> str:
    """The tool's own name without the server before it: ``mcp__github__get_me`` is ``get_me``."""
    if "__" in tool:
        return tool.rpartition("__")[2] or tool
    for mark in (".", "/", ":"):
        if mark in tool:
            return tool.rpartition(mark)[2] or tool
    return tool


def words(tool: str) -> list[str]:
    """The words of a tool's own name, lower-cased: ``getHTTPStatus`` is get, http, status."""
    return [w.lower() for w in _WORD.findall(bare(tool)[:200])]


def by_words(tool: str) -> dict[str, Any]:
    """The flags that the words of *tool* suggest, as ``Traits`` takes them."""
    found = words(tool)
    flags: dict[str, Any] = {}
    if not found:
        return flags
    if _bookkeeping(found):
        return {"bookkeeping": True, "mutating": False}
    if found[-1] in POLLS and found[0] not in _SETS:  # deploy_status asks, though deploy does not
        return {"poller": True, "readonly": True, "mutating": False}
    if found[0] in POLLS:  # wait_for_deploy waits
        return {"poller": True, "mutating": False}
    if POLLS.intersection(found) and found[0] not in WRITES:
        flags["poller"] = True
    verb = _verb(found)
    if not verb:
        return flags
    reads = verb in READS and not ("and" in found and _REWRITES.intersection(found))
    if reads and len(found) > 1 and found[1] in _REWRITES and verb in ("find", "search"):
        reads = False
    flags["readonly"], flags["mutating"] = reads, not reads
    return flags


def _verb(found: list[str]) -> str:
    for word in found:
        if word in READS or (word in WRITES and (word is found[0] or word not in _THINGS)):
            return word
    return ""


def _bookkeeping(found: list[str]) -> bool:
    if _NOTES.intersection(found) or found[0].endswith("thinking"):
        return True
    if found in (["note"], ["plan"], ["memo"], ["journal"]):
        return True
    return found[-1] in _WRITTEN and found[0] in _KEEPING
