"""The policies by name: ``create`` makes one, or a composite where several names are given.

A policy's module is imported when it is asked for. To add one, name its module and class here.
"""

from __future__ import annotations

from loopguard_core.policies.options import Options, PolicyError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from loopguard_core.policies.base import Policy
    from loopguard_core.policies.options import Tell

POLICIES: dict[str, tuple[str, str]] = {
    "progress": ("progress", "Progress"),
    "hermes": ("hermes", "Hermes"),
    "hermes-seed": ("hermes_seed", "HermesSeed"),
    "hermes-0.22": ("hermes_022", "Hermes022"),
    "tool-loop-guard": ("tool_loop_guard", "ToolLoopGuard"),
    "graded": ("graded", "Graded"),
    "dsh": ("dsh", "Dsh"),
    "nous": ("nous", "Nous"),
}
DEFAULT = "progress"


def names() -> list[str]:
    """The policies there are, ours first."""
    return list(POLICIES)


def create(
    name: str | Sequence[str],
    options: Mapping[str, Any] | None = None,
    *,
    where: str = "",
    tell: Tell | None = None,
) -> Policy:
    """The policy called *name* (``default`` is one of them), in its first state.

    *options* are its own. Where *name* is a list, the strongest of their verdicts wins and *options* holds
    one table for each name. *where* (a file, say) begins the place that errors name. *tell*
    hears of a match function that fails (see ``Options``). Raises
    ``PolicyError`` for an unknown policy, a wrong option and a threshold that can never fire.
    """
    if isinstance(name, (list, tuple)):
        return _composite(name, options, where, tell)
    kind = _class(DEFAULT if name == "default" else name, where)
    read = Options(options, f"{where}, policy {name}" if where else f"policy {name}", tell)
    policy: Policy = kind(read)
    read.finish()
    return policy


def describe(name: str) -> str:
    """What the policy *name* is: source, version, units and options."""
    kind = _class(name, "")
    return _module(kind.__module__).__doc__ or ""


def _module(name: str) -> Any:
    return __import__(
        name, fromlist=("__name__",)
    )  # importlib itself would cost more than most policies


def _class(name: object, where: str) -> Callable[[Options], Policy]:
    if not isinstance(name, str) or name not in POLICIES:
        known = ", ".join(POLICIES)
        raise PolicyError(f"there is no policy {name!r}; known: {known}", where)
    module, kind = POLICIES[name]
    found: Callable[[Options], Policy] = getattr(_module(f"loopguard_core.policies.{module}"), kind)
    return found


def _composite(
    members: Sequence[str], options: Mapping[str, Any] | None, where: str, tell: Tell | None
) -> Policy:
    if not members:
        raise PolicyError("the list of policies is empty", where)
    for member in members:
        _class(DEFAULT if member == "default" else member, where)
    if len(set(members)) != len(members):
        raise PolicyError(f"a policy stands twice in {', '.join(members)}", where)
    given = dict(options or {})
    strange = [key for key in given if key not in members]
    if strange:
        raise PolicyError(f"options for {strange[0]!r}, which is not one of the policies", where)
    made = [create(member, given.get(member), where=where, tell=tell) for member in members]
    if len(made) == 1:
        return made[0]
    from loopguard_core.policies.composite import Composite

    return Composite(made)
