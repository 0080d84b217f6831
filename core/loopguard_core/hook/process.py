"""``loopguard-hook --agent NAME``: one hook event in on stdin, at most one JSON object out on stdout.

The agent starts this process for every event, so it is on the hot path of every call. It never prints a
traceback and never outlasts the host's own limit: what goes wrong is said in one line on stderr, and the
call runs or is refused as ``on_store_failure`` says (it has no memory in which a guard could go on).

Options: ``--agent NAME``, ``--limit SECONDS`` (the host's own), ``--event NAME`` (where the input does not
name it), ``--store FILE``. Exit code 0, also where it answers with a refusal; 1 where the command line is
wrong; 2, which hosts read as a denial, only for a refusal that cannot be written to stdout. It is on stderr then.
"""

from __future__ import annotations

import os
import sys
import time

from loopguard_core import files, patterns
from loopguard_core.agents import host
from loopguard_core.config import MISSING, REMEMBERED, ConfigError, denies, state_folder
from loopguard_core.events import dump
from loopguard_core.foreign import told
from loopguard_core.hook import signals
from loopguard_core.hook.input import HookInput
from loopguard_core.hook.kept_patterns import KeptPatterns
from loopguard_core.hook.options import HelpAsked, UsageError, adapter, parse, seconds
from loopguard_core.hook.signals import CutShort
from loopguard_core.processes import alive, ancestors, caller
from loopguard_core.refusal import WAITS, plain
from loopguard_core.serving import HOOKS, other_guard
from loopguard_core.session import pinning
from loopguard_core.session.doors import Doors
from loopguard_core.session.live import LiveSession, to_stderr
from loopguard_core.store.contract import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from loopguard_core.agents.host import Adapter, Heard
    from loopguard_core.redaction.redact import Redactor
    from loopguard_core.session.pinning import Pin
    from loopguard_core.store.contract import Store


#: Seconds before a host's limit in which the hook starts, ends a wait in the log, and answers.
_MOMENT = 0.5
#: What begins no session.
_ONLY_GOES_ON = frozenset((host.END, host.SETTLED, host.AFTER))


class Hook:
    """One run of the hook. Times in seconds; ``began`` on the monotonic clock.

    ``answer`` is what was answered, once it was; ``stopping`` what a host that cannot hear it must be told,
    empty where the call may run as it is; ``unsettled``: the log does not know that it is stopped.
    """

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
        self.limit = seconds(options.get("--limit", ""), adapter.limit)
        self.margin = min(5.0, max(self.limit / 10, min(_MOMENT, self.limit / 3)))
        self.began = time.monotonic()
        self.closed: bool | None = None  # not known yet
        self.data: dict[str, Any] | None = None
        self.heard: Heard | None = None
        self.live: LiveSession | None = None
        self.answer: tuple[dict[str, Any] | None] | None = None
        self.stopping = ""
        self.unsettled = False
        self.said: list[str] = []

    def say(self, line: str) -> None:
        """Tell the person one line: on stderr, and through the agent where it has a way."""
        self.said.append(plain(line, len(line)))
        to_stderr(line)

    def run(self) -> dict[str, Any] | None:
        """The answer to the event in the input. Whatever goes wrong is said and answered as configured."""
        try:
            self._run()
        except CutShort as short:
            return self.cut(short)
        except Exception as error:  # noqa: BLE001 - the agent must not fall over its guard
            if self.answer is None:  # else it went wrong behind the answer
                missed = not isinstance(error, (ConfigError, StoreError))
                known = not missed or isinstance(error, host.HostError)
                why = str(error) if known else f"internal error: {told(error)}"
                if not missed and self.heard is not None:
                    self._count(self.heard, why)
                self.answer = (self._failed(why, missed=missed),)
        return self.answer[0] if self.answer else None

    def cut(self, short: CutShort) -> dict[str, Any] | None:
        """The answer where there is no time for another: the one there is, else as configured.

        A call that was stopped already stays so.
        """
        if self.answer is None:
            if self.live is not None and self.live.stopped:
                self.closed = True
            what = "no answer" if self.heard is not None else "the hook's input did not come"
            when = f"within {self.limit:g} seconds"
            if short.signal:
                when = f"before the hook was stopped by signal {short.signal}"
            self.answer = (self._failed(f"{what} {when}"),)
            self.unsettled = bool(self.stopping)
        return self.answer[0]

    @property
    def unheard(self) -> int:
        """The exit code where nobody hears the answer: a denial for a call that must not run as it is."""
        return 2 if self.stopping else 0

    def settle(self, code: int) -> None:
        """The answer is out: end in the log a call that it stops, though it was recorded as one that may run.

        Whoever cut the hook short gets its exit *code* soon, whether that is done or not.
        """
        live, heard = self.live, self.heard
        if not self.unsettled or live is None or heard is None:
            return
        if signals.leave_within(self.margin / 4, code):
            try:
                live.cancel(heard.call, heard.tool, heard.args)
            except Exception as error:  # noqa: BLE001 - the agent has its answer
                to_stderr(f"internal error while a call was cancelled: {told(error)}")

    def _run(self) -> None:
        try:
            data = self.data = self.input.read()
        except ValueError as error:
            raise host.HostError(f"the hook's input is not a JSON object: {error}") from None
        except OSError as error:
            raise host.HostError(f"the hook's input cannot be read: {error.strerror}") from None
        heard = self.heard = self.adapter.hear(data, self.event)
        if heard.kind == host.NOTHING:
            return
        if heard.kind != host.BEFORE:  # nobody is asked, so it is only written down
            signals.finish()
        fresh = heard.kind == host.START and not _inside(self.environ)
        try:
            pin, known = self._settings(heard, fresh)
        except ConfigError as error:
            pin, known = self._as_logged(heard, fresh, error), False
        config = pin.config
        self.closed = self.closed or config.on_store_failure == "deny"
        doors = Doors(config, self.store)
        store = self._opened(doors)
        try:
            if store is not None and not known and not fresh:
                pin = pinning.logged(pin, store, heard.parent)
            self.answer = (self._act(heard, pin, doors, store, known=known),)
        except CutShort:
            store = None  # there is no time to tidy it, and ``settle`` needs it
            raise
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
        folder = self._folder(heard)
        try:
            return pinning.new(heard.session, folder, environ, self.store), False
        except Exception:
            self.closed = denies(folder, environ)
            raise

    def _folder(self, heard: Heard) -> str:
        folder = self.adapter.folder(heard, self.environ)
        return folder if os.path.isdir(folder) else ""

    def _as_logged(self, heard: Heard, fresh: bool, error: ConfigError) -> Pin:
        """What the log says that holds, where nothing else does. Raises *error* where it does not say it either."""
        pin = pinning.bare(heard.session, self._folder(heard), self.environ, self.store)
        try:
            store = None if fresh else self._opened(Doors(pin.config, self.store))
            there = None if store is None else pinning.in_log(pin, store, heard.parent)
        except StoreError:
            there = None
        if there is None:
            raise error
        return there

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
        if heard.kind in _ONLY_GOES_ON and store is not None:
            ran = store.session(heard.session)
            if ran is None or ran.ended:
                return None  # nothing of it runs: there is nothing to end, and no late word begins it anew
        if store is not None and heard.kind not in (host.BEFORE, host.AFTER):
            other = other_guard(store, heard.session, hooks=False)
            if other:  # a model could say so
                self.say(
                    f"{plain(heard.session, 60)} is guarded by {plain(other, 60)}: "
                    "what a hook says of its turns and its end does not count"
                )
                return None
        try:
            live, told = self._joined(heard, pin, doors, store), ""
        except ConfigError as error:  # a function of the person's is gone
            if not (known or heard.kind == host.END):
                raise
            live = self._joined(heard, pinning.plain(pin), doors, store)
            told = source = f"{error}; the session goes on without own functions"
        self.live = live
        if not known:
            pinning.begin(pin, self.environ)
        if not told:
            told = pinning.changed(pin, self.environ)
            source = pin.told
        if told and not (store is not None and pinning.told(heard.session, source, store)):
            live.note("note", {"text": told, "by": "loopguard", "source": source})
            self.say(told)
        if store is not None and os.path.isdir(os.path.join(state_folder(self.environ), MISSING)):
            self._own_up(heard, live)
        redactor = store.redactor if store is not None else None
        if redactor is None:
            answer = self._judge(heard, live)
        else:
            answer = self._remembering(heard, live, redactor)
        if live.failure:
            self._count(heard, live.failure)
        if heard.kind == host.END and store is not None:
            store.close()
        return answer

    def _remembering(
        self, heard: Heard, live: LiveSession, redactor: Redactor
    ) -> dict[str, Any] | None:
        """Judge, with what earlier hooks of the session met of secrets; the next one knows what this one meets."""
        if os.path.isdir(os.path.join(state_folder(self.environ), REMEMBERED)):
            from loopguard_core.hook import remembering  # most sessions meet none

            remembering.recall(heard.session, self.environ, redactor)
        answer = self._judge(heard, live)
        if redactor.met():
            from loopguard_core.hook import remembering

            if heard.kind == host.END:
                remembering.drop(heard.session, self.environ)
            else:
                remembering.keep(heard.session, self.environ, redactor)
        return answer

    def _count(self, heard: Heard, why: str) -> None:
        """An event that the log does not get is counted for the next hook that can write to it."""
        if heard.session and heard.kind in (host.BEFORE, host.AFTER, host.TURN):
            from loopguard_core.session import missing  # only where something failed

            missing.count(heard.session, why, self.environ)

    def _own_up(self, heard: Heard, live: LiveSession) -> None:
        """Say in the log what earlier hooks of the session could not write."""
        from loopguard_core.session import missing

        events, why = missing.claim(heard.session, self.environ)
        if events:
            live.note("gap", {"count": events, "reason": why})
            if live.failure:
                missing.count(heard.session, why, self.environ, events)

    def _judge(self, heard: Heard, live: LiveSession) -> dict[str, Any] | None:
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
        return None

    def _joined(self, heard: Heard, pin: Pin, doors: Doors, store: Store | None) -> LiveSession:
        live = LiveSession(
            pin.config,
            heard.session,
            agent=self.adapter.name,
            name=heard.name,
            cwd=heard.cwd,
            parent=heard.parent,
            pid=lambda: self._agent(heard.session, store),
            resumed=heard.resumed,
            attach=not heard.resumed,
            served=HOOKS,
            store=store,
            doors=doors,
            say=self.say,
        )
        live.began = time.time() - (time.monotonic() - self.began)
        return live

    def _agent(self, session: str, store: Store | None) -> int:
        """The agent's process; 0 where there is none: a person tries the hook by hand.

        What the log names already stays, while it runs and this process is below it: an agent that starts its
        own hook cannot make itself another's process.
        """
        known = store.session(session) if store is not None else None
        if known is not None and known.pid in ancestors() and alive(known.pid, known.pid_started):
            return known.pid
        return self.adapter.pid(self.environ) or caller()

    def _before(self, heard: Heard, live: LiveSession) -> dict[str, Any] | None:
        left = self.limit - self.margin - (time.monotonic() - self.began)
        decision = live.before(heard.tool, heard.args, call=heard.call, wait_limit=max(0.0, left))
        if live.failure or not decision.ids:  # it could not be judged
            failed = self._failed("the call could not be judged")
            if self.stopping:  # it may be in the log all the same
                live.cancel(heard.call, heard.tool, heard.args)
            return failed
        # nothing waits any more by the time this is read: how it ended was said as well
        over = [line for line in self.said if not line.startswith(WAITS)]
        notice = "" if decision.run else " ".join(over)
        answer = host.Answer(
            decision.run,
            "" if decision.run and not decision.modified else decision.message,
            args=decision.args if decision.modified else None,
            ends_turn=decision.ends_turn,
            notice=f"loopguard: {notice}" if notice else "",
        )
        return self._answered(heard, answer)

    def _answered(self, heard: Heard, answer: host.Answer) -> dict[str, Any] | None:
        """The answer to a call that is about to run."""
        if not answer.run:
            self.stopping = answer.message
        elif answer.args is not None:
            self.stopping = "[loopguard] This call was not run: its changed arguments were lost."
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

    def _failed(self, why: str, *, missed: bool = False) -> dict[str, Any] | None:
        """The guard could not judge: the call runs, or is refused, as configured.

        *missed*: the log could be written to, and says what is missing from it.
        """
        heard = self.heard or self._supposed()
        asked = heard.kind == host.BEFORE
        if asked and self.closed is None:
            self._look_up(heard)
        if missed:
            self._miss(heard, why)
        does = "the call is refused" if asked and self.closed else "the call runs unguarded"
        to_stderr(f"{why}; {does}" if asked else why)
        if not (asked and self.closed):
            return None
        text = (
            "[loopguard] This call was not run: the loop guard could not judge it. Tell the user."
        )
        return self._answered(heard, host.Answer(False, text))

    def _miss(self, heard: Heard, why: str) -> None:
        """Count in the log a call, or the end of one, that is not in it. Best effort: nothing is raised."""
        if not heard.session or heard.kind not in (host.BEFORE, host.AFTER):
            return
        try:
            pin = self._settings(heard, False)[0]
            doors = Doors(pin.config, self.store)
            store = doors.store()
            try:
                live = self._joined(heard, pin, doors, store)
                live.note("gap", {"count": 1, "reason": why})
            finally:
                store.leave()
        except Exception:  # noqa: BLE001 - why is about to be said
            pass

    def _supposed(self) -> Heard:
        """The event of an input that is not whole, by what there is of it.

        Where not even its kind is known it may be a call, which is not to slip through then.
        """
        members = self.input.members() if self.data is None else self.data
        return self.adapter.guess(members, self.event)

    def _look_up(self, heard: Heard) -> None:
        """Find out what is configured for a call that cannot be judged."""
        try:
            self.closed = self._settings(heard, False)[0].config.on_store_failure == "deny"
        except Exception:  # noqa: BLE001 - what went wrong is about to be said
            pass


def _inside(environ: Mapping[str, str]) -> bool:
    """True where a guarded agent's shell started this agent: a model must not bring in new settings so."""
    from loopguard_core.inside import ENVIRONMENT  # once a session

    return bool(environ.get(ENVIRONMENT))


def main(argv: list[str] | None = None) -> None:
    """Answer one hook event and exit."""
    try:
        options = parse(sys.argv[1:] if argv is None else argv)
        hook = Hook(adapter(options["--agent"]), options, os.environ, HookInput(0))
    except HelpAsked:
        from loopguard_core.hook.help import tell  # an agent never asks

        sys.exit(tell())
    except UsageError as error:
        to_stderr(f"loopguard-hook: {error}")
        sys.exit(1)
    patterns.keeper = KeptPatterns(os.environ)
    try:
        signals.watch(hook.limit - hook.margin / 2)
        answer = hook.run()
        signals.answered(hook.unheard)
    except CutShort as short:
        answer = hook.cut(short)
        signals.leave_within(hook.margin / 4, hook.unheard)
    code = 0 if answer is None or _told(answer) else _unheard(hook)
    hook.settle(code)
    os._exit(code)


def _told(answer: dict[str, Any]) -> bool:
    """Write *answer*; False where that fails."""
    if sys.stdout is None:  # closed
        return False
    try:
        os.set_blocking(sys.stdout.fileno(), True)  # the agent may have made its pipe otherwise
        sys.stdout.write(dump(answer) + "\n")
        sys.stdout.flush()
    except OSError:  # nobody reads, or there is no room
        return False
    return True


def _unheard(hook: Hook) -> int:
    """The exit code where the answer could not be written."""
    if not hook.stopping:
        to_stderr("the answer cannot be written to stdout")
    else:
        said = hook.stopping.removeprefix("[loopguard] ")
        to_stderr(f"{said} (The answer cannot be written to stdout.)")
    return hook.unheard
