"""Another policy for good: a recording judged with it, a project that is guarded by it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from textual.pilot import Pilot

import console_scene
from console_scene import Nobody
from driving import carried, cursor, drive, loop
from loopguard_console import rules
from loopguard_console.app import ConsoleApp
from loopguard_console.opening import replay_app, stored_app
from loopguard_console.rules import RuleError, propose_policy
from loopguard_console.screens.whatif import WhatIf
from loopguard_console.whatif import answers, every_policy, parse, typed
from loopguard_core.events import Event, expand
from loopguard_core.store.door import open_store
from loopguard_core.traits import TraitTable
from loopguard_core.verdict import Tier

STRICT = 'graded {"block_at": 3, "warn_at": 2, "halt_at": 9}'


def unasked() -> ConsoleApp:
    """The recording as somebody opens it who names no policy."""
    events = loop()
    events[0].data.update(policy="graded", mode="observe")
    return replay_app(events, title="loop.jsonl")


async def choose(app: ConsoleApp, pilot: Pilot[None], policy: str) -> WhatIf:
    """Open the what-if and put the cursor on *policy*, which is typed."""
    await pilot.press("p")
    await carried(app, pilot)
    screen = app.screen
    assert isinstance(screen, WhatIf)
    await pilot.press("t", *policy, "enter")
    await carried(app, pilot)
    await pilot.press(*["j"] * len(screen._answers))
    return screen


def tiers(app: ConsoleApp) -> list[int]:
    assert app.desk.view is not None
    return list(app.desk.view.recording.tiers)


def status(app: ConsoleApp) -> str:
    return str(app.screen_stack[1].query_one("#status").render())


@pytest.mark.slow
def test_a_recording_is_judged_with_a_chosen_policy_the_next_time_too() -> None:
    async def judge(app: ConsoleApp, pilot: Pilot[None]) -> None:
        before = tiers(app)
        await pilot.press("g", "j", "j")
        at = cursor(app)
        await choose(app, pilot, STRICT)
        await pilot.press("enter")
        await carried(app, pilot)
        await pilot.pause(0.1)
        assert before[3:7] == [1, 2, 3, 3] and tiers(app)[3:7] == [1, 2, 2, 2]
        assert cursor(app) == at
        assert "judged with graded" in status(app)

    async def look(app: ConsoleApp, pilot: Pilot[None]) -> None:
        assert tiers(app)[3:7] == [1, 2, 2, 2]
        await pilot.press("p")
        await carried(app, pilot)
        await pilot.press("enter")  # on the line of what holds now: back to what was recorded
        await carried(app, pilot)
        await pilot.pause(0.1)
        assert tiers(app)[3:7] == [1, 2, 3, 3]
        assert app.desk.view is not None and not app.desk.view.recording.judges
        assert "judged with" not in status(app)

    async def back(app: ConsoleApp, pilot: Pilot[None]) -> None:
        assert app.desk.view is not None and not app.desk.view.recording.judges

    drive(judge, unasked())
    drive(back)  # where a policy is asked for, it counts before the one that was chosen once
    for step in (look, back):
        drive(step, unasked())


def test_what_was_recorded_does_not_count_where_another_policy_judges(tmp_path: Path) -> None:
    place = str(tmp_path / "events.db")
    log, _ = console_scene.research()
    store = open_store(place)
    for event in log.events:
        data = dict(event.data)
        if event.type == "call_start":
            data["verdict"] = {"tier": "halt", "reason": "as recorded", "policy": "other"}
        store.append(Event(event.type, log.session, ts=event.ts, data=data))
    store.close()

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        while app.desk.view is None or len(app.desk.view.recording) < 6:
            await pilot.pause(0.05)
        assert set(tiers(app)) == {3}
        app.judge_with(app.desk.view, "graded")
        while app.desk.view is None or len(app.desk.view.recording) < 6:
            await pilot.pause(0.05)
        assert max(tiers(app)[:4]) == 0
        why = app.desk.view.recording.why(0)
        assert why is not None and why.reason != "as recorded"

    drive(step, stored_app(log.session, place))


def test_a_policy_is_written_into_the_project_after_it_was_seen_and_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "loopguard.toml"
    file.write_text("# ours\n[tools.wait]\npoller = true\n")

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await choose(app, pilot, STRICT)
        await pilot.press("w")
        await pilot.pause()
        shown = str(app.screen.query_one("#change").render())
        assert '+policy = "graded"' in shown and "+block_at = 3" in shown
        assert tomllib.loads(file.read_text()) == {"tools": {"wait": {"poller": True}}}
        await pilot.press("enter")
        await carried(app, pilot)
        written = tomllib.loads(file.read_text())
        assert written["policy"] == "graded" and written["tools"] == {"wait": {"poller": True}}
        assert written["policies"]["graded"] == {"block_at": 3, "warn_at": 2, "halt_at": 9}
        assert "# ours" in file.read_text()
        await pilot.press("U")
        await carried(app, pilot)
        assert file.read_text() == "# ours\n[tools.wait]\npoller = true\n"

    drive(step)


def test_a_live_session_is_not_judged_again_but_its_project_can_be_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        screen = await choose(app, pilot, "graded")
        await pilot.press("enter")
        assert app.screen is screen and "w puts another" in screen._wrong
        await pilot.press("w", "escape")
        assert len(app.screen_stack) == 2 and not (tmp_path / "loopguard.toml").exists()
        await pilot.press("p", "w")  # nothing is chosen yet: said
        assert "j and k" in app.screen._wrong

    drive(step, console_scene.live(Nobody()))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'policy = "dsh"\n'),
        ('policy = "graded"  # x\n', 'policy = "dsh"\n'),
        ("# a\n\n[policies.dsh]\n", 'policy = "dsh"\n# a\n\n[policies.dsh]\n'),
        ("[tools.x]\npoller = true\n", 'policy = "dsh"\n\n[tools.x]\npoller = true\n'),
    ],
)
def test_the_file_keeps_everything_else(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "loopguard.toml"
    file.write_text(before)
    edit = propose_policy(str(tmp_path), "dsh", {})
    assert edit.after == after
    assert rules.write(rules.write(edit)).after == after


def test_pyproject_keeps_its_own_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "x"\n\n[tool.loopguard]\nmode = "ask"\n'
    )
    edit = propose_policy(str(tmp_path), "graded", {"block_at": 3, "halt_at": 9})
    assert tomllib.loads(edit.after)["tool"]["loopguard"] == {
        "mode": "ask",
        "policy": "graded",
        "policies": {"graded": {"block_at": 3, "halt_at": 9}},
    }


@pytest.mark.parametrize("options", [{"blok_at": 3}, {"x": {"y": 1}}, {"block_at": "many"}])
def test_options_that_no_policy_takes_are_refused(
    tmp_path: Path, options: dict[str, object]
) -> None:
    with pytest.raises(RuleError):
        propose_policy(str(tmp_path), "graded", options)


def test_a_policy_that_only_warns_is_asked_with_its_hard_stop_too_and_none_twice() -> None:
    asked = every_policy()
    start = Event("session_start", "s", seq=1)
    calls = [Event("call", "s", data={"tool": "bash", "args": {}, "ok": False}) for _ in range(40)]
    events = [event for _, event in expand([start, *calls])]
    for answer in answers(events, asked, TraitTable({})):
        warns_only = answer.policy in ("hermes", "hermes-seed", "hermes-0.22", "nous")
        assert (max(answer.tiers) <= Tier.WARN) is warns_only, answer.policy
    hard = [name for name in asked if name.endswith("hard stop")]
    assert [name.partition(",")[0] for name in hard] == ["hermes", "hermes-seed", "hermes-0.22"]
    assert len({typed(name) for name in asked}) == len(asked)


def test_every_answer_can_be_typed() -> None:
    for label in every_policy():
        name, options = parse(typed(label))
        assert propose_policy("/nowhere", name, options).after.startswith(f'policy = "{name}"')
