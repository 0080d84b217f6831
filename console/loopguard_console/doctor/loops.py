"""Can every tier of the configured policy fire here? Built-in loops through the real shim and store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from loopguard_console.doctor.finding import NOTE, OK, WRONG, Finding
from loopguard_core.config import Config
from loopguard_core.shim import LoopGuard
from loopguard_core.store.contract import Store
from loopguard_core.verdict import Tier, Verdict

AREA = "policy"
_TIERS = (Tier.WARN, Tier.BLOCK, Tier.HALT)
_LEAST, _MOST = 24, 1_000

#: a call of a loop: tool, arguments, result, whether it succeeded
Made = tuple[str, dict[str, Any], str, bool]


def _same_answer(number: int) -> Made:
    return "read_file", {"path": "notes.txt"}, "the same text", True


def _same_failure(number: int) -> Made:
    return "terminal", {"command": "make"}, "make: no rule to make target\nexit code 2", False


def _failing_tool(number: int) -> Made:
    return (
        "terminal",
        {"command": f"run {number}"},
        f"run {number}: not found\nexit code 127",
        False,
    )


def _alternating(number: int) -> Made:
    path = ("a.txt", "b.txt")[number % 2]
    return "read_file", {"path": path}, f"the text of {path}", True


#: loops by the words that name them
LOOPS: dict[str, Callable[[int], Made]] = {
    "the same call with the same answer": _same_answer,
    "the same call with the same failure": _same_failure,
    "one tool that keeps failing": _failing_tool,
    "two calls in turn": _alternating,
}


@dataclass
class Seen:
    """What the loops brought: for each tier its first call and loop; the tiers that counters promise."""

    fired: dict[Tier, tuple[int, str]] = field(default_factory=dict)
    promised: dict[Tier, int] = field(default_factory=dict)


def tiers(config: Config, store: Store) -> list[Finding]:
    """Whether each tier of the policy of *config* fires in *store* (a temporary one)."""
    seen = Seen()
    for name, loop in LOOPS.items():
        _run(config, store, name, loop, seen)
    found = [_finding(config, tier, seen) for tier in _TIERS]
    if Tier.BLOCK not in seen.promised and Tier.HALT not in seen.promised:
        found.append(_never_stops(config))
    if config.mode == "observe":
        what = "the mode is observe: whatever the policy says, every call runs"
        found.append(Finding(AREA, NOTE, what, 'mode = "ask" lets you decide'))
    return found


def _run(config: Config, store: Store, name: str, loop: Callable[[int], Made], seen: Seen) -> None:
    """Play one loop until nothing new can come of it."""
    settings = {k: v for k, v in config.raw.items() if k != "store"}
    settings |= {"unattended_wait_seconds": 0, "unanswered": {}, "mode": "enforce"}
    with LoopGuard(
        "doctor", store=store, parent="", say=lambda line: None, raise_on_halt=False, **settings
    ) as guard:
        guard.new_turn("examine")
        number, limit = 0, _LEAST
        while number < limit:
            tool, args, result, ok = loop(number)
            number += 1
            decision = guard.before_call(tool, args)
            _note(decision.ruling.verdict, number, name, seen)
            if decision.run:
                guard.after_call(decision, result, outcome="ok" if ok else "error")
                _note(_last_verdict(store, guard.session), number, name, seen)
            for count in guard.live.guard.counts():
                for tier, at in count.thresholds.items():
                    seen.promised[tier] = min(seen.promised.get(tier, at), at)
                    limit = max(limit, min(at + 3, _MOST))


def _last_verdict(store: Store, session: str) -> Verdict | None:
    known = store.session(session)
    last = store.read(session, after=known.seq - 1) if known is not None else []
    stored = last[-1].data.get("verdict") if last else None
    return Verdict.from_json(stored) if isinstance(stored, dict) else None


def _note(verdict: Verdict | None, number: int, name: str, seen: Seen) -> None:
    if verdict is not None and verdict.tier > Tier.ALLOW:
        seen.fired.setdefault(verdict.tier, (number, name))


def _finding(config: Config, tier: Tier, seen: Seen) -> Finding:
    policy = config.policy_name
    if tier in seen.fired:
        number, name = seen.fired[tier]
        return Finding(AREA, OK, f"{policy}: {tier.word} fires at call {number} of {name}")
    if tier in seen.promised:
        what = f"{policy}: {tier.word} is set to {seen.promised[tier]} but never fired"
        return Finding(AREA, WRONG, what, f"lower its threshold in {_place(config)}")
    return Finding(AREA, NOTE, f"{policy}: has no {tier.word} with these options")


def _never_stops(config: Config) -> Finding:
    what = f"{config.policy_name}: only advises; nothing would ever be stopped"
    mend = "choose another policy, or switch its stops on"
    return Finding(AREA, NOTE, what, f"{mend} in {_place(config)}")


def _place(config: Config) -> str:
    return config.place or "loopguard.toml"
