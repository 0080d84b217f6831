"""``run``: real command-line agents that are connected for one run and keep their configuration."""

from __future__ import annotations

from pathlib import Path

from command_line import LOOK, ClaudeCode, Codex, CommandLine, Copilot, OpenCode, each
from servers.loopback import repeat

from processes import CONSOLE, environment


def everything(*folders: Path) -> dict[str, str]:
    """The configuration files below *folders*, with their content."""
    kept = ("settings.json", "hooks.json", "config.toml", "config.json", "opencode.json")
    return {
        str(p): p.read_text(encoding="utf-8")
        for folder in folders
        for p in folder.rglob("*")
        if p.name in kept and ".local" not in p.parts
    }


@each(ClaudeCode, Codex, Copilot, OpenCode)
def test_it_is_guarded_for_one_run_and_keeps_its_configuration(
    kind: type[CommandLine], tmp_path: Path
) -> None:
    with kind(tmp_path, repeat(kind.shell(LOOK), 5), connected=False) as agent:
        bench = agent.bench
        before = everything(bench.home, bench.project)
        argv = [*CONSOLE, "run", "--", *agent.argv("please read the file")]
        done = bench.run(argv, {"PYTHONPATH": environment()["PYTHONPATH"]}, timeout=120)
    assert not agent.model.errors, agent.model.errors
    assert "is guarded; watch it with: loopguard-console" in done.stderr, done.stderr
    after = everything(bench.home, bench.project)
    assert {p: t for p, t in after.items() if p in before} == before
    assert not any("hook_launcher" in text for text in after.values())
    got = [r.latest for r in agent.model.received if agent.offers(r)]
    assert "[loopguard]" in got[2] and "No such file" in got[2]
    assert "not run" in got[3] and "No such file" not in got[3]
    tiers = [e.data["verdict"]["tier"] for e in bench.events() if e.type == "call_start"]
    assert tiers[2:4] == ["block", "halt"]
    assert bench.outcomes()[:4] == [kind.failed] * 2 + ["blocked"] * 2
