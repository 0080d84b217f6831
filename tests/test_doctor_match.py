"""``doctor`` tells the truth of a ``match`` function that cannot be loaded where hooks and commands run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from processes import environment

#: As the installed command starts: nothing is imported from the folder in which it runs.
CONSOLE = (
    "import sys; sys.path.pop(0)\nfrom loopguard_console.entry import main\n"
    "sys.argv[0] = 'loopguard-console'; main()"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def faults(project: Path, settings: str) -> list[dict[str, Any]]:
    """What ``doctor`` finds wrong in *project* with such settings."""
    (project / "loopguard.toml").write_text(settings)
    done = subprocess.run(
        [sys.executable, "-c", CONSOLE, "doctor", "--json"],
        cwd=project,
        env=environment(HOME=str(project.parent), XDG_STATE_HOME=str(project.parent / "state")),
        capture_output=True,
        text=True,
        timeout=120,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.stderr == "" and len(found) > 4
    return [finding for finding in found if finding["state"] == "wrong"]


def settings(policy: str, place: str, used: str = "") -> str:
    return f'policy = "{used or policy}"\n[policies.{policy}.match]\nsearch = "{place}"\n'


@pytest.mark.parametrize("policy", ["graded", "progress"])
def test_a_module_beside_the_project_is_found_by_programs_alone(project: Path, policy: str) -> None:
    (project / "matching.py").write_text("def key(tool, args):\n    return args['q']\n")
    (found,) = faults(project, settings(policy, "matching:key"))
    assert "No module named 'matching'" in found["what"]
    assert "a program of yours finds matching beside it" in found["mend"]
    assert f"-m pip install {project}, not -e" in found["mend"]
    assert "mend that line" not in found["mend"]


@pytest.mark.parametrize(
    ("place", "mend"),
    [
        ("nowhere.matching:key", "install what has nowhere where this runs"),
        ("json:nothing", "mend that line, or the module that it names"),
        ("json", "mend that line"),
    ],
)
def test_what_else_keeps_a_function_from_being_loaded(project: Path, place: str, mend: str) -> None:
    (found,) = faults(project, settings("graded", place))
    assert found["area"] == "configuration" and found["mend"].startswith(mend)


def test_a_policy_that_is_not_in_use_is_no_fault(project: Path) -> None:
    assert faults(project, settings("graded", "nowhere:key", used="progress")) == []
