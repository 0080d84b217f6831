"""``loopguard-hook --agent NAME``: one hook event in on stdin, at most one JSON object out on stdout.

The agent starts this process for every event, so it is on the hot path of every call. It never prints a
traceback and never outlasts the host's own limit: what goes wrong is said in one line on stderr, and the
call runs or is refused as ``on_store_failure`` says (it has no memory in which a guard could go on).

Options: ``--agent NAME``, ``--limit SECONDS`` (the host's own), ``--event NAME`` (where the input does not
name it), ``--store FILE``. Exit code 0, also where it answers with a refusal; 1 where the command line is
wrong. It is never 2, which some hosts read as a denial.
"""

from __future__ import annotations

import os
import sys
import time

from loopguard_core import files, patterns, pinning
from loopguard_core.agents import host
from loopguard_core.config import ConfigError, denies
from loopguard_core.doors import Doors
from loopguard_core.events import dump
from loopguard_core.foreign import told
from loopguard_core.hook_input import HookInput
from loopguard_core.kept_patterns import KeptPatterns
from loopguard_core.live import LiveSession, to_stderr
from loopguard_core.processes import ancestors
from loopguard_core.store.contract import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from loopguard_core.agents.host import Adapter, Heard
    from loopguard_core.pinning import Pin
    from loopguard_core.store.contract import Store

#: agent -> module in ``loopguard_core.agents`` that has ``ADAPTER``
AGENTS = {
    "claude-code": "claude_code",
    "codex": "codex",
    "gemini": "gemini",
    "copilot": "copilot",
    "opencode": "opencode",
}

_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "fish", "env", "timeout", "nice"))
_OPTIONS = ("--agent", "--limit", "--event", "--store")


class UsageError(Exception):
    """The command line is wrong: what, and what is known."""


class OutOfTime(BaseException):
    """The host is about to give up. Not an ``Exception``: nothing on the way may take it for its own."""


class Hook:
    """One run of the hook. Times in seconds; ``began`` on the monotonic clock."""

    def __init__(
        self,
        adapter: Adapter,
        options: Mapping[str, str],
        environ: Mapping[str, str],
        heard: HookInput,
    ) -> None:
        self.adapter = adapter
        self.input = heard
        self.environ = environ
        self.event = options.get("--event", "")
        self.store = options.get("--store", "")
        self.limit = _seconds(options.get("--limit", ""), adapter.limit)
        self.margin = min(5.0, self.limit / 10)
        self.began = time.monotonic()
        self.closed = False
        self.data: dict[str, Any] | None = None
        self.heard: Heard | None = None
        self.said: list[str] = []

    def say(self, line: str) -> None:
        """Tell the person one line: on stderr, and through the agent where it has a way."""
        self.said.append(line)
        to_stderr(line)

    def run(self) -> dict[str, Any] | None:
        """The answer to the event in the input. Whatever goes wrong is said and answered as configured."""
        try:
            return self._run()
        except OutOfTime:
            what = "no answer" if self.heard is not None else "the hook's input did not come"
            return self._failed(f"{what} within {self.limit:g} seconds")
        except (host.HostError, ConfigError, StoreError) as error:
            return self._failed(str(error))
        except Exception as error:  # noqa: BLE001 - the agent must not fall over its guard
            return self._failed(f"internal error: {told(error)}")

    def _run(self) -> dict[str, Any] | None:
        try:
            data = self.data = self.input.read()
        except ValueError as error:
            raise host.HostError(f"the hook's input is not a JSON object: {error}") from None
        except OSError as error:
            raise host.HostError(f"the hook's input cannot be read: {error.strerror}") from None
        heard = self.heard = self.adapter.hear(data, self.event)
        if heard.kind == host.NOTHING:
            return None
        fresh = heard.kind == host.START and not _inside(self.environ)
        pin, known = self._settings(heard, fresh)
        config = pin.config
        self.closed = config.on_store_failure == "deny"
        doors = Doors(config, self.store)
        store = self._opened(doors)
        try:
            if store is not None and not known and not fresh:
                pin = pinning.logged(pin, store)
            return self._act(heard, pin, doors, store, known=known)
        finally:
            if store is not None:
                store.leave()

    def _settings(self, heard: Heard, fresh: bool) -> tuple[Pin, bool]:
        """What holds in the session, and whether it was kept for it. Raises ``ConfigError``."""
        environ = self.environ
        pin = None if fresh else pinning.find((heard.session, heard.parent), environ)
        pin = pinning.of_store(pin, environ, self.store)
        if pin is not None:
            return pin, True
        folder = self.adapter.folder(heard, environ)
        folder = folder if os.path.isdir(folder) else ""
        try:
            return pinning.new(heard.session, folder, environ, self.store), False
        except ConfigError:
            self.closed = denies(folder, environ)
            raise

    def _opened(self, doors: Doors) -> Store | None:
        """The store; None for a server that is away, without which the session goes on."""
        try:
            return doors.store()
        except StoreError:
            if doors.remote:
                return None
            raise

    def _act(
        self, heard: Heard, pin: Pin, doors: Doors, store: Store | None, *, known: bool
    ) -> dict[str, Any] | None:
        if (
            heard.kind in (host.END, host.SETTLED, host.AFTER)
            and store is not None
            and store.session(heard.session) is None
        ):
            return None  # nothing of it was seen before: there is nothing to end
        live = LiveSession(
            pin.config,
            heard.session,
            agent=self.adapter.name,
            name=heard.name,
            cwd=heard.cwd,
            parent=heard.parent,
            pid=self.adapter.pid(self.environ) or _host_pid(),
            resumed=heard.resumed,
            attach=not heard.resumed,
            served=pinning.SERVED,
            store=store,
            doors=doors,
            say=self.say,
        )
        if not known:
            pinning.begin(pin, self.environ)
        told = pinning.changed(pin, self.environ)
        if told:
            live.note("note", {"text": told, "by": "loopguard"})
            self.say(told)
        if heard.kind == host.BEFORE:
            return self._before(heard, live)
        if heard.kind == host.AFTER:
            return self._after(heard, live)
        if heard.kind == host.TURN:
            live.turn(heard.text if heard.human else heard.reason, human=heard.human)
        elif heard.kind == host.START:
            self._export(heard)
        elif heard.kind == host.NATIVE:
            live.note("system_message", {"text": heard.text, "verdict": heard.foreign})
        elif heard.kind == host.SETTLED:
            host.settle(live, heard.settled)
        elif heard.kind == host.END:
            live.end(heard.reason)
            pinning.drop(heard.session, self.environ)
            if store is not None:
                store.close()
        return None

    def _before(self, heard: Heard, live: LiveSession) -> dict[str, Any] | None:
        left = self.limit - self.margin - (time.monotonic() - self.began)
        decision = live.before(heard.tool, heard.args, call=heard.call, wait_limit=max(0.0, left))
        if live.failure or not decision.ids:  # it could not be judged
            return self._failed("the call could not be judged")
        notice = "" if decision.run else " ".join(self.said)
        answer = host.Answer(
            decision.run,
            "" if decision.run and not decision.modified else decision.message,
            args=decision.args if decision.modified else None,
            ends_turn=decision.ends_turn,
            notice=f"loopguard: {notice}" if notice else "",
        )
        return self.adapter.before(heard, answer)

    def _after(self, heard: Heard, live: LiveSession) -> dict[str, Any] | None:
        decision = live.recall(heard.call, heard.tool, heard.args)
        advice = live.after(decision, heard.result, outcome=heard.outcome, duration=heard.duration)
        return self.adapter.after(heard, advice)

    def _export(self, heard: Heard) -> None:
        """Mark the agent's shells, so that a deciding command started in one of them refuses."""
        path = self.adapter.exports(heard, self.environ)
        if not path:
            return
        from loopguard_core.inside import ENVIRONMENT  # once a session

        try:
            there = files.opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, follow=True)
            with open(there, "a", encoding="utf-8") as file:
                file.write(f"export {ENVIRONMENT}='{heard.session.replace(chr(39), '')}'\n")
        except OSError as error:
            self.say(f"{path} cannot be written: {error.strerror}")

    def _failed(self, why: str) -> dict[str, Any] | None:
        """The guard could not judge: the call runs, or is refused, as configured."""
        heard = self.heard
        if heard is None:
            heard = self._supposed()
        asked = heard.kind == host.BEFORE
        does = "the call is refused" if asked and self.closed else "the call runs unguarded"
        to_stderr(f"{why}; {does}" if asked else why)
        if not (asked and self.closed):
            return None
        text = (
            "[loopguard] This call was not run: the loop guard could not judge it. Tell the user."
        )
        return self.adapter.before(heard, host.Answer(False, text))

    def _supposed(self) -> Heard:
        """The event of an input that is not whole, by what there is of it, and the settings for it.

        Where not even its kind is known it may be a call, which is not to slip through then.
        """
        members = self.input.members() if self.data is None else self.data
        heard = self.adapter.guess(members, self.event)
        try:
            self.closed = self._settings(heard, False)[0].config.on_store_failure == "deny"
        except Exception:  # noqa: BLE001 - what went wrong is about to be said
            pass
        return heard


def _inside(environ: Mapping[str, str]) -> bool:
    """True where a guarded agent's shell started this agent: a model must not bring in new settings so."""
    from loopguard_core.inside import ENVIRONMENT  # once a session

    return bool(environ.get(ENVIRONMENT))


def _host_pid() -> int:
    """The agent's process: the nearest one above this that is not a shell between the two."""
    for pid in ancestors(os.getppid()):
        if pid > 1 and _command(pid) not in _SHELLS:
            return pid
    return os.getppid()


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def _seconds(said: str, default: float) -> float:
    try:
        value = float(said) if said else default
    except ValueError:
        raise UsageError(f"--limit is a number of seconds, not {said!r}") from None
    if not 0 < value < 1e9:
        raise UsageError(f"--limit is a number of seconds above 0, not {said!r}")
    return value


def parse(argv: list[str]) -> dict[str, str]:
    """The options in *argv*. Raises ``UsageError``."""
    options: dict[str, str] = {}
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name not in _OPTIONS:
            raise UsageError(f"{name!r} is not an option; known: {', '.join(_OPTIONS)}")
        if not equals:
            if not rest:
                raise UsageError(f"{name} needs a value")
            value = rest.pop(0)
        options[name] = value
    if options.get("--agent") not in AGENTS:
        raise UsageError(f"--agent is one of {', '.join(AGENTS)}")
    return options


def adapter(agent: str) -> Adapter:
    """The adapter of *agent*."""
    module = __import__(f"loopguard_core.agents.{AGENTS[agent]}", fromlist=["ADAPTER"])
    found: Adapter = module.ADAPTER
    return found


def main(argv: list[str] | None = None) -> None:
    """Answer one hook event and exit."""
    try:
        options = parse(sys.argv[1:] if argv is None else argv)
        hook = Hook(adapter(options["--agent"]), options, os.environ, HookInput(0))
    except UsageError as error:
        to_stderr(f"loopguard-hook: {error}")
        sys.exit(1)
    patterns.keeper = KeptPatterns(os.environ)
    answer: dict[str, Any] | None = None
    try:
        _alarm(hook.limit - hook.margin / 2)
        answer = hook.run()
        _alarm(0)
        if answer is not None and sys.stdout is not None:
            sys.stdout.write(dump(answer) + "\n")
            sys.stdout.flush()
    except OutOfTime:
        to_stderr(f"no answer within {hook.limit:g} seconds")
    except OSError:
        pass  # the host is gone
    os._exit(0)


def _alarm(seconds: float) -> None:
    """Raise ``OutOfTime`` in *seconds*; 0 takes it back."""
    signal = __import__("_signal")  # the module below ``signal``, which makes enumerations first

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _ring)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _ring(number: int, frame: object) -> None:
    raise OutOfTime


if __name__ == "__main__":
    main()
