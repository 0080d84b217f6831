"""``serve``: the console in a browser."""

from __future__ import annotations

import secrets
import sys

import click

from loopguard_console.errors import Failure, Refused
from loopguard_console.output import emit, json_option, say
from loopguard_console.parameters import Whole
from loopguard_console.serving.door import Door, is_everywhere, is_loopback
from loopguard_console.stores import Options, place_of, refuse_inside


@click.command()
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on.",
)
@click.option(
    "--port", metavar="N", type=Whole(1, 65535), default=8321, show_default=True, help="The port."
)
@click.option("--decide", is_flag=True, help="Let whoever has the link decide, not only watch.")
@json_option
@click.pass_obj
def serve(options: Options, host: str, port: int, decide: bool, as_json: bool) -> None:
    """Open the console in a browser, on this machine only unless you name another address.

    The browser only watches. With --decide the link that is printed holds a token: whoever opens it may
    decide, so keep it to yourself. Other addresses than this machine's own need the token even to watch.
    """
    try:
        from loopguard_console.serving.server import ConsoleServer
    except ImportError:
        raise Refused(
            "serve needs textual-serve, which is not installed here; pip install textual-serve"
        ) from None
    if is_everywhere(host):
        raise Refused("--host names one address, by which the browser reaches this machine")
    if decide:
        refuse_inside(options)
    token = secrets.token_urlsafe(24) if decide or not is_loopback(host) else ""
    door = Door(host, port, token, deciding=decide)

    def ready() -> None:
        if as_json:
            emit({"url": door.link, "decides": decide})
        else:
            say(f"Open {door.link} (it {'decides' if decide else 'only watches'}). Ctrl+C ends.")
        sys.stdout.flush()

    try:
        ConsoleServer(place_of(options), host, port, door, ready).serve()
    except OSError as error:
        raise Failure(f"cannot listen on {door.address}: {error.strerror}") from None
