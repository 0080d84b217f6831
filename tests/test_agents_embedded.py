"""What the adapters of frameworks share: a run never fails over the guard's own files."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopguard_core.agents.embedded import Sessions


@pytest.mark.parametrize(
    ("text", "why"), [("mode = 3\n", "mode is one of"), ("mode =", "is not TOML")]
)
def test_a_wrong_file_is_said_and_the_defaults_hold(
    text: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LOOPGUARD_STORE", str(tmp_path / "events.db"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loopguard.toml").write_text(text)
    sessions = Sessions("tester")
    guarded = sessions.get("one")
    guarded.turn("go")
    assert guarded.before("search", {"q": 1}, "c1").run
    assert guarded.live.config.mode == "ask"
    sessions.close()
    (line,) = capsys.readouterr().err.splitlines()
    assert why in line and "the defaults hold" in line
