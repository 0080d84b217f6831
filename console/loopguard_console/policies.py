"""The settings that a command line names: policy, options and configuration file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from loopguard_console.errors import Refused
from loopguard_core.config import ENVIRONMENT, Config, ConfigError, load_config
from loopguard_core.policies import registry


def choose(
    name: str = "", options: str | None = None, file: str | None = None, *, option: str = "--policy"
) -> Config:
    """The settings with ``--policy``, ``--options`` and ``--config``. Raises ``Refused``.

    Without *file* those hold that hold in this folder. Several names separated by commas are one policy:
    the strongest of their verdicts wins, and the options hold one table for each. *option* is what took
    the name.
    """
    try:
        base = _settings(file)
        if not name and options is None:
            base.make_policy()
            return base
        config = Config(*_changed(base, name, options_of(options), option))
        config.make_policy()
    except ConfigError as error:
        raise Refused(str(error)) from None
    return config


def _settings(file: str | None) -> Config:
    if file is None:
        return load_config()
    if not Path(file).is_file():
        raise Refused(f"--config: {file}: no such file")
    return load_config(environ={**os.environ, ENVIRONMENT: file})


def _changed(
    base: Config, name: str, options: dict[str, Any] | None, option: str
) -> tuple[dict[str, Any], str]:
    names = [part.strip() for part in name.split(",")] if name else []
    policy = (names[0] if len(names) == 1 else names) or base.policy
    if policy == "default":
        policy = registry.DEFAULT
    raw = {**base.raw, "policy": policy}
    if options is None:
        known = set(names) <= set(registry.names())
        return raw, base.place if known else option
    given = {policy: options} if isinstance(policy, str) else options
    raw["policies"] = {**base.options, **given}
    return raw, "--options"


def options_of(text: str | None) -> dict[str, Any] | None:
    """The value of ``--options``. Raises ``Refused`` where it is not a JSON object."""
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(f"--options: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Refused('--options: a JSON object is needed, such as {"window": 8}')
    return value
