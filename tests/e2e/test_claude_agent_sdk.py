"""The Claude Agent SDK with our hooks in its process: the real Claude Code, a scripted model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk", reason="claude-agent-sdk is not installed")

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, HookMatcher
from inprocess import Desk
from servers.anthropic import AnthropicServer
from servers.loopback import Received, ToolUse, repeat

from loopguard_core.agents.claude_agent_sdk import LoopGuard

LOOK = ToolUse("Bash", {"command": "cat nope.txt", "description": "read the file"})


def options(desk: Desk, folder: Path, url: str, own: Any = None, **settings: Any) -> Any:
    env = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "scripted",
        "HOME": str(folder),
        "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }
    guard = LoopGuard(config=desk.config(**settings), store=desk.store)
    return ClaudeAgentOptions(
        cwd=folder,
        env=env,
        permission_mode="bypassPermissions",
        setting_sources=[],
        hooks=guard.hooks(own),
    )


def talk(given: Any, *prompts: str, between: Any = None) -> None:
    """Give Claude the prompts, one turn each; *between* runs after the first."""

    async def conversation() -> None:
        async with ClaudeSDKClient(given) as client:
            for number, prompt in enumerate(prompts):
                if number and between is not None:
                    await asyncio.to_thread(between, number)
                await client.query(prompt)
                async for _ in client.receive_response():
                    pass

    asyncio.run(asyncio.wait_for(conversation(), 120))


def seen(model: AnthropicServer) -> list[Received]:
    assert not model.errors, model.errors
    return model.agent_requests("Bash")


def test_it_is_warned_blocked_and_halted(desk: Desk, tmp_path: Path) -> None:
    own: list[str] = []

    async def mine(data: Any, tool_use_id: Any, context: Any) -> dict[str, Any]:
        own.append(data["tool_name"])
        return {}

    with AnthropicServer(repeat(LOOK, 9)) as model:
        hooks = {"PreToolUse": [HookMatcher(hooks=[mine])]}
        talk(options(desk, tmp_path, model.url, hooks), "read the file")
    got = [r.latest for r in seen(model)]
    assert "No such file" in got[1] and "loopguard" not in got[1]
    assert "No such file" in got[2] and "[loopguard]" in got[2]
    assert "not run" in got[3] and len(got) == 4
    assert own == ["Bash"] * 4, "the program's own hooks are kept"
    assert desk.outcomes() == ["error", "error", "blocked", "blocked"]


@pytest.mark.parametrize("word", ["approve", "modify"])
def test_a_human_elsewhere_lets_one_call_through(desk: Desk, tmp_path: Path, word: str) -> None:
    args = [{"command": "echo CHANGED", "description": "x"}] if word == "modify" else []
    with AnthropicServer(repeat(LOOK, 3)) as model, desk.human(word, *args):
        talk(options(desk, tmp_path, model.url, unattended_wait_seconds=40), "read the file")
    last = seen(model)[-1].latest
    assert ("CHANGED" if word == "modify" else "No such file") in last
    assert len(desk.outcomes()) == 3 and "blocked" not in desk.outcomes()


def test_a_halt_stops_it_and_resume_frees_it(desk: Desk, tmp_path: Path) -> None:
    def decide(number: int) -> None:
        session = desk.sessions()[0].session
        if number == 1:
            desk.decide("halt", session=session, scope="session", note="wait for me")
        else:
            desk.decide("resume", session)

    with AnthropicServer(repeat(LOOK, 1)) as model:
        given = options(desk, tmp_path, model.url)
        talk(given, "read the file", "go on", "and now", between=decide)
    assert desk.outcomes() == ["error", "blocked", "error"]
    assert any("wait for me" in result.text for result in seen(model)[-1].results)
