"""What the scripted agents do: which tool they call, what it answers, how long they think."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Step:
    """One tool call and what the tool answers. ``pause``: seconds of thought before it."""

    tool: str
    args: dict[str, Any]
    result: str
    ok: bool = True
    pause: float = 1.0
    #: steps with the same message are requested together, in one assistant message
    message: str = ""


@dataclass(frozen=True)
class Story:
    """An agent's run: the person's message, the calls, and the guard's configuration."""

    name: str
    agent: str
    task: str
    steps: tuple[Step, ...]
    policy: str = ""
    options: dict[str, Any] = field(default_factory=dict)


SEARCHES = 34

_PAGE = (
    "Results 1-5 of about 84,100,000 for quantum computing\n"
    "1. Quantum computing - an overview of qubits, gates and error correction\n"
    "2. What is a quantum computer? Superposition and entanglement explained\n"
    "3. Quantum advantage: which problems are faster on quantum hardware\n"
    "4. A short history of quantum computing, 1980 to today\n"
    "5. Learning quantum programming: first circuits\n"
    "These results are a summary. Search for more information to learn more."
)


def _research() -> Iterator[Step]:
    yield Step("list_files", {"path": "."}, "notes.md\noutline.md", pause=0.8)
    yield Step("read_file", {"path": "outline.md"}, "1. Basics\n2. Hardware\n3. Outlook", pause=1.0)
    yield Step("search", {"query": "history of computing"}, _history(), pause=1.2)
    for number in range(SEARCHES):
        pause = 1.6 if number < 2 else 1.3
        yield Step("search", {"query": "quantum computing"}, _PAGE, pause=pause)


def _history() -> str:
    return (
        "Results 1-3 of about 2,310,000 for history of computing\n"
        "1. From the abacus to the transistor\n2. Early computers\n3. The integrated circuit"
    )


_COMMANDS = (
    ("npm test", "sh: 1: npm: not found"),
    ("npx jest", "sh: 1: npx: not found"),
    ("yarn test", "sh: 1: yarn: not found"),
    ("pnpm test", "sh: 1: pnpm: not found"),
    ("node_modules/.bin/jest", "sh: 1: node_modules/.bin/jest: not found"),
    ("node --test", "sh: 1: node: not found"),
    ("nvm use 22", "sh: 1: nvm: not found"),
    ("bun test", "sh: 1: bun: not found"),
    ("corepack enable", "sh: 1: corepack: not found"),
    ("deno test", "sh: 1: deno: not found"),
    ("/usr/local/bin/npm test", "sh: 1: /usr/local/bin/npm: not found"),
    ("make test", "make: *** No rule to make target 'test'.  Stop."),
)


def _failing() -> Iterator[Step]:
    yield Step("read_file", {"path": "package.json"}, '{"scripts": {"test": "jest"}}', pause=0.8)
    for command, answer in _COMMANDS:
        result = f"{answer}\nexit code {2 if command.startswith('make') else 127}"
        yield Step("terminal", {"command": command}, result, ok=False, pause=1.3)


STORIES: dict[str, Story] = {
    "research": Story(
        name="research",
        agent="researcher",
        task="Write me a short overview of quantum computing.",
        steps=tuple(_research()),
    ),
    "failing": Story(
        name="failing",
        agent="ci-fixer",
        task="Get the tests of this project to run.",
        steps=tuple(_failing()),
        policy="hermes",
        options={"hard_stop_enabled": True},
    ),
}
