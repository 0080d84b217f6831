"""The docs are true: links lead somewhere, every page is found from the README, every module named exists."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = (".", "docs", "benchmarks", "sample_sessions")
PAGES = sorted(page for folder in FOLDERS for page in (ROOT / folder).glob("*.md"))
#: where a name in the tables of the architecture may stand
ROOTS = (
    ROOT / "core" / "loopguard_core",
    *(
        ROOT / "core" / "loopguard_core" / name
        for name in ("store", "redaction", "recording", "session", "hook")
    ),
    ROOT / "console" / "loopguard_console",
    *(ROOT / "console" / "loopguard_console" / name for name in ("viewing", "inspector", "keys")),
)


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """The files that *page* links to, each with the heading it means."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if "://" not in target:
            path, _, heading = target.partition("#")
            yield (page.parent / path).resolve() if path else page, heading


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    found = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for path, heading in links(page):
        assert path.exists(), path
        assert not heading or heading in headings(path), heading


def test_every_page_is_found_from_the_readme() -> None:
    found = {ROOT / "README.md"}
    new = found
    while new:
        new = {path for page in new for path, _ in links(page) if path.suffix == ".md"} - found
        found |= new
    assert found >= set(PAGES)


def test_every_test_and_benchmark_that_the_docs_name_is_there() -> None:
    for page in PAGES:
        for name in re.findall(r"\b(?:test_\w+|benchmarks/\w+)\.py\b", page.read_text("utf-8")):
            assert list(ROOT.glob(name) if "/" in name else (ROOT / "tests").rglob(name)), name


def test_every_promise_of_reliability_is_shown_by_a_test_that_runs() -> None:
    text = (ROOT / "docs" / "reliability.md").read_text("utf-8")
    promises = re.findall(r"^\| (?!promise )(.+) \| (.+?) \|$", text, re.MULTILINE)
    assert len(promises) > 60
    for promise, shown_by in promises:
        names = re.findall(r"`(test_\w+\.py)`", shown_by)
        assert names or "`benchmarks/" in shown_by, promise
        for name in names:
            assert by_default(ROOT / "tests" / name), name


def by_default(path: Path) -> list[str]:
    """The tests of a file that a plain run of pytest does."""
    body = ast.parse(path.read_text("utf-8")).body
    found = [item for item in body if isinstance(item, ast.FunctionDef)]
    return [
        item.name
        for item in found
        if item.name.startswith("test_")
        and not any("mark.slow" in ast.unparse(mark) for mark in item.decorator_list)
    ]


def test_every_module_that_the_architecture_names_is_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    names = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert len(names) > 60
    for name in names:
        found = [root / name.rstrip("/") for root in ROOTS]
        assert any(path.with_suffix(".py").exists() or path.is_dir() for path in found), name


def test_the_architecture_names_every_module_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    inside = [c for c in contracts["contracts"] if "containers" in c]
    layers = {name for c in inside for layer in c["layers"] for name in re.split(r" [|:] ", layer)}
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    assert not {name for name in layers if f"`{name}`" not in text and f"`{name}/`" not in text}
