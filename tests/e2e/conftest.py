"""Real agents against scripted models on loopback. Each test skips where its agent is not installed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]


@pytest.fixture
def desk(tmp_path: Path) -> Any:
    """A store in the test's folder, and decisions made by other processes."""
    from inprocess import Desk

    return Desk(tmp_path)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--installed", action="store_true", help="the agent is here: a skip is a failure"
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    if not session.config.getoption("--installed", False) or reporter is None:
        return
    if session.exitstatus == pytest.ExitCode.OK and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.timeout(240))
