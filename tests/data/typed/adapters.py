"""What an author writes with the adapters of frameworks, as ``mypy --strict`` sees it. It is read and not run."""

from __future__ import annotations

from typing import assert_type

from loopguard_core.agents import claude_agent_sdk, langchain, openai_agents, pydantic_ai
from loopguard_core.agents.pydantic_ai import TurnHalted
from loopguard_core.config import Config, load_config
from loopguard_core.store.door import open_store

config = load_config("/tmp")
assert_type(config, Config)
store = open_store("events.db", create=False)

langchain.LoopGuard()
langchain.LoopGuard(config, store)
langchain.LoopGuard(store="events.db")  # type: ignore[arg-type]
pydantic_ai.LoopGuard(config=config, store=store)
pydantic_ai.LoopGuard("name")  # type: ignore[arg-type]
claude_agent_sdk.LoopGuard(config).hooks()
claude_agent_sdk.LoopGuard(store=store).hooks({"Stop": []})
claude_agent_sdk.LoopGuard().hooks([])  # type: ignore[arg-type]
openai_agents.LoopGuard("name", config=config, store=store).tools([])
openai_agents.LoopGuard().tools(3)  # type: ignore[arg-type]
openai_agents.LoopGuard(3)  # type: ignore[arg-type]


def message(halted: TurnHalted) -> str:
    return halted.message
