"""Hermes' configuration is YAML: our line goes in and out, every other byte stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopguard_console.errors import Refused
from loopguard_console.install import installer
from loopguard_console.install.base import Place
from loopguard_console.install.files import carry_out
from loopguard_console.install.hermes import disable, enable

CONFIGS = {
    "empty": "",
    "no plugins": "model:\n  default: x  # mine\n",
    "a list": "plugins:\n  enabled:\n    - one\n    - two\nmodel: y\n",
    "a list at its parent's depth": "plugins:\n  enabled:\n  - one\nmodel: y\n",
    "an empty flow list": "a: b\nplugins:\n  enabled: []\n",
    "a flow list": "plugins:\n  disabled: [z]\n  enabled: [one, 'two']\nlast: 1\n",
    "no enabled": "plugins:\n  disabled:\n    - z\n# end\n",
    "nothing below": "plugins:\n",
}


@pytest.mark.parametrize("text", CONFIGS.values(), ids=CONFIGS)
def test_our_line_goes_in_and_out(text: str) -> None:
    enabled = enable(text, Path("config.yaml"))
    kept = [line for line in text.splitlines() if "enabled" not in line]
    assert [line for line in kept if line not in enabled.splitlines()] == []
    assert enabled.count("loopguard") == 1
    left = disable(enabled)
    assert "loopguard" not in left
    assert [line for line in text.splitlines() if line not in left.splitlines()] == []


def test_one_line_of_plugins_is_left_to_the_person() -> None:
    with pytest.raises(Refused, match="enabled"):
        enable("plugins: {enabled: [one]}\n", Path("config.yaml"))


@pytest.mark.parametrize("text", [None, *CONFIGS.values()])
def test_everything_can_go_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    place = Place("user", tmp_path, tmp_path)
    config = tmp_path / "config.yaml"
    if text is not None:
        config.write_text(text, encoding="utf-8")
    hermes = installer("hermes")
    for change in hermes.install(place):
        carry_out(change)
    assert hermes.install(place) == []
    assert [finding.ok for finding in hermes.check(place)] == [True]
    for change in hermes.uninstall(place):
        carry_out(change)
    assert (config.read_text(encoding="utf-8") if config.exists() else None) == text
    assert hermes.uninstall(place) == [] and hermes.check(place) == []
