"""Which folders are listened to: those of the agents, never a whole home."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopguard_console.transcripts import folders, transcripts


def test_only_folders_with_transcripts_are_listened_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "tmp" / "sessions" / "projects" / "home"
    for name in (
        ".claude/projects/-home-you/s1.jsonl",
        ".claude/projects/-home-you/s1/subagents/agent-a1.jsonl",
        ".codex/sessions/2026/05/01/rollout-1.jsonl",
        ".codex/sessions/rollout-0.json",
        ".codex/archived_sessions/rollout-9.jsonl",
        ".gemini/tmp/p/chats/session-1.json",
        ".hermes/state.db",
        ".copilot/session-state/x/events.jsonl",
    ):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "HERMES_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    listened = [str(f.relative_to(home)) for f in folders(())]
    assert listened == [
        ".claude/projects",
        ".codex/archived_sessions",
        ".codex/sessions",
        ".gemini/tmp",
    ]
    found = sorted(str(f.path.relative_to(home)) for f in transcripts(()))
    assert ".hermes/state.db" in found and len(found) == 7
    assert ".claude/projects/-home-you/s1/subagents/agent-a1.jsonl" in found


def test_what_is_named_is_what_is_looked_at(tmp_path: Path) -> None:
    one = tmp_path / "logs" / "one.jsonl"
    one.parent.mkdir()
    one.write_text("{}")
    (tmp_path / "logs" / "agent-a.meta.json").write_text("{}")
    (tmp_path / "logs" / "notes.txt").write_text("-")
    assert folders([one]) == folders([one.parent]) == [one.parent]
    assert [f.path for f in transcripts([one.parent, one])] == [one]
    child = tmp_path / "logs" / "one" / "subagents" / "agent-a.jsonl"
    child.parent.mkdir(parents=True)
    child.write_text("{}")
    assert [f.path for f in transcripts([one])] == [one, child]
