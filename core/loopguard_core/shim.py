"""What an agent author imports: a guard around one's own tools, three lines to connect.

    from loopguard_core.shim import LoopGuard, TurnHalted

    with LoopGuard(agent="researcher") as guard:
        search = guard.tool(search)
        ...

Results pass through unchanged. Advice is appended where the result is a string; else it is kept for
``take_advice``. ``on_advice`` is told of both. A refused call returns a string that tells the model why;
where the turn is halted, ``TurnHalted`` is raised instead, so that the author's loop ends. Nothing else is
ever raised into the agent.
"""

from __future__ import annotations

import hashlib  # noqa: F401 - an agent lives long, and OpenSSL's digests are the faster ones
import os
from _thread import RLock
from atexit import register, unregister
from collections import deque
from functools import wraps

from loopguard_core.config import Config, ConfigError, load_or_default
from loopguard_core.decision import Decision, ended_by
from loopguard_core.foreign import text_of, told, why
from loopguard_core.functions import Inputs, beneath, is_awaited, made_by, mark, name_of
from loopguard_core.halted import TurnHalted
from loopguard_core.inside import ENVIRONMENT
from loopguard_core.interrupts import pass_on
from loopguard_core.session import ahead  # noqa: F401 - later there may be no file descriptor left to load it
from loopguard_core.session.live import LiveSession, to_stderr
from loopguard_core.store.rows import narrow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from typing import Any, Never, ParamSpec, Protocol, Self, TypeVar, overload

    from loopguard_core.store.contract import Store

    P = ParamSpec("P")
    R = TypeVar("R")

    class Guarding(Protocol):
        """What takes a function and gives it back guarded: a refused call gives a string."""

        @overload  # where nothing is known of the result
        def __call__(self, function: Callable[..., Never], /) -> Any: ...
        @overload
        def __call__(
            self, function: Callable[P, Coroutine[Any, Any, R]], /
        ) -> Callable[P, Coroutine[Any, Any, R | str]]: ...
        @overload
        def __call__(self, function: Callable[P, R], /) -> Callable[P, R | str]: ...
else:

    def overload(function):
        return function


__all__ = ["Config", "ConfigError", "Decision", "LoopGuard", "TurnHalted"]

_WINDOW = 20
#: what names the session in the environment: what was there before, then each open guard's, the latest last
_names: list[str] = []
_naming = RLock()


class LoopGuard:
    """A guarded session of this process. A context manager and a decorator; threads and tasks may share it.

    *agent* is what people see. *session* continues a session of that id (counts included), else a new
    one begins; an id that no environment could carry (of more than 600 bytes, or with a NUL) is shortened or
    spelled out. *parent*: the session that started this one; by default that of the process which started this
    one, never another guard's of this process.
    *store* is an open one, or the path of its file. *settings* are keys of ``loopguard.toml`` and win
    over the file. A wrong *setting* raises ``ConfigError`` here; a wrong file is said on stderr, and the
    defaults hold.
    """

    def __init__(
        self,
        agent: str = "agent",
        *,
        session: str = "",
        parent: str | None = None,
        cwd: str = "",
        store: Store | str | os.PathLike[str] | None = None,
        on_advice: Callable[[Decision, str], object] | None = None,
        say: Callable[[str], None] = to_stderr,
        raise_on_halt: bool = True,
        **settings: Any,
    ) -> None:
        self.agent = agent = text_of(agent)
        self.session = narrow(text_of(session)) or narrow(f"{agent}-{os.urandom(4).hex()}")
        self.on_advice = on_advice
        self.raise_on_halt = raise_on_halt
        self._unnamed = self._beside = False
        self._advice: list[str] = []
        self._window: deque[str] = deque(maxlen=_WINDOW)
        if isinstance(store, (str, os.PathLike)):
            settings["store"], store = os.fspath(store), None
        self.live = LiveSession(
            _configure(cwd, settings, say),
            self.session,
            agent=agent,
            cwd=cwd,
            parent=_started_by() if parent is None else parent,
            resumed=bool(session),
            beside=self.session in _names[1:],
            store=store,
            say=say,
        )
        try:
            with _naming:
                _started_by()
                _names.append(self.session)
                os.environ[ENVIRONMENT] = self.session
            register(self.close)
        except BaseException:  # an interrupt: there will be nobody to close it
            self.close()
            raise

    # -- sessions and turns ----------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self, reason: str = "") -> None:
        """End the session. A second time does nothing, unless the first was interrupted: then it ends now."""
        with _naming:
            if not self._unnamed and self.session in _names[1:]:
                rest = _names[:]
                del rest[len(rest) - 1 - rest[::-1].index(self.session)]
                beside = self.session in rest[1:]
                _names[:], self._beside, self._unnamed = rest, beside, True
            if not self._beside and os.environ.get(ENVIRONMENT) == self.session:
                if _names[-1]:
                    os.environ[ENVIRONMENT] = _names[-1]
                else:
                    del os.environ[ENVIRONMENT]
        self.live.end(reason, beside=self._beside)
        unregister(self.close)

    def new_turn(self, text: str = "", *, human: bool = True) -> None:
        """A human's message begins a turn; *human* False: the host declares one (*text*: why)."""
        self.live.turn(text, human=human)

    def used(
        self,
        *,
        input: int = 0,
        output: int = 0,
        cache_read: int = 0,
        cache_write: int = 0,
        cost_usd: float | None = None,
        message: str = "",
    ) -> None:
        """Record what an answer of the model used up, in tokens and, where you know it, dollars.

        *input* is what no cache served. *message* as with its calls.
        """
        said: dict[str, Any] = {"input": input, "output": output, "cost_usd": cost_usd}
        said |= {"cache_read": cache_read, "cache_write": cache_write, "message": message}
        self.live.note("usage", {name: amount for name, amount in said.items() if amount})

    def take_advice(self) -> list[str]:
        """Advice that could not be appended to a result, since the last time. For the author's loop."""
        taken, self._advice = self._advice, []
        return taken

    # -- explicit calls --------------------------------------------------------------------------

    def before_call(
        self,
        tool: str,
        args: object = None,
        *,
        call: str = "",
        message: str = "",
        agent: str = "",
        annotations: Mapping[str, Any] | None = None,
        wait_limit: float | None = None,
    ) -> Decision:
        """Judge a call, and wait for a human where one is asked. See ``Decision``.

        *call* is its id; one seen before is not counted again. *message* groups the calls of one assistant
        message, *agent* names the subagent that makes them. *annotations* are MCP's. *wait_limit*: seconds after which
        the host itself would give up, less a margin. Never raises.
        """
        decision = self.live.before(tool, args, call, message, agent, annotations, wait_limit)
        self._window.append(decision.ruling.verdict.signature)
        return decision

    async def before_call_async(
        self,
        tool: str,
        args: object = None,
        *,
        call: str = "",
        message: str = "",
        agent: str = "",
        annotations: Mapping[str, Any] | None = None,
        wait_limit: float | None = None,
    ) -> Decision:
        """As ``before_call``, without blocking the event loop."""
        decision = await self.live.before_async(
            tool, args, call, message, agent, annotations, wait_limit
        )
        self._window.append(decision.ruling.verdict.signature)
        return decision

    @overload
    def after_call(
        self, decision: Decision, *, outcome: str = "ok", duration: float | None = None
    ) -> str | None: ...
    @overload
    def after_call(
        self, decision: Decision, result: R, *, outcome: str = "ok", duration: float | None = None
    ) -> R | str: ...
    def after_call(
        self,
        decision: Decision,
        result: Any = None,
        *,
        outcome: str = "ok",
        duration: float | None = None,
    ) -> Any:
        """Record the result of a call that ran; *result* itself, with advice appended if it is a string.

        Of a call that did not run: what the model gets instead.
        """
        if not decision.run:
            return decision.message
        advice = self.live.after(decision, result, outcome, duration)
        return self._advised(decision, result, advice) if advice else result

    def _advised(self, decision: Decision, result: Any, advice: str) -> Any:
        if self.on_advice is not None:
            try:
                self.on_advice(decision, advice)
            except Exception as error:  # noqa: BLE001 - an author's hook is not the tool
                pass_on(error)
                self.live.tell(f"on_advice raised {told(error)}")
        if type(result) is str:
            return f"{result}\n\n{advice}" if result else advice
        self._advice.append(advice)
        return result

    def _refused(self, decision: Decision) -> str:
        if decision.ends_turn and self.raise_on_halt:
            raise TurnHalted(decision, list(self._window))
        return decision.message

    # -- the decorator ---------------------------------------------------------------------------

    @overload
    def __call__(self, function: Callable[..., Never]) -> Any: ...
    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, R]]
    ) -> Callable[P, Coroutine[Any, Any, R | str]]: ...
    @overload
    def __call__(self, function: Callable[P, R]) -> Callable[P, R | str]: ...
    def __call__(self, function: Callable[..., Any]) -> Any:
        """``@guard``: the same as ``@guard.tool``."""
        return self.tool(function)

    @overload
    def tool(
        self,
        function: Callable[..., Never],
        *,
        name: str = "",
        annotations: Mapping[str, Any] | None = None,
    ) -> Any: ...
    @overload
    def tool(
        self,
        function: Callable[P, Coroutine[Any, Any, R]],
        *,
        name: str = "",
        annotations: Mapping[str, Any] | None = None,
    ) -> Callable[P, Coroutine[Any, Any, R | str]]: ...
    @overload
    def tool(
        self,
        function: Callable[P, R],
        *,
        name: str = "",
        annotations: Mapping[str, Any] | None = None,
    ) -> Callable[P, R | str]: ...
    @overload
    def tool(
        self,
        function: None = None,
        *,
        name: str = "",
        annotations: Mapping[str, Any] | None = None,
    ) -> Guarding: ...
    def tool(
        self,
        function: Callable[..., Any] | None = None,
        *,
        name: str = "",
        annotations: Mapping[str, Any] | None = None,
    ) -> Any:
        """Guard *function*, a plain or an async one, under its own name or *name*.

        *annotations* are MCP's (``readOnlyHint``, ``idempotentHint``, ``destructiveHint``). What this guard guards
        already is given back as it is; with a *name* or *annotations*, what is beneath it is guarded so. So is what
        a guard has guarded that is closed.
        """
        if function is None:
            return lambda f: self.tool(f, name=name, annotations=annotations)
        guard, made = made_by(function)
        if guard is self and (made is not function or not (name or annotations)):
            return function
        while made is function and (guard is self or guard._unnamed):  # one that is closed is over
            function = beneath(made)
            guard, made = made_by(function)
        called = name or name_of(function)
        inputs = Inputs(function)

        def run(*args: Any, **kwargs: Any) -> Any:
            given = inputs.named(args, kwargs)
            decision = self.before_call(called, given, annotations=annotations)
            if not decision.run:
                return self._refused(decision)
            if decision.modified:
                args, kwargs = inputs.changed(args, decision.args)
                if unfit := inputs.unfit(args, kwargs):
                    return self.after_call(decision, unfit, outcome="error")
            try:
                return self.after_call(decision, function(*args, **kwargs))
            except BaseException as error:
                self._failed(decision, error)
                raise

        async def run_async(*args: Any, **kwargs: Any) -> Any:
            given = inputs.named(args, kwargs)
            decision = await self.before_call_async(called, given, annotations=annotations)
            if not decision.run:
                return self._refused(decision)
            if decision.modified:
                args, kwargs = inputs.changed(args, decision.args)
                if unfit := inputs.unfit(args, kwargs):
                    return self.after_call(decision, unfit, outcome="error")
            try:
                return self.after_call(decision, await function(*args, **kwargs))
            except BaseException as error:
                self._failed(decision, error)
                raise

        awaited = is_awaited(function) or is_awaited(type(function).__call__)
        guarded: Any = wraps(function)(run_async if awaited else run)
        mark(guarded, self)
        return guarded

    def _failed(self, decision: Decision, error: BaseException) -> None:
        """The tool raised: recorded, and raised on as it was, with advice as a note on it."""
        outcome, result = ended_by(error)
        advice = self.live.after(decision, result, outcome=outcome)
        if advice:
            self._advised(decision, error, advice)
            try:
                BaseException.add_note(error, advice)
            except Exception as unfit:  # noqa: BLE001 - one that takes no notes: it goes on as it is
                pass_on(unfit)


def _started_by() -> str:
    """The session of the process that started this one, empty where none is: what the environment named at first."""
    with _naming:
        named = os.environ.get(ENVIRONMENT, "")
        if _names[-1:] != [named]:  # somebody else set it
            _names[:] = [named]
        return _names[0]


def _after_fork_in_child() -> None:
    """The process that started this one is the one that it was forked from."""
    global _naming
    _naming = RLock()
    del _names[:-1]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _configure(cwd: str, settings: Mapping[str, Any], say: Callable[[str], None]) -> Config:
    config = load_or_default(cwd, say)
    if not settings:
        return config
    config = config.changed(**settings)
    try:
        config.make_policy()
    except (OSError, ImportError) as error:
        say(
            f"the policy {config.policy_name} cannot be loaded: {why(error)}; the default one guards"
        )
        return config.changed(policy="default")
    return config
