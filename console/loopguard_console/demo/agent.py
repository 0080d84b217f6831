"""A scripted agent as a process of its own, with the real shim.

``python -m loopguard_console.demo.agent STORY`` prints one line for everything that happens. Store and
settings come from the environment (``LOOPGUARD_STORE``, ``LOOPGUARD_CONFIG``), as for any agent. It ends
cleanly on SIGTERM, and with ``--leash`` when its standard input closes, so that it never outlives whoever
started it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time

import click

from loopguard_console.demo.stories import STORIES, Step, Story
from loopguard_console.render import counted
from loopguard_core.shim import Decision, LoopGuard
from loopguard_core.verdict import Tier

_GIVES_UP_AFTER = 3
_TRIES_AFTER_HALT = 6
_HALTED_PAUSE = 4.0
_SHOWN = 90
_TOOL_TAKES = 0.2


class Agent:
    """Plays one story under a guard. ``pace`` scales its pauses; 0 has none."""

    def __init__(self, story: Story, guard: LoopGuard, pace: float) -> None:
        self.story = story
        self.guard = guard
        self.pace = pace
        self.ran = 0
        self.refused = 0

    def run(self) -> None:
        """The whole story, until it is told, or the agent gives up, or its turn stays halted."""
        story = self.story
        self.guard.new_turn(story.task)
        _say(f"{story.agent}: {story.task}")
        refused_in_a_row = 0
        for step in story.steps:
            decision = self._try(step)
            if not decision.run and decision.ends_turn:
                decision = self._halted(step, decision)
                if not decision.run:
                    _say("the turn stays halted; the agent ends")
                    return
            refused_in_a_row = 0 if decision.run else refused_in_a_row + 1
            if refused_in_a_row == _GIVES_UP_AFTER:
                self._give_up()
                return
        _say(f"the story is told: {counted(self.ran, 'call')} ran, {self.refused} refused")

    def _try(self, step: Step) -> Decision:
        self._pause(step.pause)
        decision = self.guard.before_call(step.tool, step.args)
        shown = f"{step.tool}({next(iter(step.args.values()), '')!r})"
        if not decision.run:
            self.refused += 1
            _say(f"refused  {shown}  {decision.message.partition('. ')[2][:_SHOWN]}…")
            return decision
        self.ran += 1
        self._pause(_TOOL_TAKES)
        answer = self.guard.after_call(decision, step.result, outcome="ok" if step.ok else "error")
        advised = answer != step.result
        tier = "warned   " if advised or decision.tier >= Tier.WARN else "ran      "
        _say(f"{tier}{shown}")
        return decision

    def _halted(self, step: Step, decision: Decision) -> Decision:
        for _ in range(_TRIES_AFTER_HALT):
            _say("halted; the agent waits and asks again")
            self._pause(_HALTED_PAUSE)
            decision = self._try(step)
            if decision.run or not decision.ends_turn:
                break
        return decision

    def _give_up(self) -> None:
        text = "I was stopped three times in a row. I go on with what I have."
        self.guard.live.note("assistant_text", {"text": text})
        _say(f"{self.story.agent}: {text}")

    def _pause(self, seconds: float) -> None:
        if self.pace:
            time.sleep(seconds * self.pace)


def _say(line: str) -> None:
    click.echo(line)  # also where the terminal's encoding has no "…"


def _stop(*_: object) -> None:
    # Asked once is enough: the leash and whoever holds it both ask, and a second exit would cut off
    # the session's end.
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, signal.SIG_IGN)
    raise SystemExit(0)


def _leash() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main(argv: list[str] | None = None) -> None:
    """Run one story."""
    parser = argparse.ArgumentParser(prog="loopguard_console.demo.agent", description=__doc__)
    parser.add_argument("story", choices=STORIES)
    parser.add_argument("--session", default="", help="the session's id")
    parser.add_argument("--pace", type=float, default=1.0, help="factor on all pauses, 0: none")
    parser.add_argument("--leash", action="store_true", help="end when standard input closes")
    given = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    if given.leash:
        threading.Thread(target=_leash, daemon=True).start()
    story = STORIES[given.story]
    with LoopGuard(story.agent, session=given.session, raise_on_halt=False) as guard:
        Agent(story, guard, given.pace).run()


if __name__ == "__main__":
    main()
