"""``install`` and ``uninstall`` through the command line: others' hooks stay, and everything can go back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loopguard_console.cli import main
from loopguard_console.install import INSTALLERS, installer
from loopguard_console.install.base import Place

OTHERS = """{
    "model": "opus",   "hooks": {"PreToolUse": [
        {"matcher": "Bash", "hooks": [{"type": "command", "command": "/usr/bin/lint --é"}]}
    ]},
    "permissions": {"allow": ["Bash(ls:*)"]}
}"""


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(argv))
    out, err = capsys.readouterr()
    return int(str(stop.value.code or 0)), out, err


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder, home = tmp_path / "project", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "LOOPGUARD_SESSION"):
        monkeypatch.delenv(name, raising=False)
    return folder


def settings(project: Path, text: str | None = None) -> Path:
    path = project / ".claude" / "settings.json"
    if text is not None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return path


def commands(path: Path, event: str) -> list[str]:
    hooks: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["hooks"]
    return [hook["command"] for group in hooks.get(event, []) for hook in group["hooks"]]


@pytest.mark.parametrize(
    "before", [None, "", "{}", "{}\n", OTHERS, OTHERS + "\n", '{"hooks": {"PreToolUse": []}}']
)
def test_uninstall_gives_the_file_back_byte_for_byte(
    project: Path, capsys: pytest.CaptureFixture[str], before: str | None
) -> None:
    path = settings(project, before)
    for _ in range(2):
        assert run(capsys, "install", "claude-code", "--project")[0] == 0
    assert len([c for c in commands(path, "PreToolUse") if "hook_launcher" in c]) == 1
    assert run(capsys, "uninstall", "claude-code", "--project")[0] == 0
    assert (path.read_text(encoding="utf-8") if path.exists() else None) == before
    assert [p.name for p in project.rglob("*") if p.is_file()] == (
        ["settings.json"] if before is not None else []
    )


def test_others_hooks_stay_and_later_changes_survive(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = settings(project, OTHERS)
    run(capsys, "install", "claude-code", "--project")
    assert commands(path, "PreToolUse")[0] == "/usr/bin/lint --é"
    changed = json.loads(path.read_text(encoding="utf-8"))
    changed["hooks"]["PreToolUse"][-1]["hooks"].append({"type": "command", "command": "mine"})
    changed["model"] = "sonnet"
    path.write_text(json.dumps(changed), encoding="utf-8")
    run(capsys, "uninstall", "claude-code", "--project")
    left = json.loads(path.read_text(encoding="utf-8"))
    assert left["model"] == "sonnet"
    assert commands(path, "PreToolUse") == ["/usr/bin/lint --é", "mine"]
    assert list(left["hooks"]) == ["PreToolUse"]


def test_the_hook_is_wired_for_every_event_with_a_time_limit(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "install", "claude-code", "--project")
    hooks = json.loads(settings(project).read_text(encoding="utf-8"))["hooks"]
    for event in (
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "UserPromptSubmit",
        "SessionStart",
        "SessionEnd",
    ):
        hook = hooks[event][0]["hooks"][0]
        assert f"--limit {hook['timeout']}" in hook["command"], event
    assert hooks["PreToolUse"][0]["hooks"][0]["onFailure"] == "block"


AGENTS = {
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "copilot": ".github/hooks/loopguard.json",
}


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("before", [None, '{"hooks":{}, "theme": "x"}'])
def test_every_agents_file_can_go_back(
    project: Path, capsys: pytest.CaptureFixture[str], agent: str, before: str | None
) -> None:
    path = project / AGENTS[agent]
    if before is not None:
        path.parent.mkdir(parents=True)
        path.write_text(before, encoding="utf-8")
    for _ in range(2):
        assert run(capsys, "install", agent, "--project")[0] == 0
        assert f"--agent {agent}" in path.read_text(encoding="utf-8")
    assert installer(agent).check(Place.here("project"))[0].ok
    assert run(capsys, "uninstall", agent, "--project")[0] == 0
    assert (path.read_text(encoding="utf-8") if path.exists() else None) == before
    assert installer(agent).check(Place.here("project")) == []


@pytest.mark.parametrize("agent", INSTALLERS)
@pytest.mark.parametrize("scope", ["user", "project", "local"])
def test_folders_that_installing_made_go_again_and_others_stay(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    agent: str,
    scope: str,
) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "HERMES_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    if scope not in installer(agent).scopes:
        pytest.skip("this agent has no such scope")
    root = project.parent
    (project / ".claude").mkdir()
    (root / "home" / ".config").mkdir()
    if agent == "hermes":  # it has to be there before us
        (root / "home" / ".hermes").mkdir()
        (root / "home" / ".hermes" / "config.yaml").write_text("x: 1\n")
    before = sorted(root.rglob("*"))
    for _ in range(2):
        assert run(capsys, "install", agent, f"--{scope}")[0] == 0
    assert sorted(root.rglob("*")) != before
    assert run(capsys, "uninstall", agent, f"--{scope}")[0] == 0
    assert sorted(root.rglob("*")) == before


def test_a_folder_into_which_somebody_put_something_stays(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for scope in ("--project", "--local"):
        run(capsys, "install", "claude-code", scope)
    run(capsys, "uninstall", "claude-code", "--project")
    assert (project / ".claude" / "settings.local.json").exists()
    run(capsys, "uninstall", "claude-code", "--local")
    assert not (project / ".claude").exists()
    run(capsys, "install", "claude-code", "--project")
    (project / ".claude" / "mine").touch()
    run(capsys, "uninstall", "claude-code", "--project")
    assert [f.name for f in (project / ".claude").iterdir()] == ["mine"]


def test_uninstall_says_where_the_agent_is_still_connected(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for scope in ("--user", "--local"):
        run(capsys, "install", "claude-code", scope)
    still = "claude-code is still connected with --local: loopguard-console uninstall claude-code --local"
    for said in ("is not connected any more", "is not connected there (--user)"):
        _, out, _ = run(capsys, "uninstall", "claude-code")
        assert said in out and still in out and out.count("still") == 1
    _, out, _ = run(capsys, "uninstall", "claude-code", "--local")
    assert "still" not in out


@pytest.mark.parametrize("scope", ["--user", "--project"])
def test_opencodes_plugin_comes_and_goes(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    scope: str,
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    home = project.parent / "home" / ".config" / "opencode"
    path = (home if scope == "--user" else project / ".opencode") / "plugin" / "loopguard.js"
    for _ in range(2):
        assert run(capsys, "install", "opencode", scope)[0] == 0
    plugin = path.read_text(encoding="utf-8")
    assert "hook_launcher.py" in plugin and '"--agent", "opencode"' in plugin
    assert "/*HOOK*/" not in plugin
    assert installer("opencode").check(Place.here(scope[2:]))[0].ok
    assert run(capsys, "uninstall", "opencode", scope)[0] == 0
    assert not path.exists()


def test_trap_9_each_agent_has_its_own_unit_of_time(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for agent in AGENTS:
        run(capsys, "install", agent, "--project")
    found = {
        agent: json.loads((project / path).read_text())["hooks"] for agent, path in AGENTS.items()
    }
    assert found["codex"]["PreToolUse"][0]["hooks"][0]["timeout"] == 600
    assert found["codex"]["SessionEnd"][0]["hooks"][0]["timeout"] == 3
    assert found["gemini"]["BeforeTool"][0]["hooks"][0]["timeout"] == 600_000
    assert found["copilot"]["preToolUse"][0]["timeoutSec"] == 600
    assert "--event preToolUse" in found["copilot"]["preToolUse"][0]["bash"]


def test_a_dry_run_shows_the_change_and_makes_none(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = settings(project, OTHERS)
    code, out, _ = run(capsys, "install", "claude-code", "--project", "--dry-run")
    assert code == 0
    assert "+" in out and "hook_launcher" in out
    assert path.read_text(encoding="utf-8") == OTHERS
    assert list(path.parent.iterdir()) == [path]


def test_the_user_scope_and_a_link_are_respected(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real = project.parent / "dotfiles.json"
    real.write_text("{}", encoding="utf-8")
    link = project.parent / "home" / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    run(capsys, "install", "claude-code", "--user")
    assert link.is_symlink()
    assert commands(real, "SessionStart")
    run(capsys, "uninstall", "claude-code", "--user")
    assert real.read_text(encoding="utf-8") == "{}"


@pytest.mark.parametrize(
    "broken", ["{", "[]", '{"hooks": []}', '{"hooks": {"PreToolUse": 3}}', "\x00\xff"]
)
def test_a_file_that_cannot_be_read_is_left_alone(
    project: Path, capsys: pytest.CaptureFixture[str], broken: str
) -> None:
    path = settings(project, broken)
    code, out, err = run(capsys, "install", "claude-code", "--project")
    assert code == 2
    assert str(path) in err and err.count("\n") == 1 and not out
    assert path.read_text(encoding="utf-8") == broken


def test_wrong_usage_is_one_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "install", "claude-code", "--user", "--project")[0] == 2
    code, _, err = run(capsys, "install", "clippy")
    assert code == 2
    assert "clippy" in err and "claude-code" in err
    assert (
        run(capsys, "uninstall", "claude-code")[1].strip()
        == "claude-code is not connected there (--user)."
    )
