"""Where agents keep their transcripts, so that people need not know."""

from __future__ import annotations

import os
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: agent, the variable that names its folder, the folder below the home directory, patterns in it
_HOMES: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("Claude Code", "CLAUDE_CONFIG_DIR", ".claude", ("projects/*/*.jsonl",)),
    (
        "Codex",
        "CODEX_HOME",
        ".codex",
        (
            "sessions/*/*/*/rollout-*.jsonl*",
            "sessions/rollout-*.json*",
            "archived_sessions/rollout-*.jsonl*",
        ),
    ),
    (
        "Gemini CLI",
        "",
        ".gemini",
        ("tmp/*/chats/session-*.json", "tmp/*/chats/session-*.jsonl", "tmp/*/checkpoint-*.json"),
    ),
    (
        "GitHub Copilot CLI",
        "",
        ".copilot",
        ("session-state/*/events.jsonl", "session-state/*.jsonl"),
    ),
    (
        "opencode",
        "",
        ".local/share/opencode",
        ("opencode.db", "storage/session/*/ses_*.json"),
    ),
    ("pi", "PI_CODING_AGENT_DIR", ".pi/agent", ("sessions/*/*.jsonl", "sessions/*.jsonl")),
    ("OpenClaw", "OPENCLAW_STATE_DIR", ".openclaw", ("agents/*/sessions/*.jsonl",)),
    ("OpenHands", "", ".openhands", ("conversations/*/events", "sessions/*/events")),
    ("mini-swe-agent", "MSWEA_GLOBAL_CONFIG_DIR", ".config/mini-swe-agent", ("*.traj.json",)),
    ("hermes-agent", "HERMES_HOME", ".hermes", ("state.db", "sessions/*.jsonl")),
)
#: agents that write below the folder they are started in
_HERE: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("Inspect", "INSPECT_LOG_DIR", ("logs/*.eval", "logs/*.json")),
    ("SWE-agent", "", ("trajectories/**/*.traj",)),
    ("hermes-agent", "", ("trajectory_samples.jsonl", "failed_trajectories.jsonl")),
)


class Found:
    """A transcript that lies in an agent's usual place. ``changed`` in seconds since the epoch."""

    __slots__ = ("agent", "changed", "path", "size")

    def __init__(self, agent: str, path: Path, changed: float, size: int) -> None:
        self.agent = agent
        self.path = path
        self.changed = changed
        self.size = size


def find(
    environ: Mapping[str, str] | None = None, home: Path | None = None, cwd: Path | None = None
) -> list[Found]:
    """The transcripts in the usual places, the newest first. Reads no file."""
    env = os.environ if environ is None else environ
    home = home or Path.home()
    found: dict[Path, Found] = {}
    for agent, path in _candidates(env, home, cwd or Path.cwd()):
        try:
            about = path.stat()
        except OSError:
            continue
        if about.st_size:
            found.setdefault(path, Found(agent, path, about.st_mtime, about.st_size))
    return sorted(found.values(), key=lambda f: (-f.changed, str(f.path)))


def _candidates(env: Mapping[str, str], home: Path, cwd: Path) -> Iterator[tuple[str, Path]]:
    for agent, variable, folder, patterns in _HOMES:
        base = Path(env[variable]).expanduser() if env.get(variable) else home / folder
        for pattern in patterns:
            yield from ((agent, p) for p in _matches(base, pattern))
    for agent, variable, patterns in _HERE:
        named = env.get(variable)
        if named and "://" not in named:
            for ending in ("*.eval", "*.json"):
                yield from ((agent, p) for p in _matches(Path(named).expanduser(), ending))
        for pattern in patterns:
            yield from ((agent, p) for p in _matches(cwd, pattern))


def _matches(base: Path, pattern: str) -> list[Path]:
    try:
        return list(base.glob(pattern)) if base.is_dir() else []
    except OSError:
        return []
