"""The guard that a session had: its policy and settings, from what its start says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopguard_core.config import Config, ConfigError, without_functions
from loopguard_core.events import Event
from loopguard_core.guard import MODES, Guard

if TYPE_CHECKING:
    from loopguard_core.policies.options import Tell


def guard_of(start: Event | None, config: Config | None = None, tell: Tell | None = None) -> Guard:
    """A fresh guard for a recording, as the session that began with *start* had it, else with *config*.

    Where a start's settings cannot be read any more, the policy's own defaults hold. An agent that ran
    without our guard was only observed: nothing was stopped, whatever the policy says of it. *tell* hears of a
    match function that fails.
    """
    settings = config or config_of(start)
    mode = start.text("mode") if start is not None else ""
    return Guard(
        settings.make_policy(tell),
        mode=mode if mode in MODES else "observe",
        traits=settings.trait_table(),
        unique=True,  # a recording sees to it
    )


def config_of(start: Event | None) -> Config:
    """The settings under which a session ran, as far as its start says."""
    named = start.text("policy") if start is not None else ""
    if start is None or not named:
        return Config()
    policy: str | list[str] = named.split("+") if "+" in named else named
    for raw in ({"policy": policy, **_settings(start)}, {"policy": policy}):
        try:
            config = Config(raw)
            config.make_policy()
        except ConfigError:
            continue
        return config
    return Config()


def _settings(start: Event) -> dict[str, Any]:
    said = start.data.get("settings")
    if not isinstance(said, dict):
        return {}
    found = {k: v for k, v in said.items() if k in ("policies", "tools") and isinstance(v, dict)}
    if "policies" in found:
        tables = found["policies"].items()
        found["policies"] = {n: without_functions(t) for n, t in tables if isinstance(t, dict)}
    return found
