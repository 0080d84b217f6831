"""The command line: which commands there are, and one way to fail.

Exit codes: 0 done, 1 failed, 2 wrong usage or input that cannot be read, 3 something was stopped
(``judge``). Errors are one line on stderr, never a traceback.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import Any

import click

from loopguard_console.errors import Failure, Refused
from loopguard_core import __version__
from loopguard_core.importers.report import Unreadable
from loopguard_core.settings import ConfigError
from loopguard_core.store.contract import StoreError
from loopguard_core.urls import without_passwords

#: command -> module in ``loopguard_console.commands`` that has a click command of the same name
COMMANDS: dict[str, str] = {
    "demo": "demo",
    "open": "open",
    "sessions": "sessions",
    "show": "show",
    "pending": "pending",
    "status": "status",
    "approve": "decide",
    "deny": "decide",
    "modify": "decide",
    "override": "control",
    "reset": "control",
    "halt": "control",
    "resume": "control",
    "reload": "reload",
    "grants": "grants",
    "revoke": "control",
    "search": "search",
    "query": "query",
    "export": "export",
    "import": "import_",
    "forward": "forward",
    "prune": "prune",
    "stats": "stats",
    "judge": "judge",
    "compare": "compare",
    "doctor": "doctor",
    "serve": "serve",
    "install": "install",
    "uninstall": "install",
    "run": "run",
    "watch": "watch",
    "mcp-proxy": "mcp_proxy",
    "sidecar": "sidecar",
}
#: characters that no first sentence of a command's help exceeds
_SENTENCE = 400
#: commands whose function cannot have their name
_FUNCTIONS = {"open": "open_recording", "import": "import_"}


class Commands(click.Group):
    """Loads a command's module when it is asked for, so that start-up stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        loaded = importlib.import_module(f"loopguard_console.commands.{module}")
        command: click.Command = getattr(
            loaded, _FUNCTIONS.get(cmd_name, cmd_name.replace("-", "_"))
        )
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each command with the whole first sentence of what it does."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, command.get_short_help_str(_SENTENCE))
                    for name, command in commands
                    if command
                ]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in COMMANDS or name.startswith("-"):
            return super().resolve_command(ctx, args)
        import difflib  # only for a slip of the fingers

        near = difflib.get_close_matches(name, COMMANDS, 2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(COMMANDS)}"
        raise click.UsageError(f"no command is called {name}: {hint}", ctx)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="loopguard-console")
@click.option(
    "--store",
    "store_path",
    metavar="FILE|URL",
    help="The event store to use instead of the default one (also LOOPGUARD_STORE).",
)
@click.pass_context
def cli(ctx: click.Context, store_path: str | None) -> None:
    """Watch AI agents call tools, see why the loop guard stops them, and let them go by hand.

    Without a command the console opens on the live store.
    """
    if store_path and (":" in store_path or "=" in store_path):
        from loopguard_console.stores import refuse_password

        refuse_password(store_path)
    ctx.obj = {"store": store_path}
    if ctx.invoked_subcommand is None:
        from loopguard_console.leaving import left_waiting
        from loopguard_console.opening import run_live
        from loopguard_console.output import told
        from loopguard_console.stores import place_of

        if waiting := left_waiting(run_live(place_of(ctx.obj))):
            told(waiting)


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit."""
    try:
        result: Any = cli.main(argv, prog_name="loopguard-console", standalone_mode=False)
        code = result if isinstance(result, int) else 0
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Abort:
        code = _say("stopped", 130)
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.UsageError as error:
        place = error.ctx.command_path if error.ctx is not None else "loopguard-console"
        code = _say(f"{error.format_message().rstrip('.')}; see {place} --help", error.exit_code)
    except click.ClickException as error:
        code = _say(error.format_message(), error.exit_code)
    except (Refused, Unreadable, ConfigError) as error:
        code = _say(str(error), 2)
    except (Failure, StoreError) as error:
        code = _say(str(error), 1)
    except MemoryError:
        code = _say("there is not enough memory for that", 1)
    except BrokenPipeError:
        _drop_output()
        code = 0
    except OSError as error:
        _drop_output()
        place = error.filename or "the output"
        code = _say(f"{place} cannot be used: {error.strerror or error}", 1)
    sys.exit(code)


def _drop_output() -> None:
    """Send what is still to be written nowhere, so that nothing fails again on the way out."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # there may be no real output
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str, code: int) -> int:
    from loopguard_console.render import safe  # paths and ids in a message are foreign text

    click.echo(f"loopguard-console: {safe(without_passwords(message))}", err=True)
    return code
