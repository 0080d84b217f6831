"""What an agent cannot do, in words for the person who decides about it."""

from __future__ import annotations

# Their protocols have no way to end a turn (see the adapters); a halt is a latch that denies.
_UNSTOPPABLE = frozenset(("codex", "copilot", "hermes"))


def unstoppable(agent: str) -> str:
    """Why a halt does not end the turn of *agent* by itself; empty where it does."""
    if agent not in _UNSTOPPABLE and not agent.startswith("mcp:"):
        return ""
    name = agent.removeprefix("mcp:")
    return f"{name} cannot be stopped from outside: it may ask again, and each call is refused"
