"""The door: any file, folder, glob; what cannot be opened is said in one line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import zstandard

from importing import DATA, calls, opened
from loopguard_core.events import decode, encode
from loopguard_core.importers import Unreadable, open_recordings, open_stream
from loopguard_core.importers.detect import importers


def test_our_own_lines_come_back_as_they_were() -> None:
    first, second = opened("ours.jsonl")
    assert [r.session for r, _ in (first, second)] == ["a", "b"]
    assert [o for _, _, o in calls(first[1])] == ["ok", "ok", "denied"]
    assert calls(second[1]) == [("ls", "-l", "error")]
    assert [e.seq for e in first[1]] == list(range(1, len(first[1]) + 1))
    assert any(e.type == "somebody_elses" and e.data["keep"] for e in first[1])


@pytest.mark.parametrize("name", ["ours.jsonl", "claude_code.jsonl", "claude_code_stream.jsonl"])
def test_export_and_import_give_the_same_events(name: str, tmp_path: Path) -> None:
    with open_stream(DATA / name) as stream:
        events = list(stream)
    out = tmp_path / "out.jsonl"
    out.write_text("".join(encode(e) + "\n" for e in events))
    with open_stream(out) as stream:
        again = list(stream)
    assert again == events
    assert [decode(encode(e)) for e in again] == events


def test_compressed_files_open(tmp_path: Path) -> None:
    raw = (DATA / "claude_code_stream.jsonl").read_bytes()
    want = [e for _, e in opened("claude_code_stream.jsonl")]
    packed = tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.zst"
    packed[0].write_bytes(gzip.compress(raw))
    packed[1].write_bytes(zstandard.compress(raw))
    for path in packed:
        assert [e for _, e in opened(path)] == want
    packed[0].write_bytes(gzip.compress(raw)[:-60])
    (recording, *_) = list(open_recordings(packed[0]))
    list(recording.events)
    assert "ends early" in " ".join(recording.report.lines_for_people())


def test_a_folder_opens_what_it_knows_and_names_the_rest(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "a.jsonl").write_bytes((DATA / "ours.jsonl").read_bytes())
    skipped: list[str] = []
    assert [r.session for r in open_recordings(tmp_path, skipped=skipped)] == ["a", "b"]
    assert len(skipped) == 1
    assert "notes.txt" in skipped[0]
    assert [r.session for r in open_recordings(tmp_path / "**" / "*.jsonl")] == ["a", "b"]


def test_what_is_no_transcript_is_said_in_one_line(tmp_path: Path) -> None:
    cases = {
        "empty.jsonl": b"",
        "blank.json": b"\n\n",
        "binary": b"\x7fELF\0\0\0\1",
        "prose.md": b"# Title\n\ntext\n",
        "other.json": b'{"a": 1}',
        "cut.json": b'[{"role": "user", "content": "hel',
        "pretty.json": b'{\n  "messages": [\n    {"role": "us',
        "deep.json": b"[" * 100_000,
    }
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(Unreadable) as caught:
            list(open_recordings(tmp_path / name))
        assert str(caught.value).startswith(f"{tmp_path / name}: ")
        assert "\n" not in str(caught.value)
    for path in (tmp_path / "missing.jsonl", tmp_path / "*.nothing"):
        with pytest.raises(Unreadable):
            list(open_recordings(path))
    (tmp_path / "none").mkdir()
    with pytest.raises(Unreadable, match="no transcript"):
        list(open_recordings(tmp_path / "none"))


def test_damaged_lines_are_counted_with_their_places(tmp_path: Path) -> None:
    lines = (DATA / "claude_code_stream.jsonl").read_bytes().splitlines(keepends=True)
    lines.insert(2, b'{"type":"assistant", broken\n')
    lines.insert(4, b"\xff\xfe not json\n")
    lines[-1] = lines[-1][:20]
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(b"".join(lines))
    (recording, events), *_ = opened(path)
    report = recording.report
    assert report.bad_lines == 3
    assert report.cut
    assert [n for n, _ in report.places] == [3, 5, 9]
    assert calls(events) == calls(opened("claude_code_stream.jsonl")[0][1])


def test_each_session_can_be_read_in_any_order() -> None:
    recordings = list(open_recordings(DATA / "ours.jsonl"))
    backwards = {r.session: [encode(e) for e in r.events] for r in reversed(recordings)}
    forwards = {r.session: [encode(e) for e in events] for r, events in opened("ours.jsonl")}
    assert backwards == forwards
    assert json.loads(backwards["b"][0])["session"] == "b"


def test_a_file_that_has_only_begun_is_no_error_but_is_said(tmp_path: Path) -> None:
    path = tmp_path / "begun.jsonl"
    path.write_bytes(b'{"type":"sess')
    skipped: list[str] = []
    assert list(open_recordings(path, skipped=skipped)) == []
    assert "no session" in skipped[0]


def test_folders_that_may_not_be_looked_into_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes((DATA / "ours.jsonl").read_bytes())
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0)
    try:
        assert [r.session for r in open_recordings(tmp_path)] == ["a", "b"]
    finally:
        closed.chmod(0o700)


def test_every_format_is_described_and_has_a_fixture() -> None:
    table = (Path(__file__).parents[1] / "docs" / "formats.md").read_text()
    found = {r.format for p in DATA.iterdir() if p.is_file() for r in open_recordings(p)}
    for importer in importers():
        assert f"| `{importer.name}` |" in table
        assert importer.name in found


def test_a_format_can_be_named_and_a_wrong_name_is_refused() -> None:
    with open_stream(DATA / "pi.jsonl", format="pi") as stream:
        assert stream.importer.name == "pi"
    with pytest.raises(Unreadable, match="no format is called 'nonsense'"):
        open_stream(DATA / "pi.jsonl", format="nonsense")
