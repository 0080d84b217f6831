"""Nobody is shown a password of a store's URL, however wrongly it was given."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from loopguard_core.urls import tells_password
from processes import environment

LOGINS = ["u:hunter2@127.0.0.1:1", "u:hunter/2@127.0.0.1:1"]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "loopguard_console", *words]
    env = environment(HOME=str(folder), XDG_STATE_HOME=str(folder / "state"))
    return subprocess.run(
        argv, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("login", LOGINS)
@pytest.mark.parametrize(
    "words", [["open"], ["import"], ["export", "-o"], ["--store"], ["forward", "a.db"]]
)
def test_what_takes_a_file_does_not_repeat_the_password(
    tmp_path: Path, words: list[str], login: str
) -> None:
    said = run(
        tmp_path,
        *words,
        f"postgresql://{login}/x",
        *(["sessions"] if words[0] == "--store" else []),
    )
    assert said.returncode in (1, 2)
    assert said.stderr.count("\n") == 1
    assert "hunter" not in said.stderr + said.stdout


@pytest.mark.parametrize("words", [["sessions"], ["pending"], ["import", "a.jsonl"]])
def test_a_store_in_the_settings_with_a_password_is_not_passed_over_for_the_default(
    tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "loopguard.toml").write_text(f'store = "postgresql://{LOGINS[1]}/x"\n')
    (tmp_path / "a.jsonl").write_text("{}\n")
    said = run(tmp_path, *words)
    assert said.returncode == 2
    assert "leave the password out of the URL" in said.stderr
    assert said.stderr.count("\n") == 1
    assert "hunter" not in said.stderr + said.stdout


def test_doctor_says_so_beside_everything_else(tmp_path: Path) -> None:
    (tmp_path / "loopguard.toml").write_text(f'store = "postgresql://{LOGINS[0]}/x"\n')
    said = run(tmp_path, "doctor")
    assert said.returncode == 1
    assert "leave the password out of the URL" in said.stdout
    assert "an approval reached the waiting agent" in said.stdout


def test_a_store_that_is_named_without_its_password_is_fine() -> None:
    assert tells_password("postgresql://u:p@h/d?sslmode=require")
    assert tells_password("postgres://h/d?password=p")
    assert tells_password("postgres://u:p/q@h/d")
    for named in (
        "postgresql://u@h/d?sslmode=require",
        "postgres://h/d?",
        "postgres://h:5432/d?user=a@b",
        "a.db",
    ):
        assert not tells_password(named)
