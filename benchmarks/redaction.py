"""What looking for secrets costs in texts that have none, in CPU time.

    PYTHONPATH=core python benchmarks/redaction.py [--against CORE]

Texts of 1 kB and 1 MB as agents have them. *CORE* is the folder ``core`` of another version: both are measured in
alternation, and the column is the median of the ratios.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from base64 import b64encode
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from random import Random

ROUNDS = 15
WORDS = (
    "the of and to in is that for it as was with be by on not he his but at are this have from or had an they which one you "
    "were all her she there would their we him been has when who will no more if out so up said what its about than into "
    "them can only other time new some could these two may first then do any like my now over such our man me even most "
    "made after also did many off before must well back through years much where your way down should because long each"
).split()

Redact = Callable[[str], str]


def samples() -> dict[str, str]:
    """Texts without a secret, 100 kB of each."""
    rng = Random(5)
    words = [rng.choice(WORDS) + "." * (rng.random() < 0.08) for _ in range(25_000)]
    here = sorted(Path(__file__).parent.glob("*.py"))
    log = (
        f"2026-11-30T16:{n % 60:02}:{rng.randrange(60):02}.{rng.randrange(1000):03}Z INFO worker-{n % 9} [pid={n}] "
        f"GET /api/v1/items/{n}?page={n % 7} 200 {rng.randrange(900)}ms host=web-{n % 5}.example.com"
        for n in range(1_000)
    )
    rows = [
        {"id": n, "name": f"part {n}", "created_at": "2026-11-30T16:00:00Z", "price": rng.random()}
        | {"at": {"is_active": True, "path": f"/usr/lib/python3/site-packages/x{n}.py"}}
        for n in range(600)
    ]
    texts = {
        "prose": " ".join(w.capitalize() if rng.random() < 0.08 else w for w in words),
        "small letters": " ".join(words).replace(".", ""),
        "code": "".join(file.read_text(encoding="utf-8") for file in here),
        "a log": "\n".join(log),
        "JSON": json.dumps(rows),
        "base64": b64encode(rng.randbytes(75_000)).decode(),
        "hex": rng.randbytes(50_000).hex(),
        "one letter": "x" * 100_000,
    }
    return {name: (sample * 3)[:100_000] for name, sample in texts.items()}


def redactor(core: str = "") -> Redact:
    """What takes secrets out, of the version in the folder *core* if one is given."""
    for name in [name for name in sys.modules if name.startswith("loopguard_core")]:
        del sys.modules[name]
    if core:
        sys.path.insert(0, core)
    try:
        made: Redact = import_module("loopguard_core.redaction.redact").Redactor(b"k" * 32)
    finally:
        if core:
            sys.path.remove(core)
    return made


def cost(redact: Redact, text: str, times: int) -> float:
    """Microseconds of CPU time."""
    began = time.process_time()
    for _ in range(times):
        redact(text)
    return (time.process_time() - began) / times * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", metavar="CORE", default="")
    against = parser.parse_args().against
    other = redactor(against) if against else None
    ours = redactor()  # the last one, since it loads some of its modules later
    print("| no secret in | 1 kB, µs | 1 MB, ms |" + (" ratios |" if other else ""))
    print("|---|---|---|" + ("---|" if other else ""))
    for name, sample in samples().items():
        cells, ratios = [], []
        for size, times in ((1_000, 1_000), (1_000_000, 1)):
            text = json.dumps({"result": (sample * 10)[:size]})
            taken: dict[bool, list[float]] = {True: [], False: []}
            for n in range(ROUNDS + 1):
                for mine in (True, False) if n % 2 else (False, True):
                    if mine or other:
                        taken[mine].append(
                            cost(ours if mine or other is None else other, text, times)
                        )
            del taken[True][0]
            cells.append(statistics.median(taken[True]) / (1 if size == 1_000 else 1_000))
            if other:
                pairs = zip(taken[True], taken[False][1:], strict=True)
                ratios.append(statistics.median(a / b for a, b in pairs))
        tail = " " + ", ".join(f"{ratio:.2f}" for ratio in ratios) + " |" if ratios else ""
        print(f"| {name} | {cells[0]:.1f} | {cells[1]:.1f} |{tail}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
