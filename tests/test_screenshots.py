"""The pictures of the README: made from the samples by the real console."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from processes import environment

ROOT = Path(__file__).parents[1]
PICTURES = {
    "live": ("LIVE", "research", "waits", "approve"),
    "inbox": ("INBOX", "R1", "R2", "deny"),
    "replay": ("REPLAY", "research-loop", "step"),
}


def words(svg: Path) -> str:
    return "".join(ElementTree.fromstring(svg.read_text()).itertext()).replace("\xa0", " ")


@pytest.mark.slow
def test_the_script_makes_every_picture(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "screenshots" / "make.py"), str(tmp_path)],
        env=environment(HOME=str(tmp_path), TZ="Asia/Tokyo", TERM="dumb", NO_COLOR="1"),
        capture_output=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr.decode()
    for name, seen in PICTURES.items():
        text = words(tmp_path / f"{name}.svg")
        assert all(word in text for word in seen), (name, text)
    film = (tmp_path / "demo.svg").read_text()
    frames = film.count('<g class="f ')
    assert frames > 10
    assert film.count("@keyframes") == frames
    assert all(word in words(tmp_path / "demo.svg") for word in ("warns", "stopped", "Override"))
    for path in tmp_path.glob("*.svg"):
        assert "https://" not in path.read_text(), f"{path.name} would load something"


def test_every_picture_that_is_shown_is_there() -> None:
    readme = (ROOT / "README.md").read_text()
    shown = re.findall(r"!\[[^\]]+\]\((screenshots/[^)]+)\)", readme)
    assert shown
    for path in shown:
        assert (ROOT / path).is_file(), path
    for name in PICTURES:
        assert words(ROOT / "screenshots" / f"{name}.svg")
