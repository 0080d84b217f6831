"""The names of the keys that are in force: the one place that every hint asks."""

from __future__ import annotations

import re
from collections.abc import Mapping

from loopguard_console.keys.actions import BY_ID, keys_of

_ACTION = re.compile(r"\{([a-z_]+)\}")


class KeyNames:
    """What a person reads of each action's key. *chosen*: keys of their own, by action, as in ``key_map``."""

    def __init__(self, chosen: Mapping[str, str] | None = None) -> None:
        self.chosen = dict(chosen or {})

    def of(self, action: str) -> str:
        """The first key of an action."""
        return keys_of(BY_ID[action], self.chosen).split()[0]

    def say(self, hint: str) -> str:
        """*hint* with the key in place of each ``{action}``: ``{waiting} goes to what waits``."""
        return _ACTION.sub(lambda found: self.of(found[1]), hint)

    def raw(self, *actions: str) -> frozenset[str]:
        """All keys of these actions, as Textual names them."""
        keys = (self.chosen.get(name, ",".join(BY_ID[name].keys)) for name in actions)
        return frozenset(key.strip() for its in keys for key in its.split(","))


#: For who has chosen none.
USUAL = KeyNames()
