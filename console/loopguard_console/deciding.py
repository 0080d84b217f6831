"""What a person decided, carried out by the one deciding module of core. Called off the screen's thread.

Every method returns one line for the person, or raises ``DecisionError`` or ``StoreError``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loopguard_console.keys.keynames import USUAL
from loopguard_console.render import already_so, counted
from loopguard_console.stores import settings_of
from loopguard_core import escape, inbox
from loopguard_core.agents.ability import limit_of
from loopguard_core.config import Config, ConfigError
from loopguard_core.escape import AlreadyDecided, Decided, DecisionError
from loopguard_core.session import reloading
from loopguard_core.store import search
from loopguard_core.store.contract import Request, Store


@dataclass(frozen=True)
class Permission:
    """A grant as it is asked for. ``calls`` and ``seconds`` None: up to the ceiling."""

    scope: str = "signature"
    key: str = ""
    calls: int | None = 3
    seconds: float | None = None
    until: str = ""
    note: str = ""


class Decider:
    """Decides in *store*. Decisions on a request carry the digest of what the person saw."""

    names = USUAL

    def __init__(self, store: Store) -> None:
        self._store = store
        self._along: dict[str, str] = {}  # requests that were denied with another, and with which

    def approve(self, request: Request, note: str = "") -> str:
        """Let the call run once."""
        done = escape.approve(self._store, request.request, note=note, seen=request.seen)
        if done.late:
            next_one = "" if done.absent else ": the next such call runs"
            return f"{request.request} approved late{next_one}{_absent(done)}"
        return f"{request.request} approved"

    def deny(self, request: Request, note: str = "") -> str:
        """Refuse the call, and the same calls that wait beside it; *note* goes to the model."""
        name = request.request
        try:
            done = escape.deny(self._store, name, note=note, seen=request.seen)
        except AlreadyDecided:
            if name not in self._along:
                raise
            return f"{name} denied with {self._along[name]}"
        self._along |= dict.fromkeys(done.covered, name)
        if done.late:
            back = ", the late approval is taken back" if done.grant else ""
            return f"{name} denied late{back}: its next try is asked about"
        return f"{name} denied{_covered(done)}"

    def modify(self, request: Request, args: Any, note: str = "") -> str:
        """Let the call run with other arguments."""
        escape.modify(self._store, request.request, args, note=note, seen=request.seen)
        return f"{request.request} runs with your arguments"

    def override(self, session: str, permission: Permission) -> str:
        """Let more than one call run, within the ceiling of the settings where the session runs."""
        settings = self._settings(session)
        done = escape.override(
            self._store,
            session=session,
            scope=permission.scope,
            key=permission.key,
            calls=permission.calls,
            seconds=permission.seconds,
            until=permission.until,
            note=permission.note,
            ceiling_calls=settings.ceiling_calls,
            ceiling_seconds=settings.ceiling_seconds,
        )
        return f"granted as {done.grant}{_covered(done)}{_absent(done)}"

    def reset(self, session: str, scope: str, key: str, note: str = "") -> str:
        """Clear counters."""
        done = escape.reset(self._store, session=session, scope=scope, key=key, note=note)
        return f"the count starts afresh{_covered(done)}{_absent(done)}"

    def halt(self, session: str, scope: str, children: bool, note: str = "") -> str:
        """Stop the turn or the session."""
        done = escape.halt(self._store, session=session, scope=scope, children=children, note=note)
        if done.already and not done.sessions:
            return f"{already_so(done.already[0])}; {self.names.of('resume')} resumes"
        more = len(done.sessions) - 1
        limit = limit_of(self._store, session)
        said = f"halted the {scope}" + (f" and {more} below" if more else "")
        said += f"; {self.names.of('resume')} resumes"
        if session in done.absent:
            return said + _absent(done)
        return f"{said} ({limit})" if limit else said

    def resume(self, session: str, note: str = "") -> str:
        """Lift a halt."""
        done = escape.resume(self._store, session, note=note)
        if done.already and not done.sessions:
            return already_so(done.already[0])
        return f"resumed{_covered(done)}{_absent(done)}"

    def revoke(self, session: str, grant: str) -> str:
        """Take a grant back."""
        done = escape.revoke(self._store, grant, session=session)
        return f"{grant} revoked" if done.sessions else f"{grant} is already revoked"

    def hold(self, session: str, condition: str) -> str:
        """Hold every call that meets *condition*."""
        done = escape.set_breakpoint(self._store, session, condition)
        return f"calls that meet {condition} wait for you from now on{_absent(done)}"

    def release(self, session: str, breakpoints: list[str]) -> str:
        """Take breakpoints away."""
        for name in breakpoints:
            escape.clear_breakpoint(self._store, session, name)
        return "no call is held any more" if len(breakpoints) > 1 else "the breakpoint is gone"

    def remark(self, session: str, kind: str, call: str, text: str) -> str:
        """Keep a ``note`` or ``label`` on a call."""
        inbox.write(self._store, session, kind, {"on": call, "text": text}, "", "")
        return f"{kind} kept"

    def configured(self, path: str) -> str:
        """Put what the file *path* says now in force in the running sessions that it configures."""
        changed: list[str] = []
        try:
            for session in reloading.using(self._store, path):
                changed += reloading.reload(self._store, session)
        except ConfigError as error:
            raise DecisionError(str(error)) from None
        if not changed:
            return "It holds for what starts from now on"
        return f"In force at the next call of {', '.join(changed)}"

    def delete(self, session: str) -> str:
        """Remove a session with all its events; what waits in it is refused first."""
        escape.cancel(self._store, session, note="the session was deleted")
        with search.going(self._store, [session]):
            events = self._store.forget(session)
        return f"deleted, with {counted(events, 'event')}"

    def _settings(self, session: str) -> Config:
        try:
            return settings_of(self._store, session)
        except ConfigError as error:
            raise DecisionError(str(error)) from None


def _absent(done: Decided) -> str:
    return "; nobody runs the session now: it holds when it goes on" if done.absent else ""


def _covered(done: Decided) -> str:
    return f"; settles {', '.join(done.covered)}" if done.covered else ""
