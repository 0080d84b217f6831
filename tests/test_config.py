"""Configuration: where it is found, what it may say, and one clear line for what cannot be meant."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loopguard_core.config import Config, ConfigError, load_config
from processes import environment


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


def write(folder: Path, text: str, name: str = "loopguard.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_the_defaults_hold(tmp_path: Path, env: dict[str, str]) -> None:
    config = load_config(str(tmp_path), env)
    assert config.place == ""
    assert (config.mode, config.wait_seconds, config.unattended_wait_seconds) == ("ask", 300.0, 0.0)
    assert config.unanswered == {"block": "refuse", "halt": "refuse"}
    assert (config.ceiling_calls, config.ceiling_seconds) == (200, 28_800.0)
    assert config.make_policy().name == config.policy_name


def test_the_nearest_file_upwards_is_found(tmp_path: Path, env: dict[str, str]) -> None:
    project = tmp_path / "home" / "project"
    write(project, 'mode = "observe"')
    inner = project / "a" / "b"
    inner.mkdir(parents=True)
    assert load_config(str(inner), env).mode == "observe"
    write(project / "a", '[tool.loopguard]\nmode = "enforce"', "pyproject.toml")
    assert load_config(str(inner), env).mode == "enforce"
    write(project / "a" / "b", "[project]\nname = 'x'", "pyproject.toml")
    assert load_config(str(inner), env).mode == "enforce", "a pyproject of others is passed over"


def test_the_search_stops_at_home(tmp_path: Path, env: dict[str, str]) -> None:
    write(tmp_path, 'mode = "observe"')
    inner = tmp_path / "home" / "project"
    inner.mkdir()
    assert load_config(str(inner), env).mode == "ask"


def test_the_environment_names_a_file(tmp_path: Path, env: dict[str, str]) -> None:
    path = write(tmp_path, 'mode = "enforce"', "mine.toml")
    assert load_config(str(tmp_path), {**env, "LOOPGUARD_CONFIG": str(path)}).mode == "enforce"
    with pytest.raises(ConfigError, match=r"LOOPGUARD_CONFIG names .*gone"):
        load_config(str(tmp_path), {**env, "LOOPGUARD_CONFIG": str(tmp_path / "gone")})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('mode = "shout"', "mode is one of observe, ask, enforce, not 'shout'"),
        ("modus = 1", "modus is not a setting; known here: mode"),
        ('wait_seconds = "long"', "wait_seconds is a number"),
        ("wait_seconds = -1", "wait_seconds is a number from 0"),
        ("wait_seconds = inf", "wait_seconds is a number from 0"),
        ("wait_seconds = true", "wait_seconds is a number"),
        ('[unanswered]\nhalt = "cry"', "unanswered.halt is one of refuse, wait, run"),
        ("[unanswered]\nwarn = 1", "unanswered.warn is not a setting"),
        ("[ceiling]\ncalls = 0", "ceiling.calls is a whole number from 1"),
        ("ceiling = 3", "ceiling is a table"),
        ('[tools.search]\nreadonly = "yes"', "tools.search.readonly is true or false"),
        ("[policies.herms]\nx = 1", "policies.herms is no policy; known: progress, hermes"),
        ("[policies.default]\nblock_at = 9", "policies.default is progress; name its options so"),
        ("[tools.search]\nblue = true", "tools.search.blue is not a setting"),
        (
            '[tools.search]\nidentity_fields = "q"',
            "tools.search.identity_fields is a list of texts",
        ),
        ("[redaction]\npatterns = [1]", "redaction.patterns is a list of texts"),
        ('[redaction]\npatterns = ["("]', "redaction.patterns cannot be used"),
        ("mode = ", "is not TOML"),
        pytest.param(f"wait_seconds = {'9' * 9000}", "is not TOML", id="digits"),
        pytest.param(f"a = {'[' * 9000}", "is nested too deeply", id="deep"),
        pytest.param("#" * 4_000_001, "is larger than 4,000,000 bytes", id="large"),
        ("policy = 3", "policy is a text"),
        ("policies = { hermes = 1 }", "policies.hermes is a table"),
    ],
)
def test_what_cannot_be_meant_is_said_with_file_and_key(
    tmp_path: Path, env: dict[str, str], text: str, says: str
) -> None:
    path = write(tmp_path / "home" / "p", text)
    with pytest.raises(ConfigError) as caught:
        load_config(str(path.parent), env)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert says in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "text", ["tool = 1 # tool.loopguard", "[tool]\nloopguard = 1 # tool.loopguard"]
)
def test_a_project_file_of_another_shape_is_said(
    tmp_path: Path, env: dict[str, str], text: str
) -> None:
    path = write(tmp_path / "home" / "p", text, "pyproject.toml")
    with pytest.raises(ConfigError, match=r"tool\.loopguard is a table"):
        load_config(str(path.parent), env)


def test_a_byte_order_mark_is_no_setting(tmp_path: Path, env: dict[str, str]) -> None:
    path = write(tmp_path / "home" / "p", '\ufeffmode = "enforce"')
    assert load_config(str(path.parent), env).mode == "enforce"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('policy = "none"', "there is no policy 'none'"),
        ('policy = "hermes"\n[policies.hermes]\nloud = 1', "there is no option 'loud'"),
        ('policy = ["graded", "graded"]', "twice"),
        ('policy = ["default", "progress"]', "twice"),
        ('policy = ["default", "dsh"]\n[policies.progress]\nloud = 1', "there is no option 'loud'"),
        ("policy = []", "empty"),
    ],
)
def test_a_policy_that_cannot_be_made_is_said_with_its_file(
    tmp_path: Path, env: dict[str, str], text: str, says: str
) -> None:
    path = write(tmp_path / "home" / "p", text)
    with pytest.raises(ConfigError, match=says) as caught:
        load_config(str(path.parent), env).make_policy()
    assert str(path) in str(caught.value)


def test_policies_take_their_options_and_may_be_several(
    tmp_path: Path, env: dict[str, str]
) -> None:
    text = """
policy = ["nous", "dsh"]
[policies.dsh]
hardThreshold = 6
[policies.hermes]
hard_stop_enabled = true
"""
    path = write(tmp_path / "home" / "p", text)
    config = load_config(str(path.parent), env)
    assert config.policy_name == "nous+dsh"
    config.make_policy()


def test_tools_are_declared(tmp_path: Path, env: dict[str, str]) -> None:
    text = '[tools.poll]\npoller = true\nreadonly = true\nignored_fields = ["nonce"]\n'
    path = write(tmp_path / "home" / "p", text)
    traits = load_config(str(path.parent), env).trait_table().of("poll")
    assert (traits.poller, traits.readonly, traits.ignored_fields) == (True, True, ("nonce",))
    assert traits.source == "config"


def test_what_was_parsed_is_kept_for_its_owner_only(tmp_path: Path, env: dict[str, str]) -> None:
    path = write(tmp_path / "home" / "p", 'mode = "observe"')
    load_config(str(path.parent), env)
    (kept,) = (tmp_path / "state" / "loopguard" / "config").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    kept.write_text("damaged")
    assert load_config(str(path.parent), env).mode == "observe"
    path.write_text('mode = "enforce"')
    assert load_config(str(path.parent), env).mode == "enforce", "another file, another digest"


def test_a_state_directory_that_cannot_be_written_changes_nothing(
    tmp_path: Path, env: dict[str, str]
) -> None:
    path = write(tmp_path / "home" / "p", 'mode = "observe"')
    (tmp_path / "state").write_text("a file where the directory would be")
    assert load_config(str(path.parent), env).mode == "observe"


def test_a_second_process_does_not_parse_toml(tmp_path: Path, env: dict[str, str]) -> None:
    path = write(tmp_path / "home" / "p", 'mode = "observe"')
    load_config(str(path.parent), env)
    code = (
        "import sys; from loopguard_core.config import load_config\n"
        "assert load_config().mode == 'observe'\n"
        "assert 'tomllib' not in sys.modules"
    )
    where = environment(HOME=os.environ["HOME"], **env)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=path.parent, env=where, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_equal_settings_have_one_digest_and_others_another() -> None:
    one = Config({"mode": "ask", "policy": "dsh"})
    two = Config({"policy": "dsh", "mode": "ask"})
    assert one.digest == two.digest
    assert one.digest != one.changed(mode="observe").digest


def keys_of(table: str = "") -> list[str]:
    """The keys that a table knows, as its own error names them."""
    wrong = {"unknown": 1}
    raw: dict[str, Any] = {table: wrong} if table else wrong
    if table == "tools":
        raw = {"tools": {"x": wrong}}
    with pytest.raises(ConfigError) as caught:
        Config(raw)
    _, told, known = str(caught.value).partition("known here: ")
    assert told
    return known.split(", ")


def test_every_key_is_documented() -> None:
    text = (Path(__file__).parents[1] / "docs" / "configuration.md").read_text("utf-8")
    for key in keys_of():
        assert f"`{key}" in text
    for table in ("unanswered", "ceiling", "redaction", "retention"):
        for key in keys_of(table):
            assert f"`{table}.{key}`" in text
    for key in keys_of("tools"):
        assert f"`{key}`" in text
