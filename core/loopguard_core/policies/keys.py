"""What makes two calls the same: the part that all policies share, with a user's own match functions."""

from __future__ import annotations

from loopguard_core.foreign import told
from loopguard_core.hashing import sha256
from loopguard_core.identity import Scheme, canonical
from loopguard_core.interrupts import pass_on
from loopguard_core.policies.options import NotLoaded
from loopguard_core.refusal import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from loopguard_core.identity import Payload, Record
    from loopguard_core.policies.options import Options, Tell
    from loopguard_core.traits import Traits

    Key = Callable[[str, Any], object]

ANY = "*"
#: What a key from a match function begins with; digests are hexadecimal.
_MATCHED = "m"
BY_MATCH = "identity by a match function"


class Matchers:
    """A user's own functions: tool -> function(tool, args) -> the key of the call; ``*`` is for all tools.

    Calls of a tool with equal keys (any JSON value) are the same call. A function that returns None or
    raises leaves the call to the policy's own identity; *tell* hears that it raised.
    """

    __slots__ = ("_functions", "_tell", "_where", "label")

    def __init__(
        self, functions: dict[str, Key], label: str, where: str, tell: Tell | None
    ) -> None:
        self._functions = functions
        self._where = where
        self._tell = tell
        self.label = label

    @classmethod
    def take(cls, options: Options, alias: str = "") -> Matchers | None:
        """The option ``match``: functions or entry points ``module:function``, one a tool.

        *alias* is an upstream's own option for one function over all tools.
        """
        table = options.take_table("match")
        given = table.take_rest() if table is not None else {}
        if alias and (whole := options.take(alias)) is not None:
            given.setdefault(ANY, whole)
        if not given:
            return None
        functions = {tool: _function(options, tool, spec) for tool, spec in given.items()}
        words = sorted(f"{tool}={_named(spec)}" for tool, spec in given.items())
        return cls(
            functions,
            sha256("\n".join(words).encode()).hexdigest()[:8],
            options.where,
            options.tell,
        )

    def key(self, tool: str, args: Payload) -> str:
        """The digest of this call's own key, empty where no function has a say."""
        function = self._functions.get(tool) or self._functions.get(ANY)
        if function is None:
            return ""
        try:
            key = function(tool, args.value)
        except BaseException as error:  # noqa: BLE001 - a user's function never breaks the agent
            pass_on(error)
            self._failed(tool, error)
            return ""
        return "" if key is None else _MATCHED + args.digest_of(canonical(key))

    def _failed(self, tool: str, error: BaseException) -> None:
        if self._tell is None:
            return
        place = f"{self._where}, match.{tool if tool in self._functions else ANY}"
        what = f"{place} failed for a call of {plain(tool, 60)}: {plain(told(error), 200)}"
        self._tell(
            place, f"{what}; where it fails, the policy itself says which calls are the same"
        )


def grounds(signature: str, *own: str) -> tuple[str, ...]:
    """What a verdict on *signature* rests on: traits in the policy's *own* words, and a match function."""
    matched = signature.rpartition(":")[2].startswith(_MATCHED)
    return (*own, BY_MATCH) if matched else own


class ArgsScheme(Scheme):
    """A scheme whose request record is ``{"a": key of the arguments}``."""

    def __init__(self, name: str, matchers: Matchers | None = None) -> None:
        self.name = f"{name}+{matchers.label}" if matchers else name
        self._matchers = matchers

    def request(self, tool: str, args: Payload, traits: Traits) -> Record:
        own = self._matchers.key(tool, args) if self._matchers else ""
        return {"a": own or self.args_key(args)}

    def outcome(
        self, tool: str, args: Payload, result: Payload, ok: bool, traits: Traits, request: Record
    ) -> Record:
        return {}

    def args_key(self, args: Payload) -> str:
        """What identifies *args* for this policy."""
        raise NotImplementedError

    def __deepcopy__(self, memo: dict[int, object]) -> ArgsScheme:
        return self


class TypedScheme(ArgsScheme):
    """Canonical JSON in which a raw string is a string: ``"{}"`` is not ``{}``."""

    def args_key(self, args: Payload) -> str:
        return "s" + args.digest if isinstance(args.value, str) else args.digest


def _function(options: Options, tool: str, spec: object) -> Key:
    if callable(spec):
        return spec
    module, _, name = spec.partition(":") if isinstance(spec, str) else ("", "", "")
    if not module or not name:
        raise options.error(
            f"match.{tool} is a function or its place as 'module:function', not {spec!r}"
        )
    try:
        found: Any = __import__(module, fromlist=("__name__",))
        for part in name.split("."):
            found = getattr(found, part)
    except BaseException as error:  # noqa: BLE001 - importing a user's module may raise anything
        pass_on(error)
        missing = str(error.name) if isinstance(error, ModuleNotFoundError) else ""
        what = f"match.{tool}: {spec} cannot be loaded: {error}"
        raise NotLoaded(what, options.where, missing) from None
    if not callable(found):
        raise options.error(f"match.{tool}: {spec} is not a function")
    key: Key = found
    return key


def _named(spec: object) -> str:
    if isinstance(spec, str):
        return spec
    return f"{getattr(spec, '__module__', '')}:{getattr(spec, '__qualname__', type(spec).__name__)}"
