"""Every hint names the key that is in force: where a person chose other keys, no usual one is named."""

from __future__ import annotations

import ast
import asyncio
import json
import re
from pathlib import Path

import pytest
from textual.pilot import Pilot

import loopguard_console
from console_scene import Nobody, live
from driving import recording
from loopguard_console.app import ConsoleApp
from loopguard_console.keys import arming
from loopguard_console.keys.actions import ACTIONS, BY_ID, actions_of
from loopguard_console.keys.keynames import USUAL, KeyNames
from loopguard_console.remembered import Remembered

SOURCE = Path(loopguard_console.__file__).parent
#: What a hint says of a key. Keys of one screen alone, such as ``d`` in the list of overrides, cannot be chosen.
_DOES = (
    "adds again bookmarks brings changes chooses choose clears counts deletes does ends finds follows goes "
    "keeps lets lists marks moves opens plays puts refuses resumes rings runs sets shows sorts steps stops takes "
    "turns undoes writes"
)
_NAMED = re.compile(
    rf"(?:^|[\s(:;.])(?P<key>[A-Za-z\[\]/?;!&'<>]|Space)(?: and \S)? (?:{'|'.join(_DOES.split())})\b"
)
_OWN = {"whatif.py": {"w", "t", "j", "k"}, "grants.py": {"d"}, "help.py": {"w", "j", "k"}}
#: One action, one key that no action has by itself.
CHOSEN = {action.id: f"ctrl+f{number}" for number, action in enumerate(ACTIONS, 1)}


def words(path: Path) -> list[str]:
    """The texts in a module that a person may read: all but docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    docs = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docs
    ]


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE))
)
def test_no_text_names_a_key_by_itself(path: Path) -> None:
    own = _OWN.get(path.name, set())
    found = [text for text in words(path) for key in _NAMED.finditer(text) if key["key"] not in own]
    assert found == [] or path.name == "actions.py"


def test_the_name_of_a_key_is_the_chosen_one_else_the_usual() -> None:
    names = KeyNames({"approve": "V", "deny": "n, ctrl+n"})
    assert [names.of(a) for a in ("approve", "deny", "reset")] == ["V", "n", "r"]
    assert names.say("{approve} runs it, {back} and {step} step") == "V runs it, [ and ] step"
    assert names.raw("approve", "deny", "down") == {"V", "n", "ctrl+n", "j", "down"}
    assert USUAL.say("{help} {search} {play}") == "? / Space"


def chosen(app: ConsoleApp, kept: Path) -> ConsoleApp:
    """The same console for somebody who chose a key of their own for each action."""
    kept.write_text(json.dumps({"keys": CHOSEN}))
    return ConsoleApp(app.desk, source="store", decider=app.decider, remembered=Remembered(kept))


@pytest.mark.slow
@pytest.mark.parametrize("where", ["live", "replay"])
def test_what_a_key_says_names_only_keys_in_force(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arming, "ON_SCREEN", -600.0)
    said: list[str] = []
    made = live(Nobody()) if where == "live" else recording()
    made.desk.waiting = []
    app = chosen(made, tmp_path / "console.json")
    monkeypatch.setattr(app, "notify", lambda text, **more: said.append(text))
    skipped = {"quit", "suspend_process", "pager", "command_palette"}

    async def press(pilot: Pilot[None]) -> None:
        for action in actions_of("main", "live", "replay"):
            if action.id in skipped:
                continue
            await app.run_action(f"screen.{action.id}", app)
            await pilot.pause()
            if len(app.screen_stack) > 2:
                await pilot.press("escape")
                await pilot.pause()

    async def run() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            await press(pilot)
            shown = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
            said.extend(shown.splitlines())

    asyncio.run(run())
    named = [text for text in said if "^F" in text]
    assert len(named) > 3
    assert [
        text for text in said if "{" in text and "}" in text and any(n in text for n in BY_ID)
    ] == []
    assert [text for text in named if _NAMED.search(text)] == []
