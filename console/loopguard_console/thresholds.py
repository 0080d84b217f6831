"""Thresholds for one tool: what holds of it now, and the rule that a person makes of other numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from loopguard_console.rules import Rule, RuleError, Value
from loopguard_core.config import ConfigError, load_config, without_functions
from loopguard_core.policies import registry
from loopguard_core.policies.options import PolicyError


class Thresholds(NamedTuple):
    """What *policy* counts to for a tool: its own options by name, each a number or a list of numbers."""

    policy: str
    above: tuple[str, ...]
    values: dict[str, int | list[int]]

    @property
    def words(self) -> str:
        """The choice, in words."""
        return f"its own thresholds ({self.policy}: {_listed(self.values)})"


def thresholds_for(cwd: str, tool: str, policies: Sequence[str] = ()) -> list[Thresholds]:
    """What holds of *tool* in *cwd*: under *policies*, those of a session, and under the settings' own.

    One entry a policy, none where its options cannot be read.
    """
    try:
        config = load_config(cwd)
    except ConfigError:
        return []
    found = []
    for name in dict.fromkeys((*policies, *config.policy_name.split("+"))):
        try:
            made = registry.create(name, without_functions(config.options.get(name, {})))
        except PolicyError:
            continue
        values = made.thresholds_of(tool).get(name)
        if values:
            found.append(Thresholds(name, ("policies", name, "tools"), values))
    return found


def rule_of(now: Thresholds, typed: Mapping[str, str]) -> Rule:
    """The rule for what was *typed* beside each name: what differs from *now*. Raises ``RuleError``."""
    wanted: dict[str, Value] = {}
    for name, text in typed.items():
        value = _read(name, text, now.values[name])
        if value != now.values[name]:
            wanted[name] = value
    if not wanted:
        raise RuleError("these are the thresholds that hold already: change a number")
    return Rule(now.words, wanted, now.above)


def shown(value: int | list[int]) -> str:
    """A threshold as a person types it."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _listed(values: Mapping[str, int | list[int]]) -> str:
    many = len(values) > 3
    return (
        f"{len(values)} numbers"
        if many
        else ", ".join(f"{n} {shown(v)}" for n, v in values.items())
    )


def _read(name: str, text: str, now: int | list[int]) -> int | list[int]:
    words = [word.strip() for word in text.split(",")]
    many = isinstance(now, list)
    if not all(word.isascii() and word.isdecimal() and len(word) < 10 for word in words) or (
        len(words) > 1 and not many
    ):
        wanted = "whole numbers with commas between" if many else "a whole number"
        raise RuleError(f"{name} is {wanted}, not {text.strip() or 'nothing'}")
    numbers = [int(word) for word in words]
    return numbers if many else numbers[0]
