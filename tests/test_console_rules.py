"""Rules written from a call: the file says what it said before, and the rule."""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driving import recording
from loopguard_console.guards import config_of
from loopguard_console.rules import Rule, RuleError, field_rules, propose, write
from loopguard_console.thresholds import rule_of, shown, thresholds_for
from loopguard_core.config import load_config
from loopguard_core.events import Event
from loopguard_core.policies import registry

POLLS = Rule("polls", {"poller": True})
IGNORE = Rule("ignore", {"ignored_fields": ["why"]})


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


def test_a_file_with_line_ends_of_windows_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "loopguard.toml"
    text = b'# mine\r\nmode = "ask"\r\n\r\n[tools.search]\r\nignored_fields = ["a"]\r\n'
    path.write_bytes(text)
    undo = write(propose(str(tmp_path), "search", POLLS))
    assert path.read_bytes() == text.replace(b"h]\r\n", b"h]\r\npoller = true\r\n")
    write(undo)
    assert path.read_bytes() == text


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
    rule = next(r for r in field_rules({field: 1}) if "ignored_fields" in r.values)
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


def test_thresholds_are_those_that_hold_and_only_what_changes_is_written(tmp_path: Path) -> None:
    path = tmp_path / "loopguard.toml"
    path.write_text("[policies.progress]\nblock_at = 9\n")
    (now,) = thresholds_for(str(tmp_path), "search")
    assert now.values == {"warn_at": 3, "block_at": 9, "halt_at": 16}
    edit = propose(str(tmp_path), "search", rule_of(now, {"warn_at": "4", "block_at": "9"}))
    undo = write(edit)
    assert path.read_text().endswith("\n[policies.progress.tools.search]\nwarn_at = 4\n")
    (then,) = thresholds_for(str(tmp_path), "search")
    assert then.values == {"warn_at": 4, "block_at": 9, "halt_at": 16}
    assert thresholds_for(str(tmp_path), "other")[0].values["warn_at"] == 3
    write(undo)
    assert path.read_text() == "[policies.progress]\nblock_at = 9\n"


@pytest.mark.parametrize("policy", registry.names())
def test_every_policy_takes_its_own_thresholds_for_a_tool(tmp_path: Path, policy: str) -> None:
    (tmp_path / "loopguard.toml").write_text(f'policy = "{policy}"\n')
    (now,) = thresholds_for(str(tmp_path), "a tool")
    higher = {
        name: [n + 1 for n in value] if isinstance(value, list) else value + 1
        for name, value in now.values.items()
    }
    typed = {name: shown(value) for name, value in higher.items()}
    write(propose(str(tmp_path), "a tool", rule_of(now, typed)))
    (then,) = thresholds_for(str(tmp_path), "a tool")
    assert then.values == higher


def test_of_several_policies_each_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "loopguard.toml").write_text('policy = ["default", "dsh"]\n')
    ours, dsh = thresholds_for(str(tmp_path), "t")
    write(propose(str(tmp_path), "t", rule_of(ours, {"warn_at": "5"})))
    write(propose(str(tmp_path), "t", rule_of(dsh, {"hardThreshold": "20"})))
    ours, dsh = thresholds_for(str(tmp_path), "t")
    assert (ours.values["warn_at"], dsh.values["hardThreshold"]) == (5, 20)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"block_at": "3"}, "no longer be valid: .*block_at 3 must lie above warn_at 3"),
        ({"block_at": "many"}, "block_at is a whole number, not many"),
        ({"block_at": ""}, "not nothing"),
        ({"block_at": "6, 7"}, "is a whole number"),
        ({"block_at": "6"}, "hold already"),
    ],
)
def test_a_threshold_that_cannot_be_meant_is_refused(
    tmp_path: Path, typed: dict[str, str], said: str
) -> None:
    (now,) = thresholds_for(str(tmp_path), "t")
    with pytest.raises(RuleError, match=said):
        propose(str(tmp_path), "t", rule_of(now, typed))


def test_the_policy_of_the_session_comes_before_that_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "loopguard.toml").write_text("[policies.graded.tools.t]\nhalt_at = 9\n")
    graded, ours = thresholds_for(str(tmp_path), "t", ["graded"])
    assert (graded.policy, graded.values["halt_at"], ours.policy) == ("graded", 9, "progress")
    with pytest.raises(RuleError, match="block_at 1 can never fire"):
        propose(str(tmp_path), "t", rule_of(graded, {"block_at": "1"}))


def test_no_function_of_a_project_is_loaded_for_a_rule(tmp_path: Path) -> None:
    text = 'policy = "tool-loop-guard"\n[policies.tool-loop-guard]\nkey_fn = "no.such:thing"\n'
    (tmp_path / "loopguard.toml").write_text(text)
    (now,) = thresholds_for(str(tmp_path), "t")
    write(propose(str(tmp_path), "t", rule_of(now, {"threshold": "4"})))
    assert "threshold = 4" in (tmp_path / "loopguard.toml").read_text()


def test_a_recording_brings_no_function_in() -> None:
    said = {"policies": {"tool-loop-guard": {"key_fn": "os:system", "match": {"t": "os:system"}}}}
    start = Event("session_start", "s", data={"policy": "tool-loop-guard", "settings": said})
    assert config_of(start).options == {"tool-loop-guard": {}}


def test_thresholds_from_the_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "loopguard.toml"

    async def run() -> None:
        app = recording()
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            await pilot.press("e", "c", "down", "down", "down", "down", "enter")
            await pilot.pause()
            await pilot.press("down", "end", "backspace", "2", "enter")
            await pilot.pause()
            says = str(app.screen.query_one("#says").render())
            assert "block_at 2 can never fire" in says
            await pilot.press("backspace", "3", "down", "end", "backspace", "9", "enter")
            await pilot.pause()
            assert not path.exists()
            await pilot.press("escape")
            await pilot.pause()
            await pilot.press("down", "down", "end", "backspace", "8", "enter", "enter")
            await pilot.pause()
            assert path.read_text() == "[policies.graded.tools.search]\nhalt_at = 8\n"
            await pilot.press("U")
            assert not path.exists()

    asyncio.run(run())


@pytest.mark.parametrize("policy", ["progress", "hermes"])
def test_what_is_said_of_a_rule_is_to_be_seen_at_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loopguard.toml").write_text(f'policy = "{policy}"\n')

    async def run() -> None:
        app = recording()
        async with app.run_test(size=(60, 16)) as pilot:

            def seen() -> bool:
                says, dialog = app.screen.query_one("#says"), app.screen.query_one("#dialog")
                return says.size.height > 0 and says.region.bottom < dialog.region.bottom

            await pilot.press("c")
            await pilot.pause()
            assert seen()
            await pilot.press(*["down"] * 5, "enter")
            await pilot.pause()
            assert seen()
            await pilot.press("x", "enter")
            await pilot.pause()
            assert seen() and "is a whole number" in str(app.screen.query_one("#says").render())

    asyncio.run(run())
