"""Makes the recordings of other programs: the real tools, with models that follow a script.

Run by hand, each in an environment that has its packages:

    pip install inspect-ai mini-swe-agent pydantic-ai-slim opentelemetry-sdk
    python sample_sessions/foreign.py [inspect] [mini-swe-agent] [pydantic-ai]

No network, no keys. What tells of the machine (paths, variables, the host's name) is taken out.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SEARCHES = ["quantum computing"] * 5 + ["quantum error correction"] * 2
EMPTY = "no results"


def inspect() -> None:
    """Inspect's mock model searches in circles; the log is an archive."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import ToolError, tool

    @tool
    def search() -> Any:
        async def execute(query: str) -> str:
            """Search the web.

            Args:
                query: What to look for.
            """
            if "error" in query:
                raise ToolError("the index is not available")
            return EMPTY

        return execute

    import tiktoken

    class Letters:  # counting tokens would ask the network for a vocabulary
        def encode(self, text: str, **_: Any) -> list[int]:
            return [ord(letter) for letter in text]

    tiktoken.get_encoding = tiktoken.encoding_for_model = lambda *_: Letters()
    outputs = [ModelOutput.for_tool_call("mockllm", "search", {"query": q}) for q in SEARCHES]
    outputs.append(ModelOutput.from_content("mockllm", "I found nothing."))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sample = Sample(id="paper", input="find me a paper")
        task = Task(dataset=[sample], solver=[use_tools(search()), generate()], name="research")
        model = get_model("mockllm/model", custom_outputs=outputs)
        (log,) = eval(task, model=model, log_dir=folder, log_format="eval", display="none")
        made = Path(log.location)
        (HERE / "inspect-research.eval").write_bytes(made.read_bytes())


def mini_swe_agent() -> None:
    """mini-swe-agent's deterministic model runs one failing command again and again."""
    from minisweagent.agents.default import DefaultAgent
    from minisweagent.environments.local import LocalEnvironment
    from minisweagent.models.test_models import DeterministicToolcallModel, make_toolcall_output

    commands = ["ls", *["sh tests.sh"] * 4, "ls -a", "sh tests.sh"]
    commands.append("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
    outputs = [
        make_toolcall_output(
            "",
            [
                {
                    "id": f"call_{number}",
                    "type": "function",
                    "function": {"name": "bash", "arguments": json.dumps({"command": command})},
                }
            ],
            [{"command": command, "tool_call_id": f"call_{number}"}],
        )
        for number, command in enumerate(commands)
    ]
    with tempfile.TemporaryDirectory() as folder:
        agent = DefaultAgent(
            DeterministicToolcallModel(outputs=outputs),
            LocalEnvironment(cwd=folder),
            system_template="You use a shell.",
            instance_template="{{task}}",
            cost_limit=0,
        )
        agent.run("make the tests pass")
        made = json.dumps(agent.serialize(), indent=1).replace(folder, "/home/dev/app")
    trajectory = json.loads(made)
    trajectory["info"].get("config", {}).pop("model", None)
    (HERE / "mini-swe-agent-tests.traj.json").write_text(json.dumps(trajectory, indent=1) + "\n")


def pydantic_ai() -> None:
    """pydantic-ai's function model reads files that are not there; the spans are OpenTelemetry's."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from pydantic_ai import Agent, ModelRetry
    from pydantic_ai.agent import InstrumentationSettings
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    steps = [["notes.txt"], ["notes.txt"], ["notes.txt"], ["a.txt", "b.txt"], ["notes.txt"]]

    def script(messages: list[Any], info: Any) -> Any:
        done = sum(isinstance(m, ModelResponse) for m in messages)
        if done >= len(steps):
            return ModelResponse(parts=[TextPart("The notes are missing.")])
        calls = [
            ToolCallPart("read_file", {"path": path}, tool_call_id=f"call_{done}_{number}")
            for number, path in enumerate(steps[done])
        ]
        return ModelResponse(parts=calls)

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    settings = InstrumentationSettings(tracer_provider=provider, include_content=True)
    agent = Agent(FunctionModel(script), name="reader", retries=9)
    agent.instrument = settings

    @agent.tool_plain
    def read_file(path: str) -> str:
        """Read a file."""
        if path == "notes.txt":
            raise ModelRetry("notes.txt: no such file")
        return f"content of {path}"

    asyncio.run(agent.run("read my notes"))
    spans = [json.loads(span.to_json()) for span in exporter.get_finished_spans()]
    for span in spans:
        span.pop("resource", None)
        for event in span.get("events", []):
            event.get("attributes", {}).pop("exception.stacktrace", None)
    (HERE / "pydantic-ai-spans.json").write_text(json.dumps(spans, indent=1) + "\n")


MAKERS = {"inspect": inspect, "mini-swe-agent": mini_swe_agent, "pydantic-ai": pydantic_ai}

if __name__ == "__main__":
    for name in sys.argv[1:] or MAKERS:
        MAKERS[name]()
