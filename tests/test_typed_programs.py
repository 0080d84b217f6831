"""A program of an author's own that uses what we offer is checked by ``mypy --strict`` without a complaint."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import loopguard_console
import loopguard_core
from processes import environment

PROGRAMS = Path(__file__).with_name("data") / "typed"


@pytest.mark.skipif(not importlib.util.find_spec("mypy"), reason="mypy is not installed")
def test_a_strict_program_finds_types_where_it_uses_ours(tmp_path: Path) -> None:
    """Both ways: a wrong use carries a ``type: ignore``, which strict mypy calls unused where it finds nothing."""
    env = environment()
    env["MYPYPATH"] = env.pop("PYTHONPATH")
    said = ("--config-file=", "--follow-imports=silent", "--no-error-summary", "--cache-dir")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *said, str(tmp_path), str(PROGRAMS)],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_the_packages_say_that_they_have_types() -> None:
    for package in (loopguard_core, loopguard_console):
        assert (Path(package.__path__[0]) / "py.typed").is_file()
