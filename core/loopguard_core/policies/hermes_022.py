"""``hermes-0.22``: the tool loop guard of Hermes Agent 0.22 (late 2026, MIT), ``hermes`` and more.

Units and options are those of ``hermes``. Added: failure-tolerant tools never halt by their count of
failures; the success of a tool that changes the world makes the next failure of every signature its first
and clears all tools' failures; identical calls with identical results in a row, of any tool, are noticed
from the 3rd and, under hard stop, halted at ``no_progress_block_after``; so are cycles of 2 to 4 calls
(3 laps, ``no_progress_block_after`` laps). A notice does not change the tier: it stands as the reason of an
``allow``. These halts come at most once before the turn is over. Tools that poll are exempt.
Option ``loop_caps``: ``max_web_searches`` 50 and ``max_subagents`` 50 calls a turn (0: no cap), refused
above that whatever ``hard_stop_enabled`` says. ``non_interactive_hard_stop_enabled`` is accepted and does
nothing: it is about platforms on which Hermes Agent itself runs.
"""

from __future__ import annotations

from loopguard_core.identity import Payload, canonical
from loopguard_core.plain_json import loads
from loopguard_core.policies import hermes_options
from loopguard_core.policies.base import Call, Outcome
from loopguard_core.policies.hermes import Hermes, HermesScheme
from loopguard_core.policies.keys import Matchers
from loopguard_core.policies.wording import CHANGE, named, ordinal, times
from loopguard_core.verdict import Tier, Verdict, tool_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.identity import Record
    from loopguard_core.policies.options import Options
    from loopguard_core.traits import Traits

IDEMPOTENT = hermes_options.IDEMPOTENT | {"skill_view", "skills_list"}
MUTATING = (hermes_options.MUTATING - {"todo", "cronjob", "process"}) | {
    *("todo_list", "cronjob_manage", "process_manage"),
}
TOLERANT = frozenset(
    {"terminal", "execute_code", "process_manage", "process", "browser_navigate", "web_extract"}
)
PROGRESS = frozenset(
    {
        *("write_file", "patch", "terminal", "execute_code", "browser_click", "browser_type"),
        *("browser_press", "browser_navigate", "process_manage", "process", "delegate_task"),
        *("send_message", "cronjob", "cronjob_manage", "todo", "todo_list", "memory"),
        "skill_manage",
    }
)
_POLLERS = ("_get_result", "_poll")
_NOTICE = 3
_PERIODS = (2, 3, 4)
_HISTORY = 64
_CONTROL = ("list", "steer", "stop")


class Hermes022Scheme(HermesScheme):
    """As ``hermes``; what ``execute_code`` says of its own run (count, seconds) is no part of its result."""

    def request(self, tool: str, args: Payload, traits: Traits) -> Record:
        record = super().request(tool, args, traits)
        if tool == "delegate_task":
            record["n"] = _spawned(args.value)
        return record

    def result_key(self, tool: str, result: Payload) -> str:
        key = super().result_key(tool, result)
        if tool != "execute_code" or not isinstance(result.value, str):
            return key
        try:
            value = loads(result.value)
        except (ValueError, RecursionError):
            return key
        return result.digest_of(canonical(_without_run(value))) if value is not None else key


def _spawned(args: object) -> int:
    """How many subagents a call of delegate_task starts."""
    if not isinstance(args, dict):
        return 1
    if str(args.get("action") or "").strip().lower() in _CONTROL:
        return 0
    tasks = args.get("tasks")
    return len(tasks) if isinstance(tasks, list) and tasks else 1


def _without_run(value: object) -> object:
    if not isinstance(value, dict):
        return value
    kept = {key: inner for key, inner in value.items() if key != "duration_seconds"}
    kernel = kept.get("kernel")
    if isinstance(kernel, dict):
        kept["kernel"] = {key: v for key, v in kernel.items() if key != "execution_count"}
    return kept


def polls(tool: str) -> bool:
    """True for tools that are asked again on purpose."""
    return tool == "process_manage" or tool.endswith(_POLLERS)


class Hermes022(Hermes):
    """The guard of Hermes Agent 0.22. See the module."""

    name = "hermes-0.22"
    state = (*Hermes.state, "_since", "_history", "_used")
    idempotent = IDEMPOTENT
    mutating = MUTATING

    def __init__(self, options: Options) -> None:
        options.take_bool("non_interactive_hard_stop_enabled", True)
        caps = options.take_table("loop_caps")
        self._caps = {"web_search": 50, "delegate_task": 50}
        if caps is not None:
            self._caps["web_search"] = caps.take_int("max_web_searches", 50, least=0)
            self._caps["delegate_task"] = caps.take_int("max_subagents", 50, least=0)
            caps.finish()
        super().__init__(options)
        self._since: set[str] = set()
        self._history: list[tuple[str, str, bool]] = []
        self._streak = 0
        self._used: dict[str, int] = {}
        self._ended = False

    def _scheme(self, matchers: Matchers | None) -> HermesScheme:
        return Hermes022Scheme("hermes-0.22/1", matchers)

    # -- caps ------------------------------------------------------------------------------------

    def peek(self, call: Call) -> Verdict:
        cap = self._caps.get(call.tool, 0)
        used = self._used.get(call.tool, 0)
        if not cap or used < cap or not self._uses(call):
            return super().peek(call)
        what = "web searches" if call.tool == "web_search" else "subagents"
        reason = (
            f"This turn has already used {used} {what}; the limit is {cap}, so this call was not run. "
            f"Work with the results you have and give the user your answer."
        )
        return self._stop(Tier.BLOCK, "loop_cap", self.signature(call), used, cap, reason)

    def _uses(self, call: Call) -> int:
        return int(call.records[self.scheme.name].get("n", 1))

    def _use(self, call: Call, sign: int = 1) -> None:
        if self._caps.get(call.tool, 0):
            self._used[call.tool] = self._used.get(call.tool, 0) + sign * self._uses(call)

    def start(self, call: Call) -> None:
        self._use(call)
        super().start(call)

    def refuse(self, call: Call) -> None:
        if self.peek(call).detector != "loop_cap":
            self._use(call)
        self._ended = True

    # -- progress --------------------------------------------------------------------------------

    def _failed(self, signature: str) -> int:
        return 0 if signature in self._since else super()._failed(signature)

    def _failure(self, call: Call, outcome: Outcome) -> Verdict:
        verdict = super()._failure(call, outcome)
        self._since.discard(self.signature(call))
        return verdict

    def _may_halt(self, tool: str) -> bool:
        return tool not in TOLERANT

    def _progressed(self, tool: str) -> None:
        if tool in PROGRESS:
            self._since.update(self._failures)
            self._tool_failures.clear()

    # -- streaks and cycles ----------------------------------------------------------------------

    def end(self, call: Call, outcome: Outcome) -> Verdict | None:
        verdict = super().end(call, outcome)
        if verdict is None:
            if outcome.kind == "denied":
                self._use(call, -1)
            return None
        if verdict.stops:
            self._ended = True
        return self._observed(call, outcome, verdict)

    def _observed(self, call: Call, outcome: Outcome, verdict: Verdict) -> Verdict:
        step = (self.signature(call), outcome.records[self.scheme.name]["r"], polls(call.tool))
        self._streak = self._streak + 1 if self._history and self._history[-1] == step else 1
        self._history.append(step)
        del self._history[:-_HISTORY]
        if self._streak >= _NOTICE and not step[2]:
            text = (
                f"This is the {ordinal(self._streak)} call of {named(call.tool)} in a row with identical "
                f"arguments and an identical result. {CHANGE}"
            )
            return self._notice(verdict, "identical_call_streak", self._streak, text, call.tool)
        period, laps = self._cycle()
        if not laps:
            return verdict
        text = (
            f"The same {period} calls, ending with {named(call.tool)}, have run {times(laps)} in a row "
            f"with identical arguments and identical results. {CHANGE}"
        )
        return self._notice(verdict, "identical_cycle", laps, text, call.tool)

    def _notice(self, verdict: Verdict, detector: str, count: int, text: str, tool: str) -> Verdict:
        threshold = self._limits(tool).same_block
        if self.hard_stop and count >= threshold and not self._ended:
            self._ended = True
            return self._stop(Tier.HALT, detector, verdict.signature, count, threshold, text)
        if verdict.tier is Tier.ALLOW:
            verdict.detector, verdict.reason = detector, text
        return verdict

    def _cycle(self) -> tuple[int, int]:
        """The shortest period whose last laps are equal, and how many there are; 0 laps: none."""
        steps = self._history
        for period in _PERIODS:
            last = steps[-period:]
            laps, start = 1, len(steps) - 2 * period
            while start >= 0 and steps[start : start + period] == last:
                laps, start = laps + 1, start - period
            if laps >= _NOTICE and not all(polling for _, _, polling in last):
                return period, laps
        return 0, 0

    # -- turns and counters ----------------------------------------------------------------------

    def reset(self, *, tool: str = "", signature: str = "") -> None:
        super().reset(tool=tool, signature=signature)
        self._history = [
            step
            for step in self._history
            if (tool or signature) and step[0] != signature and tool_of(step[0]) != tool
        ]
        self._streak, self._ended = 0, False
        if not tool and not signature:
            self._since.clear()
            self._used.clear()
        else:
            self._used.pop(tool, None)
