"""What an agent cannot do, in words for the person who decides about it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.store.contract import Store

# Their protocols have no way to end a turn (see the adapters); a halt is a latch that denies.
_UNSTOPPABLE = frozenset(("codex", "copilot", "hermes"))


def unstoppable(agent: str) -> str:
    """Why a halt does not end the turn of *agent* by itself; empty where it does."""
    if agent not in _UNSTOPPABLE and not agent.startswith("mcp:"):
        return ""
    name = agent.removeprefix("mcp:")
    return f"{name} cannot be stopped from outside: it may ask again, and each call is refused"


def limit_of(store: Store, session: str) -> str:
    """What a halt of *session* cannot do; empty where it does all that it says. Raises ``StoreError``."""
    first = store.read(session, limit=1, payloads=False)
    if first and first[0].data.get("format") and not first[0].data.get("pid"):
        return "it is known by its transcript alone: its agent does not hear of this"
    known = store.session(session)
    return unstoppable(known.agent) if known is not None else ""
