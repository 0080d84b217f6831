"""A call over whose judging the guard itself falls: it is judged once more, and what is to stop does not run.

Loaded when that first happens in a process.
"""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread

from loopguard_core.decision import Decision
from loopguard_core.foreign import text_of, told
from loopguard_core.identity import Payload
from loopguard_core.interrupts import pass_on
from loopguard_core.refusal import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from loopguard_core.events import Judged
    from loopguard_core.session.journal import Journal
    from loopguard_core.session.live import LiveSession
    from loopguard_core.session.stopping import Stops

    R = TypeVar("R")

#: how a duration is given
_TIMES = (float, int, type(None))
#: what is done again now
_again: set[object] = set()


def decide(
    missed: Callable[[str], None],
    journal: Journal,
    stops: Stops,
    start: Judged,
    payload: Payload,
    known: Decision | None,
    error: BaseException,
) -> Decision:
    """What is to happen to the call of *start* after *error*; *known*, if it was decided by then. In turn.

    *missed* is told what the log does not have. Raises what is raised where no ruling can be had in memory, either.
    """
    call = start.text("call")
    ruling = journal.guard.ruling(call) or (None if known is None else known.ruling)
    if ruling is None:
        try:
            ruling = journal.start(start)
        except Exception as again:  # noqa: BLE001 - whatever it is, what memory says is left
            pass_on(again)
            journal.undo()
            ruling = journal.guard.rule(start)
    written = journal.guard.ruling(call) is not None
    ids = start.data["ids"] if written else {}
    decision = Decision(call, start.text("tool"), payload, ruling, ids, start.data.get("traits"))
    if ruling.action == "run":
        missed(_fell(decision.tool, error))
    else:
        stops.give_up(decision, start, error)
    return decision


def unruled(
    live: LiveSession, stops: Stops | None, error: BaseException, asked: tuple[Any, ...]
) -> Decision:
    """The decision on a call that was not ruled on: it is asked for again, and if that fails, too, the call runs.

    At the end of the stack, where the call itself may just run, it is judged on another one. *asked* as
    ``LiveSession.before`` is.
    """
    tool, args, call = text_of(asked[0]), asked[1], asked[2]
    decision, what = None, (live.session, call)

    def again() -> Decision:
        try:
            if stops is not None:
                stops.withdraw(call)
        except Exception as error:  # noqa: BLE001 - it ends with the session, then
            pass_on(error)
        return live.before(*asked)

    if isinstance(error, RecursionError):
        live.undone(error)
        decision = elsewhere(what, again)
    elif what not in _again:
        live.tell(_fell(tool, error))
        _again.add(what)
        try:
            decision = again()
        finally:
            _again.discard(what)
    if decision is not None:
        return decision
    live.missed(_fell(tool, error))
    return Decision(call, tool, Payload(args, live.guard.digester))


def unrecorded(live: LiveSession, error: BaseException, told_of: tuple[Any, ...]) -> str:
    """The advice for a call whose end could not be recorded. *told_of* as ``LiveSession.after`` is."""
    if isinstance(error, RecursionError):
        live.undone(error)
        advice = elsewhere((live.session, told_of[0].call), lambda: live.after(*told_of))
        if advice is not None:
            return advice
    decision, result, outcome, duration, foreign = told_of
    if type(outcome) is not str or type(duration) not in _TIMES:  # they may have raised it
        duration = duration if type(duration) in _TIMES else None
        return live.after(decision, result, text_of(outcome), duration, foreign)
    live.missed(f"internal error while a result was recorded: {told(error)}")
    return ""


def _fell(tool: str, error: BaseException) -> str:
    return f"internal error while {plain(tool, 60)} was judged: {told(error)}"


def elsewhere(what: object, act: Callable[[], R]) -> R | None:
    """*act* in a thread, which has a stack of its own, for who is at the end of theirs; None where that fails.

    Not again from within: *what* tells what is being done.
    """
    if what in _again:
        return None
    done = allocate_lock()
    done.acquire()
    found: list[R] = []

    def run() -> None:
        try:
            found.append(act())
        except Exception:  # noqa: BLE001 - as if there had been no thread
            pass
        finally:
            done.release()

    _again.add(what)
    try:
        start_new_thread(run, ())
        done.acquire()
    except RecursionError:
        raise
    except RuntimeError:  # the system gives no more threads
        return None
    finally:
        _again.discard(what)
    return found[0] if found else None
