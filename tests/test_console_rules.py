"""Rules written from a call: the file says what it said before, and the rule."""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopguard_console.rules import Rule, RuleError, propose, rules_for, write
from loopguard_core.config import load_config
from test_console_replay import recording

POLLS = Rule("polls", "poller", True)
IGNORE = Rule("ignore", "ignored_fields", ["why"])


def test_a_new_file_is_written_and_taken_back(tmp_path: Path) -> None:
    edit = propose(str(tmp_path), "search", POLLS)
    assert edit.before is None and "+poller = true" in edit.diff()
    undo = write(edit)
    assert load_config(str(tmp_path)).trait_table().of("search").poller is True
    write(undo)
    assert not (tmp_path / "loopguard.toml").exists()


def test_comments_order_and_other_tables_stay(tmp_path: Path) -> None:
    path = tmp_path / "loopguard.toml"
    text = '# mine\nmode = "ask"\n\n[tools.search] # busy\nignored_fields = ["a"]\n\n[tools.other]\npoller = true\n'
    path.write_text(text)
    path.chmod(0o640)
    write(propose(str(tmp_path), "search", IGNORE))
    undo = write(propose(str(tmp_path), "search", POLLS))
    now = path.read_text()
    assert now == text.replace('["a"]', '["a", "why"]').replace(
        "# busy\n", "# busy\npoller = true\n"
    )
    assert path.stat().st_mode & 0o777 == 0o640
    write(undo)
    assert "poller" not in path.read_text().split("[tools.other]")[0]


def test_pyproject_is_used_where_it_holds_the_settings(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[project]\nname = "x"\n\n[tool.loopguard]\nmode = "ask"\n')
    write(propose(str(tmp_path), "my tool", POLLS))
    found = tomllib.loads(path.read_text())
    assert found["tool"]["loopguard"]["tools"] == {"my tool": {"poller": True}}
    assert found["project"] == {"name": "x"}


@pytest.mark.parametrize(
    "text",
    [
        "tools = {search = {readonly = true}}\n",
        "not toml",
        '[tools.search]\npoller = """\nx\n"""\n',
    ],
)
def test_what_only_a_person_can_change_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "loopguard.toml"
    path.write_text(text)
    with pytest.raises(RuleError):
        write(propose(str(tmp_path), "search", POLLS))
    assert path.read_text() == text


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    edit = propose(str(tmp_path), "search", POLLS)
    (tmp_path / "loopguard.toml").write_text("# somebody was faster\n")
    with pytest.raises(RuleError, match="changed meanwhile"):
        write(edit)


@given(st.text(max_size=12), st.text(min_size=1, max_size=12))
def test_any_tool_and_field_can_be_named(
    tmp_path_factory: pytest.TempPathFactory, tool: str, field: str
) -> None:
    folder = tmp_path_factory.mktemp("rule")
    rule = next(r for r in rules_for(tool, {field: 1}) if r.key == "ignored_fields")
    write(propose(str(folder), tool, rule))
    found = tomllib.loads((folder / "loopguard.toml").read_text("utf-8"))
    assert found == {"tools": {tool: {"ignored_fields": [field]}}}


def test_from_the_card_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def run() -> None:
        app = recording()
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            await pilot.press("e", "c", "enter")
            assert not (tmp_path / "loopguard.toml").exists()
            await pilot.press("enter")
            assert "[tools.search]" in (tmp_path / "loopguard.toml").read_text()
            await pilot.press("U")
            assert not (tmp_path / "loopguard.toml").exists()

    asyncio.run(run())
