"""What a page shows to be pasted is understood: command lines, settings, imports."""

from __future__ import annotations

import ast
import re
import shlex
import textwrap
import tomllib
from pathlib import Path

import click
import pytest

from loopguard_console.cli import cli
from loopguard_core.config import Config

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "sample_sessions" / "README.md", *(ROOT / "docs").glob("*.md")]
NAME = "loopguard-console"


def spans(text: str) -> list[str]:
    """What a page shows as code: spans, and lines of blocks."""
    blocks = re.findall(r"^```.*?\n(.*?)^```", text, re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    lines += re.findall(r"^ {4,}(\S.*)$", text, re.M)
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return [*lines, *re.findall(r"`([^`\n]+)`", prose)]


def shown(page: Path) -> list[list[str]]:
    """The arguments of each command line of *page*, up to a pipe, a comment or the end of a shell's word."""
    found = []
    for span in spans(page.read_text("utf-8")):
        for tail in re.findall(rf"(?:^|[ /|(]){NAME}((?: [^|&#;]+)?)", span):
            words = shlex.split(re.sub(r"\)'$", "", tail))
            if words and re.match(r"[-a-z]", words[0]):
                found.append(words)
    return found


def understood(words: list[str]) -> None:
    """Raises ``click.UsageError`` where the program would not understand *words*."""
    context = click.Context(cli, info_name=NAME)
    name, command, args = cli.resolve_command(context, words[2 * (words[0] == "--store") :])
    assert name is not None and command is not None
    command.make_context(name, args, parent=context)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_line_of_a_page_is_understood(page: Path) -> None:
    for words in shown(page):
        try:
            understood(words)
        except click.exceptions.Exit:
            pass  # --help
        except click.MissingParameter as missing:
            assert len(words) == 1, f"{words}: {missing.format_message()}"  # it is only named
        except click.UsageError as error:
            pytest.fail(f"{NAME} {shlex.join(words)}: {error.format_message()}")


def test_the_pages_show_command_lines() -> None:
    assert sum(len(shown(page)) for page in PAGES) > 40
    with pytest.raises(click.UsageError):
        understood(["judge", "x.jsonl", "--polcy", "hermes"])


def blocks(page: Path, language: str) -> list[str]:
    return [
        textwrap.dedent(block)
        for block in re.findall(
            rf"^ *```{language}\n(.*?)^ *```", page.read_text("utf-8"), re.M | re.S
        )
    ]


def test_every_setting_that_a_page_shows_is_one() -> None:
    shown = [(page, block) for page in PAGES for block in blocks(page, "toml")]
    assert len(shown) > 3
    for page, block in shown:
        Config(tomllib.loads(block), str(page))


def test_what_a_page_imports_of_ours_is_there() -> None:
    found = 0
    for page in PAGES:
        for block in blocks(page, "python"):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                    "loopguard_"
                ):
                    source = ROOT / "core" / Path(*str(node.module).split("."))
                    text = source.with_suffix(".py").read_text("utf-8")
                    for name in node.names:
                        assert re.search(rf"\b(class {name.name}|{name.name})\b", text), name.name
                        found += 1
    assert found > 5
