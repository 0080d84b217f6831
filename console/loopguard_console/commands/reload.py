"""``reload``: a changed configuration comes into force in a running session."""

from __future__ import annotations

import click

from loopguard_console.errors import Failure, Refused
from loopguard_console.output import emit, json_option, say
from loopguard_console.stores import Options, deciding, find_session
from loopguard_core.config import ConfigError
from loopguard_core.escape import DecisionError
from loopguard_core.session import reloading


@click.command()
@click.argument("session", metavar="SESSION")
@click.option("--note", default="", help="A word for the log.")
@json_option
@click.pass_obj
def reload(options: Options, session: str, note: str, as_json: bool) -> None:
    """Put a changed configuration in force in a running session, from its next call on.

    A session whose guard runs in hooks keeps the configuration that it began with, since a model may be
    able to write the file.
    """
    try:
        with deciding(options) as store:
            found = find_session(store, session).session
            changed = reloading.reload(store, found, note=note)
    except DecisionError as error:
        raise Failure(str(error)) from None
    except ConfigError as error:
        raise Refused(str(error)) from None
    if as_json:
        emit({"session": found, "changed": changed})
    elif changed:
        say(f"{', '.join(changed)}: the configuration of now is in force")
    else:
        say(f"{found}: the configuration is the one that is in force already")
