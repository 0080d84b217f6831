"""The guard that a session had: its policy and settings, from what its start says."""

from __future__ import annotations

from loopguard_core.config import Config, ConfigError, load_config
from loopguard_core.events import Event
from loopguard_core.guard import MODES, Guard
from loopguard_core.policies import registry
from loopguard_core.policies.options import PolicyError


def guard_of(start: Event | None, *, unique: bool = False, config: Config | None = None) -> Guard:
    """A fresh guard as the session that began with *start* had it, else with *config* (or the defaults).

    Where the settings of the session's folder cannot be read, or name another policy than the session
    had, the policy's own defaults hold. An agent that ran without our guard was only observed: nothing
    was stopped, whatever the policy says of it.
    """
    settings = config or _settings(start)
    named = start.text("policy") if start is not None else ""
    try:
        if config is None and named and named != settings.policy_name:
            names = named.split("+")
            policy = registry.create(names if len(names) > 1 else named)
        else:
            policy = settings.make_policy()
    except (ConfigError, PolicyError):
        policy = registry.create("default")
    mode = start.text("mode") if start is not None else ""
    return Guard(
        policy,
        mode=mode if mode in MODES else "observe",
        traits=settings.trait_table(),
        unique=unique,
    )


def _settings(start: Event | None) -> Config:
    cwd = start.text("cwd") if start is not None else ""
    if not cwd:
        return Config()
    try:
        return load_config(cwd)
    except ConfigError:
        return Config()
