"""The policy that a command line names: by name, options and configuration."""

from __future__ import annotations

import json
from typing import Any

from loopguard_console.errors import Refused
from loopguard_core.policies import registry
from loopguard_core.policies.base import Policy
from loopguard_core.policies.options import PolicyError
from loopguard_core.traits import TraitTable


class Chosen:
    """A policy to ask. ``make`` gives it in its first state; ``title`` is its name for people."""

    def __init__(self, name: str | list[str], options: dict[str, Any] | None, place: str) -> None:
        self.name = name
        self.options = options
        self.traits = TraitTable()
        self._place = place
        self.make()

    @property
    def title(self) -> str:
        name = registry.DEFAULT if self.name == "default" else self.name
        return name if isinstance(name, str) else "+".join(name)

    def make(self) -> Policy:
        """The policy in its first state. Raises ``Refused``."""
        try:
            return registry.create(self.name, self.options, where=self._place)
        except PolicyError as error:
            raise Refused(str(error)) from None


def choose(name: str, options: str | None) -> Chosen:
    """The policy *name* with ``--options``, else the default one. Raises ``Refused``.

    Several names separated by commas are one policy: the strongest of their verdicts wins, and the
    options hold one table for each.
    """
    names = [part.strip() for part in name.split(",")] if name else ["default"]
    given = options_of(options)
    one: str | list[str] = names[0] if len(names) == 1 else names
    return Chosen(one, given, "--options" if given else "")


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
