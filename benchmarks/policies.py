"""What judging a call costs, against the algorithm of the hermes skill document written anew.

Run by hand: ``PYTHONPATH=core python benchmarks/policies.py [--quick] [--fresh]``. Prints Markdown tables of ratios
(ours / naive), measured in the same run in CPU time, so that a busy machine disturbs both alike. Ours is
everything that a guard does of a call in memory: the records of the ``exact`` identity and of the policy,
``peek``, ``start`` and ``end``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from loopguard_core.identity import Digester, ExactScheme, Payload
from loopguard_core.policies.base import Call, Outcome, Policy
from loopguard_core.policies.registry import create, names
from loopguard_core.traits import TraitTable

ARGS = (100, 1_000, 10_000, 100_000)
RESULTS = (1_000, 100_000, 1_000_000)
TOOL = "read_file"
KINDS = ("repeats", "is new", "almost repeats")


class Naive:
    """The printed algorithm: arguments hashed before and after, the result of a read hashed after."""

    def __init__(self) -> None:
        self.failures: dict[str, int] = {}
        self.tools: dict[str, int] = {}
        self.results: dict[str, tuple[int, str]] = {}

    def key(self, tool: str, args: Any) -> str:
        text = json.dumps(args, sort_keys=True, ensure_ascii=False)
        return f"{tool}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def judge(self, tool: str, args: Any, result: str) -> str:
        key = self.key(tool, args)
        if self.failures.get(key, 0) >= 5 or self.tools.get(tool, 0) >= 8:
            return "block"
        key = self.key(tool, args)
        digest = hashlib.sha256(result.encode()).hexdigest()[:16]
        count, before = self.results.get(key, (0, ""))
        count = count + 1 if digest == before else 0
        self.results[key] = (count, digest)
        return "warn" if count >= 2 else "allow"


class Ours:
    """One of our policies with the records that a guard takes of a call."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.digester = Digester(b"key of the machine")
        self.table = TraitTable()
        self.schemes = (ExactScheme(), *policy.schemes)
        self.calls = 0

    def judge(self, tool: str, args: Any, result: str) -> None:
        self.calls += 1
        traits = self.table.of(tool)
        asked = Payload(args, self.digester)
        records = {s.name: s.request(tool, asked, traits) for s in self.schemes}
        call = Call(str(self.calls), tool, records, "", "", float(self.calls), 1.0)
        policy = self.policy
        policy.peek(call)
        policy.start(call)
        got = Payload(result, self.digester)
        ended = {
            s.name: s.outcome(tool, asked, got, True, traits, records[s.name]) for s in self.schemes
        }
        policy.end(call, Outcome("ok", ended, float(self.calls)))


def arguments(size: int) -> dict[str, Any]:
    """Arguments of about *size* bytes of JSON: a path, a few numbers, and lines of text."""
    args: dict[str, Any] = {"path": "/srv/app/main.py", "limit": 50, "flags": {"deep": True}}
    lines = max(0, (size - len(json.dumps(args)) - 14) // 60)
    args["lines"] = [f"{n:06} the quick brown fox jumps over the lazy do" for n in range(lines)]
    return args


def results(size: int, kind: str, count: int) -> list[str]:
    """*count* results of *size* letters, each an object of its own."""
    line = "12:00:00 worker 7 finished chunk 0x3fa9 of /var/data/in.csv with status ok\n"
    body = (line * (size // len(line) + 1))[: size - 20]
    made = []
    for n in range(count):
        if kind == "is new":
            made.append(f"{n * 7919:019}\n" + body.replace("chunk", f"chunk{n:03}")[: size - 20])
        elif kind == "almost repeats":
            made.append(f"{body}\nat 12:00:{n % 60:02} pid {1000 + n:05}"[-size:])
        else:
            made.append(body + "\n" + "x" * 19)
    return made


def cost(judge: Callable[[str, Any, str], Any], args: list[Any], answers: list[str]) -> float:
    """CPU nanoseconds a call."""
    start = time.thread_time_ns()
    for one, answer in zip(args, answers, strict=True):
        judge(TOOL, one, answer)
    return (time.thread_time_ns() - start) / len(answers)


def ratio(
    name: str, args_size: int, result_size: int, kind: str, rounds: int, fresh: bool = False
) -> float:
    """Ours over naive: the median of *rounds*, each measured one after the other.

    *fresh*: no two calls have the same arguments.
    """
    count = max(4, min(200, 2_000_000 // (args_size * 4 + result_size)))
    found = []
    for _ in range(rounds):
        args = [arguments(args_size) for _ in range(count)]
        if fresh:
            args = [{**one, "path": f"/srv/app/main{n}.py"} for n, one in enumerate(args)]
        naive, ours = Naive(), Ours(create(name))
        first = results(result_size, kind, count)
        second = results(result_size, kind, count)  # objects that nobody has hashed yet
        found.append((cost(ours.judge, args, second), cost(naive.judge, args, first)))
    return statistics.median(ours for ours, _ in found) / statistics.median(n for _, n in found)


def tables(policies: list[str], rounds: int, fresh: bool) -> Iterator[str]:
    """The tables, line by line."""
    for name in policies:
        yield f"\n### `{name}`\n"
        yield "| the result | arguments | " + " | ".join(f"{r:,} B" for r in RESULTS) + " |"
        yield "|---|---|" + "---|" * len(RESULTS)
        for kind in ("is new",) if fresh else KINDS:
            every = []
            for size in ARGS:
                row = [ratio(name, size, result, kind, rounds, fresh) for result in RESULTS]
                every += row
                cells = " | ".join(f"{value:.2f}" for value in row)
                yield f"| {kind} | {size:,} B | {cells} |"
            yield f"| {kind} | **median** | **{statistics.median(every):.2f}** |" + " |" * (
                len(RESULTS) - 1
            )


def window(rounds: int) -> Iterator[str]:
    """The cost of a call at a window of 100,000 over that at 10, windows filled."""

    def full(size: int) -> tuple[Callable[[str, Any, str], Any], list[Any]]:
        ours = Ours(create("tool-loop-guard", {"window": size, "threshold": size}))
        filler = [{"path": f"/f{n}"} for n in range(size)]
        for args in filler:
            ours.judge(TOOL, args, "r")
        return ours.judge, [{"path": f"/g{n}"} for n in range(2_000)]

    costs: dict[int, float] = {}
    for size in (10, 100_000):
        judge, args = full(size)
        costs[size] = min(cost(judge, args, ["r"] * len(args)) for _ in range(rounds))
    yield f"\nWindow of 100,000 calls over a window of 10: {costs[100_000] / costs[10]:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--fresh", action="store_true", help="other arguments in each call")
    parser.add_argument("--policy", action="append", help="only this one; may be repeated")
    given = parser.parse_args()
    rounds = 3 if given.quick else 9
    for line in tables(given.policy or names(), rounds, given.fresh):
        print(line, flush=True)
    for line in window(rounds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
