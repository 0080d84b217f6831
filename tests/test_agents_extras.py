"""Each framework's adapter stands alone: without its framework it says which extra brings it."""

from __future__ import annotations

import importlib
import importlib.util

import pytest

ADAPTERS = {
    "langchain": ("langchain", "langchain"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
    "openai_agents": ("agents.tool_guardrails", "openai-agents"),
    "claude_agent_sdk": ("claude_agent_sdk", "claude-agent-sdk"),
}


@pytest.mark.parametrize("module", ADAPTERS)
def test_without_its_framework_an_adapter_names_its_extra(module: str) -> None:
    library, extra = ADAPTERS[module]
    if importlib.util.find_spec(library.partition(".")[0]) is not None:
        pytest.skip(f"{library} is installed")
    with pytest.raises(ImportError, match=rf"`pip install {extra}` brings it"):
        importlib.import_module(f"loopguard_core.agents.{module}")
