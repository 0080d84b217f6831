"""Can what is configured here be used, also by hooks and commands?"""

from __future__ import annotations

import sys
from pathlib import Path

from loopguard_console.doctor.backtracking import takes_for_ever
from loopguard_console.doctor.finding import OK, WRONG, Finding
from loopguard_core.config import Config, ConfigError, load_config, without_functions
from loopguard_core.policies.options import NotLoaded

AREA = "configuration"
_LINE = "mend that line"
_BACKTRACKING = (
    "let no repeat in it hold another one, or another way, that takes the same characters: (a+)+ is a+, "
    r"(?:\w+\s?)+ is [\w\s]+; a repeat that gives nothing back (a++) is safe, too"
)


def configuration() -> tuple[Config, Finding]:
    """The settings of this folder, or the defaults where they cannot be used, and what is to be said of them."""
    try:
        config = load_config()
    except ConfigError as error:
        return Config(), Finding(AREA, WRONG, str(error), _LINE)
    try:
        config.make_policy()
    except ConfigError as error:
        return Config(), Finding(AREA, WRONG, str(error), _mend(error.__cause__, config.place))
    idle = sorted(config.options.keys() - set(config.policy_name.split("+")))
    for name in idle:  # whose own functions nobody needs yet
        options = {name: without_functions(config.options[name])}
        try:
            config.changed(policy=name, policies=options).make_policy()
        except ConfigError as error:
            return config, Finding(AREA, WRONG, str(error), _LINE)
    for pattern in config.redaction.patterns if config.redaction else ():
        if takes_for_ever(pattern):
            what = f"the redaction pattern {pattern.pattern!r} would take for ever on some texts, and agents with it"
            return config, Finding(AREA, WRONG, what, _BACKTRACKING)
    where = config.place or "no file: the defaults hold"
    said = f"policy {config.policy_name}, mode {config.mode} ({where})"
    if idle:
        said += f"; there are options of {', '.join(idle)}, not in force"
    return config, Finding(AREA, OK, said)


def _mend(why: BaseException | None, place: str) -> str:
    """What to do where a policy cannot be made."""
    if not isinstance(why, NotLoaded):
        return _LINE
    if not why.missing:
        return "mend that line, or the module that it names"
    top = why.missing.partition(".")[0]
    folder = Path(place).parent
    if not any((folder / name).exists() for name in (top, f"{top}.py")):
        return f"install what has {top} where this runs ({sys.executable} -m pip), or {_LINE}"
    return (
        f"a program of yours finds {top} beside it; hooks and commands take no code from the folder in which "
        f"they run: install your project for them ({sys.executable} -m pip install {folder}, not -e)"
    )
