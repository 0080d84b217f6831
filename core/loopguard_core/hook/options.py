"""What stands on a hook's command line, and which agent's words it speaks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard_core.agents.host import Adapter

#: agent -> module in ``loopguard_core.agents`` that has ``ADAPTER``
AGENTS = {
    "claude-code": "claude_code",
    "codex": "codex",
    "gemini": "gemini",
    "copilot": "copilot",
    "opencode": "opencode",
}
_OPTIONS = ("--agent", "--limit", "--event", "--store")


class UsageError(Exception):
    """The command line is wrong: what, and what is known."""


class HelpAsked(Exception):
    """A person wants to know what there is."""


def parse(argv: Sequence[str]) -> dict[str, str]:
    """The options in *argv*. Raises ``UsageError``, ``HelpAsked``."""
    options: dict[str, str] = {}
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name not in _OPTIONS:
            if word in ("-h", "--help"):
                raise HelpAsked
            raise UsageError(f"{name!r} is not an option; known: {', '.join(_OPTIONS)}, --help")
        if not equals:
            if not rest:
                raise UsageError(f"{name} needs a value")
            value = rest.pop(0)
        options[name] = value
    if options.get("--agent") not in AGENTS:
        raise UsageError(f"--agent is one of {', '.join(AGENTS)}")
    return options


def seconds(said: str, default: float) -> float:
    """What ``--limit`` names, *default* where it was not given. Raises ``UsageError``."""
    try:
        value = float(said) if said else default
    except ValueError:
        raise UsageError(f"--limit is a number of seconds, not {said!r}") from None
    if not 0 < value < 1e9:
        raise UsageError(f"--limit is a number of seconds above 0, not {said!r}")
    return value


def adapter(agent: str) -> Adapter:
    """The adapter of *agent*, one of ``AGENTS``."""
    module = __import__(f"loopguard_core.agents.{AGENTS[agent]}", fromlist=["ADAPTER"])
    found: Adapter = module.ADAPTER
    return found
