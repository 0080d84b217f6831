"""``watch``: follow the transcripts of agents that run without a hook."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import click

from loopguard_console.errors import Refused
from loopguard_console.output import emit, json_option, remark, say
from loopguard_console.parameters import Amount
from loopguard_console.stores import Options, place_of
from loopguard_console.transcripts import folders, transcripts
from loopguard_console.watching import News, Watcher
from loopguard_core.config import Config, ConfigError, load_config
from loopguard_core.identity import Digester
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import machine_key
from loopguard_core.verdict import Tier

_LOOK = 1.0  # seconds between looks where nothing nudges


@click.command()
@click.argument("paths", metavar="[FILE|FOLDER]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--since",
    metavar="MINUTES",
    type=Amount(min=0),
    default=60.0,
    show_default=True,
    help="Also take up transcripts that were written to in the last MINUTES.",
)
@click.option("--once", is_flag=True, help="Read what is there and end.")
@json_option
@click.pass_obj
def watch(
    options: Options, paths: tuple[Path, ...], since: float, once: bool, as_json: bool
) -> None:
    """Follow agents that run without a guard, by their transcripts, and show what a guard would say.

    Claude Code, Codex, Gemini CLI and hermes-agent are looked for in their usual places; name files or
    folders to follow those alone. This only watches: nothing is warned, stopped or changed. Open
    loopguard-console in another terminal to see the chain of calls.
    """
    for path in paths:
        if not path.exists():
            raise Refused(f"{path}: no such file or folder")
    config = _config()
    place = place_of({"store": options.get("store") or config.store})
    store = open_store(place, redaction=config.redaction, limit=config.payload_limit)
    teller = _Teller(as_json)
    try:
        teller.begin(place)
        _follow(store, config, teller, paths, time.time() - since * 60.0, once)
    finally:
        store.close()


def _config() -> Config:
    try:
        config = load_config()
        config.make_policy()
    except ConfigError as error:
        raise Refused(str(error)) from None
    return config


def _follow(
    store: Store,
    config: Config,
    teller: _Teller,
    paths: tuple[Path, ...],
    since: float,
    once: bool,
) -> None:
    watcher = Watcher(store, config, Digester(machine_key(store.place)), teller.tell, remark)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        watcher.look(transcripts(paths), 0.0 if paths else since)
        watcher.settle()
        teller.caught_up(store)
        if once:
            return
        for _ in _nudges(paths, stop):
            watcher.look(transcripts(paths), 0.0 if paths else since)
            if watcher.failure is not None:
                raise watcher.failure
    finally:
        watcher.close()
        if watcher.failure is not None:
            raise watcher.failure


def _nudges(paths: tuple[Path, ...], stop: threading.Event) -> Iterator[None]:
    """Once whenever something may have changed, at the latest every ``_LOOK`` seconds."""
    from watchfiles import watch as changes

    while not stop.is_set():
        listened = folders(paths)
        if not listened:
            stop.wait(_LOOK)
            yield
            continue
        looked = time.monotonic()
        for _ in changes(
            *listened,
            watch_filter=None,
            debounce=200,
            step=25,
            rust_timeout=int(_LOOK * 1000),
            yield_on_timeout=True,
            raise_interrupt=False,
            stop_event=stop,
            ignore_permission_denied=True,
        ):
            yield
            if stop.is_set():
                return
            if time.monotonic() - looked > 5 * _LOOK:
                if folders(paths) != listened:
                    break  # an agent was started for the first time
                looked = time.monotonic()


class _Teller:
    """Tells a person, or a program, what is watched and what a guard would have said."""

    def __init__(self, as_json: bool) -> None:
        self._json = as_json
        self._live = False
        self._sessions: list[str] = []

    def begin(self, place: str) -> None:
        if not self._json:
            remark(
                f"watching only, into {place}: nothing is warned or stopped here. "
                "To guard an agent: loopguard-console install AGENT"
            )

    def tell(self, news: News) -> None:
        """Take one piece of news."""
        if news.what == "verdict":
            self._verdict(news)
        elif news.what == "found":
            self._found(news)
        elif news.what == "left":
            more = " any more" if news.session in self._sessions else ""
            self._sessions = [name for name in self._sessions if name != news.session]
            self._say(news, f"{news.session} is not watched{more}: {news.why}")
        else:
            self._say(news, f"skipped {news.why}")

    def caught_up(self, store: Store) -> None:
        """What lay there is read; from now on it happens."""
        self._live = True
        if self._json:
            return
        for name in self._sessions:
            session = store.session(name)
            if session is not None and session.worst >= Tier.WARN:
                say(f"{name}: the strongest verdict so far is {Tier(session.worst).word}")
        if not self._sessions:
            say("no agent was at work lately")

    def _found(self, news: News) -> None:
        self._sessions.append(news.session)
        start = news.start
        agent = start.text("agent") if start is not None else ""
        cwd = start.text("cwd") if start is not None else ""
        where = f" in {cwd}" if cwd else ""
        self._say(news, f"watching {agent or 'an agent'} {news.session}{where}")

    def _verdict(self, news: News) -> None:
        verdict, event = news.verdict, news.event
        if verdict is None or event is None or verdict.tier < Tier.WARN:
            return
        if self._json:
            about = {"call": event.data.get("call"), "verdict": verdict.to_json()}
            emit({"what": "verdict", "session": news.session, **about})
        elif self._live:
            say(f"{news.session}: {verdict.tier.word} would be said here: {verdict.reason}")

    def _say(self, news: News, line: str) -> None:
        if self._json:
            about = {"what": news.what, "session": news.session, "file": str(news.path)}
            emit({k: v for k, v in {**about, "why": news.why}.items() if v})
        else:
            say(line)
