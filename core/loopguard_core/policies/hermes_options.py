"""The tool lists and the six thresholds of the Hermes family."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.policies.options import Options

_FILESYSTEM = (
    "read_file",
    "read_text_file",
    "read_multiple_files",
    "list_directory",
    "list_directory_with_sizes",
    "directory_tree",
    "get_file_info",
    "search_files",
)
#: What a verdict says of a tool that stands in the list of those that only read.
READS = ("read-only", "traits from the policy's own list")
IDEMPOTENT = frozenset(
    {
        *("read_file", "search_files", "web_search", "web_extract", "session_search"),
        *("browser_snapshot", "browser_console", "browser_get_images"),
        *(f"mcp_filesystem_{name}" for name in _FILESYSTEM),
    }
)
MUTATING = frozenset(
    {
        *("terminal", "execute_code", "write_file", "patch", "todo", "memory", "skill_manage"),
        *("browser_click", "browser_type", "browser_press", "browser_scroll", "browser_navigate"),
        *("send_message", "cronjob", "delegate_task", "process"),
    }
)


class Limits:
    """The six thresholds, each a count of calls."""

    __slots__ = (
        "exact_block",
        "exact_warn",
        "same_block",
        "same_warn",
        "tool_halt",
        "tool_warn",
    )

    def __init__(self, values: dict[str, int]) -> None:
        for name, value in values.items():
            setattr(self, name, value)

    exact_block: int
    exact_warn: int
    same_block: int
    same_warn: int
    tool_halt: int
    tool_warn: int


#: our name -> upstream's flat name, its nested table and key there, default
_THRESHOLDS = {
    "exact_warn": ("exact_failure_warn_after", "warn_after", "exact_failure", 2),
    "tool_warn": ("same_tool_failure_warn_after", "warn_after", "same_tool_failure", 3),
    "same_warn": ("no_progress_warn_after", "warn_after", "idempotent_no_progress", 2),
    "exact_block": ("exact_failure_block_after", "hard_stop_after", "exact_failure", 5),
    "tool_halt": ("same_tool_failure_halt_after", "hard_stop_after", "same_tool_failure", 8),
    "same_block": ("no_progress_block_after", "hard_stop_after", "idempotent_no_progress", 5),
}
_LADDERS = (("exact_warn", "exact_block"), ("tool_warn", "tool_halt"), ("same_warn", "same_block"))


def take_limits(options: Options, hard_stop: bool, default: Limits | None = None) -> Limits:
    """The thresholds in *options*. Raises ``PolicyError`` for a warning that could never be given."""
    nested = {name: options.take_table(name) for name in ("warn_after", "hard_stop_after")}
    values, asked = {}, set()
    for name, (flat, table_name, key, standard) in _THRESHOLDS.items():
        fallback = standard if default is None else getattr(default, name)
        table = nested[table_name]
        if options.given(flat) or (table is not None and table.given(key)):
            asked.add(name)
        values[name] = options.take_int(flat, fallback, unit="calls")
        if table is not None:
            values[name] = table.take_int(key, values[name], unit="calls")
    for table in nested.values():
        if table is not None:
            table.finish()
    for warn, stop in _LADDERS:
        if hard_stop and warn in asked and values[warn] > values[stop]:
            raise options.error(
                f"{_THRESHOLDS[warn][0]} {values[warn]} can never fire: "
                f"{_THRESHOLDS[stop][0]} {values[stop]} stops before"
            )
    return Limits(values)


def named_limits(limits: Limits) -> dict[str, int]:
    """The thresholds by upstream's flat names."""
    return {flat: getattr(limits, name) for name, (flat, *_) in _THRESHOLDS.items()}
