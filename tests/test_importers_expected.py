"""Real recordings: every number that was counted independently comes out the same."""

from __future__ import annotations

import csv
from collections import defaultdict
from typing import Any

import pytest

from loopguard_core.importers import open_recordings
from loopguard_core.stats import SessionStats
from shared import SHARED

_TABLE = SHARED / "sessions" / "EXPECTED.tsv"


def _rows() -> dict[str, list[dict[str, str]]]:
    rows: dict[str, list[dict[str, str]]] = defaultdict(list)
    if _TABLE.exists():
        with _TABLE.open() as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                rows[row["file"].partition("#")[0]].append(row)
    return rows


_ROWS = _rows()


@pytest.mark.skipif(not _ROWS, reason="needs sessions/EXPECTED.tsv (LOOPGUARD_SHARED)")
@pytest.mark.parametrize("file", _ROWS)
def test_the_numbers_of_a_real_recording(file: str) -> None:
    counted: list[tuple[str, dict[str, Any]]] = []
    for recording in open_recordings(SHARED / "sessions" / file):
        stats = SessionStats().add_all(recording.events)
        numbers = stats.to_json(failures_known=recording.failures_known)
        numbers |= {"format": recording.format, "bad_lines": recording.report.bad_lines}
        counted.append((recording.part, numbers))
    for row in _ROWS[file]:
        part = row["file"].partition("#")[2]
        numbers = next(n for p, n in counted if not part or p == part)
        want = {k: v for k, v in row.items() if k != "file" and v != "-"}
        assert {k: str(numbers[k]) for k in want} == want
